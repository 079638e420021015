package repository

import (
	"context"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/service"
)

func TestSellStock(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		ctx, r := context.Background(), NewRedis(rdb)
		require.NoError(t, rdb.Del(ctx, sellKey).Err())
		_, err := r.SellStock(ctx)
		require.ErrorIs(t, err, service.ErrNotFound)
		for _, n := range []int{100, 0, -3} { // the naive form may go below zero, and must be seen to
			require.NoError(t, r.SetSellStock(ctx, n))
			got, err := r.SellStock(ctx)
			require.NoError(t, err)
			require.Equal(t, n, got)
		}
	})
}

// A lab reset removes the voucher's locks, all of them, and nobody else's.
func TestClearVoucherTakesItsOwnKeysAlone(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		ctx := context.Background()
		const prefix = "test[a]*:" // with characters that a pattern would read as its own
		own := []string{prefix + "{voucher:7}", prefix + "{voucher:7}:fence", prefix + "{voucher:7:user:70}",
			prefix + "{voucher:77:then:voucher:7}"}
		others := []string{prefix + "{voucher:77}", prefix + "{voucher:70:user:7}", prefix + "{voucher:1:user:7}",
			"testa:{voucher:7}", "stock:{voucher:7}"}
		for _, k := range slices.Concat(own, others) {
			require.NoError(t, rdb.Set(ctx, k, 1, 0).Err())
		}
		n, err := NewRedis(rdb).ClearVoucher(ctx, prefix, 7)
		require.NoError(t, err)
		require.Equal(t, len(own), n)
		require.Zero(t, rdb.Exists(ctx, own...).Val())
		require.EqualValues(t, len(others), rdb.Exists(ctx, others...).Val())
		rdb.Del(ctx, others...)
	})
}

func TestRedisEngine(t *testing.T) {
	for name, want := range map[string]string{"miniredis": `^miniredis $`, "server": `^(redis|valkey) \d+\.\d+\.\d+$`} {
		t.Run(name, func(t *testing.T) {
			rdb := miniClient(t)
			if name == "server" {
				rdb = realClient(t)
			}
			info, err := NewRedis(rdb).Engine(context.Background())
			require.NoError(t, err)
			require.Regexp(t, want, info.Kind+" "+info.Version)
		})
	}
}

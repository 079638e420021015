package repository

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// onEachRedis runs a test on miniredis and on a real server, which keeps the fake honest.
func onEachRedis(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, miniClient(t))
	})
	t.Run("redis-server", func(t *testing.T) {
		t.Parallel()
		test(t, realClient(t))
	})
}

func miniClient(t testing.TB) *redis.Client {
	return urlClient(t, backendtest.EmbeddedRedis(t, 1).URLs[0])
}

// realClient talks to a server of the test's own, which it may flush.
func realClient(t testing.TB) *redis.Client {
	return urlClient(t, backendtest.RedisNodes(t, 1).URLs[0])
}

func urlClient(t testing.TB, url string) *redis.Client {
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	return newClient(t, o)
}

func newClient(t testing.TB, o *redis.Options) *redis.Client {
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	require.Eventually(t, func() bool { return c.Ping(context.Background()).Err() == nil }, 10*time.Second, 5*time.Millisecond)
	return c
}

// open is a window that is open during the test.
func open(voucher service.ID, capacity int, live ...service.Unit) service.Preheat {
	now := time.Now()
	return service.Preheat{
		Voucher: voucher, Capacity: capacity, Live: live,
		BeginAt: now.Add(-time.Hour), EndAt: now.Add(time.Hour),
	}
}

func preheated(t testing.TB, rdb redis.UniversalClient, voucher service.ID, stock int) *Gate {
	g := NewGate(rdb, GateOptions{})
	made, err := g.Preheat(t.Context(), open(voucher, stock))
	require.NoError(t, err)
	require.True(t, made)
	return g
}

func ask(order service.ID, user int64) service.Ask { return service.Ask{Order: order, User: user} }

func unit(order, voucher service.ID, user int64) service.Unit {
	return service.Unit{Order: order, Voucher: voucher, User: user}
}

// admit asks for one unit.
func admit(t testing.TB, g *Gate, voucher service.ID, enqueue bool, order service.ID, user int64) service.Admission {
	a, err := g.Admit(t.Context(), voucher, enqueue, []service.Ask{ask(order, user)})
	require.NoError(t, err)
	require.Len(t, a, 1)
	return a[0]
}

func counters(t testing.TB, g *Gate, voucher service.ID) service.GateCounters {
	c, err := g.Counters(t.Context(), voucher)
	require.NoError(t, err)
	return c
}

// dump is everything that Redis holds, as text.
func dump(t testing.TB, rdb *redis.Client) string {
	ctx := t.Context()
	keys, err := rdb.Keys(ctx, "*").Result()
	require.NoError(t, err)
	slices.Sort(keys)
	var b strings.Builder
	for _, k := range keys {
		switch kind := rdb.Type(ctx, k).Val(); kind {
		case "hash":
			fmt.Fprintln(&b, k, rdb.HGetAll(ctx, k).Val())
		case "stream":
			fmt.Fprintln(&b, k, rdb.XRange(ctx, k, "-", "+").Val())
			pending, err := rdb.XPending(ctx, k, streamGroup).Result()
			fmt.Fprintln(&b, "  pending", pending, err)
		default:
			fmt.Fprintln(&b, k, kind)
		}
	}
	return b.String()
}

package lock_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

func acquireFenced(t *testing.T) *redis.Script {
	source, err := lock.Sources.ReadFile("acquire_fenced.lua")
	require.NoError(t, err)
	return redis.NewScript(string(source))
}

// eachServer runs test on the embedded server and on a real one.
func eachServer(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	t.Run("embedded", func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
		defer rdb.Close()
		test(t, rdb)
	})
	t.Run("redis-server", func(t *testing.T) {
		locktest.NeedServer(t)
		rdb := locktest.Spawn(t, 1)[0].Client()
		defer rdb.Close()
		test(t, rdb)
	})
}

// A script's error does not take back what it wrote: so a wrong argument must be noticed before the first write.
func TestAcquireFencedChecksItsArgumentsFirst(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client) {
		ctx, script := t.Context(), acquireFenced(t)
		for _, args := range [][]any{{}, {"T"}, {"T", "0"}, {"T", "x"}, {"T", "1.5"},
			{"T", 1000, ""}, {"T", 1000, "0"}, {"T", 1000, "-1"}, {"T", 1000, "1.5"}, {"T", 1000, "1e3"}, {"T", 1000, "0x10"},
			{"T", 1000, " 7"}, {"T", 1000, "7 "}, {"T", 1000, "x"}, {"T", 1000, strings.Repeat("9", 30)}} {
			require.Error(t, script.Eval(ctx, rdb, []string{"k", "f"}, args...).Err(), "%q", args)
			require.Zero(t, rdb.DBSize(ctx).Val(), "%q", args)
		}
		require.Error(t, script.Eval(ctx, rdb, []string{"k"}, "T", 1000).Err())
		require.Zero(t, rdb.DBSize(ctx).Val())
	})
}

// The fence is greater than the one before, whatever became of the counter meanwhile.
func TestFenceGrows(t *testing.T) {
	eachServer(t, func(t *testing.T, rdb *redis.Client) {
		ctx, script := t.Context(), acquireFenced(t)
		keys := []string{"k", "f"}
		mint := func(token string, args ...any) int64 {
			text, err := script.Eval(ctx, rdb, keys, append([]any{token, 30000}, args...)...).Text()
			require.NoError(t, err)
			fence, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			return fence
		}
		last := mint("A")
		grows := func(when string, token string) {
			require.NoError(t, rdb.Del(ctx, "k").Err())
			fence := mint(token)
			require.Greater(t, fence, last, when)
			last = fence
		}
		require.Equal(t, last, mint("A"), "the same token again")
		require.InDelta(t, time.Hour, rdb.PTTL(ctx, "f").Val(), float64(time.Minute))

		snapshot := last
		grows("after a release", "B")
		require.NoError(t, rdb.Set(ctx, "f", snapshot, 0).Err())
		grows("after a fall back to an older snapshot", "C")
		require.NoError(t, rdb.FlushAll(ctx).Err())
		grows("after a flush", "D")
		last += 3600e6
		require.NoError(t, rdb.Set(ctx, "f", last, 0).Err())
		grows("when the clock is an hour behind the last fence", "E")
		grows("and again", "F")

		require.NoError(t, rdb.Del(ctx, "k").Err())
		mint("G", 7200_000)
		require.InDelta(t, 2*time.Hour, rdb.PTTL(ctx, "f").Val(), float64(time.Minute))
	})
}

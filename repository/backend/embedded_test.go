package backend

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// With many keys the clock moves in steps; keys still expire by themselves, and not noticeably early.
func TestCoarseClock(t *testing.T) {
	m := miniredis.NewMiniRedis()
	require.NoError(t, m.Start())
	defer m.Close()
	for i := range coarseAbove + 1 {
		require.NoError(t, m.Set(fmt.Sprintf("k%d", i), "x"))
	}
	before := time.Now()
	clock := startClock(m, time.Millisecond)
	defer clock.close()
	c := redis.NewClient(&redis.Options{Addr: m.Addr()})
	defer c.Close()
	ctx := context.Background()
	stepped := func() bool { // the clock stands still between two steps, and only then
		return c.Time(ctx).Val().Equal(c.Time(ctx).Val())
	}
	require.Eventually(t, stepped, 20*time.Second, time.Millisecond)
	require.WithinDuration(t, time.Now(), c.Time(ctx).Val(), 10*time.Second)
	require.True(t, c.Time(ctx).Val().After(before.Add(-time.Second)))

	const ttl = 300 * time.Millisecond
	set := time.Now()
	require.NoError(t, c.Set(ctx, "a", "x", ttl).Err())
	require.Eventually(t, func() bool { return c.Exists(ctx, "a").Val() == 0 }, 20*time.Second, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(set), ttl-2*mostStep)
	require.EqualValues(t, 1, c.Exists(ctx, "k0").Val(), "keys without a TTL stay")
}

// BenchmarkEmbedded is a SET on an embedded Redis that holds keys already.
func BenchmarkEmbedded(b *testing.B) {
	for _, keys := range []int{0, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			m := miniredis.NewMiniRedis()
			require.NoError(b, m.Start())
			defer m.Close()
			for i := range keys {
				require.NoError(b, m.Set(fmt.Sprintf("k%d", i), "x"))
			}
			clock := startClock(m, time.Millisecond)
			defer clock.close()
			c := redis.NewClient(&redis.Options{Addr: m.Addr()})
			defer c.Close()
			for b.Loop() {
				require.NoError(b, c.Set(context.Background(), "a", "x", time.Minute).Err())
			}
		})
	}
}

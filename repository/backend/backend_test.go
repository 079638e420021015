package backend_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

func client(t testing.TB, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// eachRedis runs a test on an embedded and on a real server.
func eachRedis(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("embedded", func(t *testing.T) { test(t, backendtest.EmbeddedRedis(t, 1).URLs[0]) })
	t.Run("spawned", func(t *testing.T) { test(t, backendtest.Redis(t)) })
}

func TestTTLsRunWithTheRealClock(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		ctx, c := context.Background(), client(t, url)
		const ttl = 50 * time.Millisecond
		set := time.Now()
		require.NoError(t, c.Set(ctx, "ttl", "x", ttl).Err())
		for c.Exists(ctx, "ttl").Val() == 1 {
			require.Less(t, time.Since(set), 10*time.Second, "the key must expire by itself")
		}
		require.GreaterOrEqual(t, time.Since(set), ttl-time.Millisecond, "and never early")
	})
}

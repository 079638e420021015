package backend

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func startTopology(t *testing.T, start func() (*Topology, error)) *Topology {
	t.Helper()
	got, err := start()
	if errors.Is(err, ErrMissing) {
		t.Skip(err) // backendtest, which knows when that is a failure, starts them as well
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, got.Stop()) })
	return got
}

func TestSpawnClusterServesEverySlot(t *testing.T) {
	c := startTopology(t, func() (*Topology, error) { return SpawnCluster(t.Context(), 3) })
	o, err := redis.ParseClusterURL(c.URL)
	require.NoError(t, err)
	require.Len(t, o.Addrs, 3)
	rdb := redis.NewClusterClient(o)
	defer rdb.Close()
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		require.NoError(t, rdb.Set(t.Context(), key, 1, time.Minute).Err())
	}
	for i := range c.URLs {
		require.NoError(t, c.on(i, func(n *redis.Client) error {
			size, err := n.DBSize(t.Context()).Result()
			require.NotZero(t, size, "keys are spread over the nodes")
			return err
		}))
	}
}

func TestSpawnSentinelNamesThePrimary(t *testing.T) {
	s := startTopology(t, func() (*Topology, error) { return SpawnSentinel(t.Context()) })
	require.Len(t, s.URLs, 5)
	o, err := redis.ParseFailoverURL(s.URL)
	require.NoError(t, err)
	require.Equal(t, MasterName, o.MasterName)
	require.Len(t, o.SentinelAddrs, 3)
	rdb := redis.NewFailoverClient(o)
	defer rdb.Close()
	require.NoError(t, rdb.Set(t.Context(), "k", "v", time.Minute).Err())
	require.NoError(t, s.on(0, func(n *redis.Client) error { return n.Get(t.Context(), "k").Err() }))
}

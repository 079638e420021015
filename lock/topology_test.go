package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/repository/backend/backendtest"
)

// redisKinds are the locks that live in one Redis, be it a server, a cluster or a sentinel group.
func redisKinds() []string {
	return slices.DeleteFunc(lock.Kinds(), func(kind string) bool {
		return slices.Contains([]string{"none", "mutex", "redlock", "get-lock"}, kind)
	})
}

func openOn(t *testing.T, kind string, rdb redis.UniversalClient, o lock.Options) lock.Opened {
	t.Helper()
	l, err := lock.Open(kind, lock.Resources{Redis: rdb}, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, l.Close(ctx))
	})
	return l
}

// On a Redis Cluster every lock works with keys on every node: its scripts' keys share a slot, and a waiter hears of a
// release on whichever node it happens.
func TestLocksOnRedisCluster(t *testing.T) {
	cluster := backendtest.RedisCluster(t, 3)
	o, err := redis.ParseClusterURL(cluster.URL)
	require.NoError(t, err)
	rdb := redis.NewClusterClient(o)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	keys := keysOnEveryNode(t, rdb, 3)
	for _, kind := range redisKinds() {
		t.Run(kind, func(t *testing.T) {
			l := openOn(t, kind, rdb, lock.Options{Prefix: kind + ":", TTL: 10 * time.Second, Wait: 10 * time.Second})
			other := openOn(t, kind, rdb, lock.Options{Prefix: kind + ":", TTL: 10 * time.Second})
			for _, key := range keys {
				held, err := l.Acquire(t.Context(), key)
				require.NoError(t, err, key)
				_, err = other.Acquire(t.Context(), key)
				require.ErrorIs(t, err, lock.ErrBusy, key)

				var wg sync.WaitGroup
				wg.Go(func() {
					next, err := l.Acquire(t.Context(), key)
					if err == nil {
						err = next.Release(t.Context())
					}
					if err != nil {
						t.Errorf("%s: the waiter: %v", key, err)
					}
				})
				require.NoError(t, held.Release(t.Context()), key)
				wg.Wait()
			}
		})
	}
}

// keysOnEveryNode finds lock keys that n nodes of the cluster share out among them.
func keysOnEveryNode(t *testing.T, rdb *redis.ClusterClient, n int) (keys []string) {
	t.Helper()
	seen := map[string]bool{}
	for i := 0; len(seen) < n; i++ {
		require.Less(t, i, 1000, "no key for some node")
		key := fmt.Sprintf("voucher:%d", i)
		node, err := rdb.MasterForKey(t.Context(), "{"+key+"}")
		require.NoError(t, err)
		if addr := node.Options().Addr; !seen[addr] {
			seen[addr] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// A sentinel group loses its primary while a lease is held. The lock goes on on the promoted replica, and whoever has
// it next gets a greater fencing token, although the counter moved to another server.
func TestFencedLockSurvivesFailover(t *testing.T) {
	group := backendtest.RedisSentinel(t)
	o, err := redis.ParseFailoverURL(group.URL)
	require.NoError(t, err)
	rdb := redis.NewFailoverClient(o)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	l := openOn(t, "fenced", rdb, lock.Options{TTL: 30 * time.Second, Wait: 30 * time.Second, MinReplicas: 1})
	// Its Close waits for its TTL after an attempt without an answer, which may still arrive.
	other := openOn(t, "fenced", rdb, lock.Options{TTL: 3 * time.Second})

	held, err := l.Acquire(t.Context(), "voucher:1")
	require.NoError(t, err)
	require.Positive(t, held.Fence())
	require.NoError(t, group.Signal(0, syscall.SIGKILL))

	// The replica acknowledged the lock before the primary died, so nobody gets it as long as it is held.
	require.Eventually(t, func() bool {
		_, err := other.Acquire(t.Context(), "voucher:1")
		if err == nil {
			t.Error("two holders")
		}
		return errors.Is(err, lock.ErrBusy)
	}, 60*time.Second, 50*time.Millisecond, "the promoted replica answers")
	require.NoError(t, held.Check())
	require.NoError(t, held.Release(t.Context()))

	// An attempt of the time without a primary may arrive now and be taken back at once.
	var next *lock.Lease
	require.Eventually(t, func() bool {
		next, err = other.Acquire(t.Context(), "voucher:1")
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	require.Greater(t, next.Fence(), held.Fence())
	require.NoError(t, next.Release(t.Context()))
}

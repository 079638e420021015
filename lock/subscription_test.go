package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// TestSubscriptionsEnd: when nobody waits any more, the connections that waiters listened on are closed, also when
// they left before the server was asked.
func TestSubscriptionsEnd(t *testing.T) {
	locktest.NeedServer(t)
	for kind, nodes := range deployable {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var r lock.Resources
			for _, s := range locktest.Spawn(t, nodes) {
				rdb := s.Client()
				defer rdb.Close()
				r.Nodes = append(r.Nodes, rdb)
			}
			r.Redis = r.Nodes[0]
			ctx := context.Background()
			l, err := lock.Open(kind, r, lock.Options{Wait: -1, NodeTimeout: time.Second})
			require.NoError(t, err)
			defer l.Close(ctx)
			for i := range 60 {
				key := fmt.Sprint("k", i)
				held, err := l.Acquire(ctx, key)
				require.NoError(t, err)
				short, cancel := context.WithTimeout(ctx, time.Duration(i)*50*time.Microsecond)
				_, err = l.Acquire(short, key)
				require.ErrorIs(t, err, lock.ErrBusy)
				cancel()
				require.NoError(t, held.Release(ctx))
			}
			require.Eventually(t, func() bool { return listeners(r.Nodes) == 0 }, 30*time.Second, 20*time.Millisecond)
		})
	}
}

// listeners counts the subscribed connections.
func listeners(nodes []redis.UniversalClient) (n int) {
	for _, rdb := range nodes {
		text, _ := rdb.Do(context.Background(), "client", "list", "type", "pubsub").Text()
		for _, c := range text {
			if c == '\n' {
				n++
			}
		}
	}
	return n
}

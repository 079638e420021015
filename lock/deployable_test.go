package lock_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// deployable are the locks that have to keep every promise, with the number of servers that they live in.
var deployable = map[string]int{"watchdog": 1, "fenced": 1, "redlock": 3}

// TestRandomCancellations is L-09: whatever moment the callers give up at, nothing stays behind.
func TestRandomCancellations(t *testing.T) {
	locktest.NeedServer(t)
	for kind, nodes := range deployable {
		t.Run(kind, func(t *testing.T) { randomCancellations(t, kind, nodes) })
	}
}

func randomCancellations(t *testing.T, kind string, nodes int) {
	var r lock.Resources
	for _, s := range locktest.Spawn(t, nodes) {
		proxy := locktest.NewProxy(t, s.Addr)
		proxy.Inject(locktest.Fault{Kind: locktest.Delay, Delay: time.Millisecond, Match: func([]string) bool { return rand.N(2) == 0 }})
		rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 32})
		defer rdb.Close()
		r.Nodes = append(r.Nodes, rdb)
	}
	r.Redis = r.Nodes[0]
	var renewed atomic.Int64
	locker, err := lock.Open(kind, r, lock.Options{TTL: 5 * time.Second, Wait: -1, NodeTimeout: time.Second,
		Observer: lock.Observer{Renewed: func(lock.Event) { renewed.Add(1) }}})
	require.NoError(t, err)
	var wg sync.WaitGroup
	var won atomic.Int64
	for i := range 20 {
		wg.Go(func() {
			for j := range 500 {
				ctx, cancel := context.WithTimeout(context.Background(), rand.N(16*time.Millisecond))
				if l, err := locker.Acquire(ctx, fmt.Sprint("k", (i+j)%10)); err == nil {
					won.Add(1)
					_ = l.Release(ctx)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, locker.Close(ctx))
	seen := renewed.Load()
	for _, rdb := range r.Nodes {
		keys, err := rdb.Keys(ctx, "*").Result()
		require.NoError(t, err)
		for _, k := range keys {
			require.True(t, strings.HasSuffix(k, ":fence"), "left behind: %s", k)
		}
	}
	stacks := make([]byte, 1<<22)
	require.Eventually(t, func() bool { // the last one that Close waited for may be on its very last line
		return !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("lock.(*background).run"))
	}, 10*time.Second, time.Millisecond, "a goroutine after Close")
	require.Equal(t, seen, renewed.Load(), "a renewal after Close")
	t.Logf("%d of 10000 got the lock", won.Load())
}

// openAt opens a lock on the servers.
func openAt(kind string, addrs []string, o lock.Options) (lock.Opened, func()) {
	var r lock.Resources
	for _, addr := range addrs {
		r.Nodes = append(r.Nodes, redis.NewClient(&redis.Options{Addr: addr}))
	}
	r.Redis = r.Nodes[0]
	l, err := lock.Open(kind, r, o)
	if err != nil {
		panic(err)
	}
	return l, func() {
		_ = l.Close(context.Background())
		for _, rdb := range r.Nodes {
			_ = rdb.Close()
		}
	}
}

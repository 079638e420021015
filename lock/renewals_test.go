package lock_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// longest is a hook that notes the longest pipeline.
type longest struct {
	redis.Hook
	commands atomic.Int64
}

func (h *longest) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *longest) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *longest) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for n := int64(len(cmds)); ; {
			if most := h.commands.Load(); n <= most || h.commands.CompareAndSwap(most, n) {
				return next(ctx, cmds)
			}
		}
	}
}

// TestRenewalsInBatches: many leases that are due at once are not renewed in one endless pipeline.
func TestRenewalsInBatches(t *testing.T) {
	t.Parallel()
	srv := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	defer rdb.Close()
	pipelines := &longest{}
	rdb.AddHook(pipelines)
	const leases = 1200
	var renewed atomic.Int64
	c := lock.New(rdb, lock.Options{TTL: 15 * time.Second, Observer: lock.Observer{Renewed: func(e lock.Event) {
		if e.Err == nil {
			renewed.Add(1)
		}
	}}})
	locker := c.Watchdog()
	got := make(chan error)
	for i := range leases {
		go func() { _, err := locker.Acquire(context.Background(), fmt.Sprint(i)); got <- err }()
	}
	for range leases {
		require.NoError(t, <-got)
	}
	// On a slow machine some leases have their second renewal before others have their first.
	until(t, func() bool { return renewed.Load() >= leases }, "as many renewals as leases")
	require.Greater(t, pipelines.commands.Load(), int64(1), "in batches")
	require.LessOrEqual(t, pipelines.commands.Load(), int64(256))
	require.NoError(t, c.Close(context.Background()))
}

// TestSilenceLeavesNoGoroutines: a server keeps silent about more than 100 rounds of renewals, and the client has no
// time-outs. The goroutines that wait for it do not pile up.
func TestSilenceLeavesNoGoroutines(t *testing.T) {
	locktest.NeedServer(t)
	server := locktest.Spawn(t, 1)[0]
	proxy := locktest.NewProxy(t, server.Addr)
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: -1, PoolSize: 1000})
	defer rdb.Close()
	renew := loadRenewal(t, rdb)
	var silent atomic.Int64
	proxy.Inject(locktest.Fault{Kind: locktest.Drop, Match: func(words []string) bool {
		if len(words) < 2 || words[1] != renew {
			return false
		}
		silent.Add(1)
		return true
	}})
	stacks := make([]byte, 1<<24)
	out := func() int {
		return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("lock.(*renewer).renew("))
	}
	c := lock.New(rdb, lock.Options{TTL: 240 * time.Millisecond, Wait: 10 * time.Second})
	most := 0
	for silent.Load() < 100 {
		l, err := c.Watchdog().Acquire(context.Background(), "k")
		require.NoError(t, err)
		<-l.Context().Done()
		most = max(most, out())
	}
	require.Less(t, most, 60, "goroutines of %d rounds", silent.Load())
	until(t, func() bool { return out() == 0 }, "they end")
	require.NoError(t, c.Close(context.Background()))
}

package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
)

// TestWaitersBehindAMajority: the holder lacks one node, which every waiter can take and has to give back. That wakes
// nobody who would only do the same.
func TestWaitersBehindAMajority(t *testing.T) {
	t.Parallel()
	servers, proxies, direct := proxied(t, 3)
	ctx := context.Background()
	holder := quorumOn(t, servers, lock.Options{NodeTimeout: time.Second})
	held, err := holder.Acquire(ctx, "k")
	require.NoError(t, err)
	until(t, func() bool { return direct[2].Del(ctx, "lock:{k}").Val() == 1 }, "the third node has lost it")
	got := make(chan error, 2)
	for range 2 { // processes
		waiting := quorumOn(t, servers, lock.Options{NodeTimeout: time.Second, Wait: 20 * time.Second})
		go func() {
			l, err := waiting.Acquire(ctx, "k")
			if err == nil {
				err = l.Release(ctx)
			}
			got <- err
		}()
	}
	time.Sleep(2 * time.Second)
	for _, p := range proxies {
		p.Seen()
	}
	time.Sleep(2 * time.Second)
	commands := 0
	for _, p := range proxies {
		commands += len(p.Seen())
	}
	require.Less(t, commands, 2*2*4*4, "an attempt of each of them in half a second, with four commands")
	require.NoError(t, held.Release(ctx))
	require.NoError(t, <-got)
	require.NoError(t, <-got)
}

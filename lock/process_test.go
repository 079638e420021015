package lock_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
)

func TestMutex(t *testing.T) {
	ctx := context.Background()
	once, err := lock.Open("mutex", lock.Resources{}, lock.Options{})
	require.NoError(t, err)
	a, err := once.Acquire(ctx, "k")
	require.NoError(t, err)
	require.Zero(t, a.Fence())
	require.EqualValues(t, math.MaxInt64, a.Remaining())
	_, err = once.Acquire(ctx, "k")
	require.ErrorIs(t, err, lock.ErrBusy)
	b, err := once.Acquire(ctx, "another")
	require.NoError(t, err)
	require.NoError(t, b.Release(ctx))
	require.NoError(t, a.Release(ctx))
	require.NoError(t, a.Release(ctx), "a second release says the same")
	require.ErrorIs(t, a.Check(), lock.ErrReleased)

	waiting, err := lock.Open("mutex", lock.Resources{}, lock.Options{Wait: -1})
	require.NoError(t, err)
	n := 0
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if l, err := waiting.Acquire(ctx, "k"); err == nil {
				n++
				_ = l.Release(ctx)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 50, n)
	held, err := waiting.Acquire(ctx, "k")
	require.NoError(t, err)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = waiting.Acquire(short, "k")
	require.ErrorIs(t, err, lock.ErrBusy)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, waiting.Close(ctx))
	require.ErrorIs(t, context.Cause(held.Context()), lock.ErrClosed)
}

func TestNoneKeepsNobodyOut(t *testing.T) {
	none, err := lock.Open("none", lock.Resources{}, lock.Options{})
	require.NoError(t, err)
	for range 2 {
		_, err := none.Acquire(context.Background(), "k")
		require.NoError(t, err)
	}
}

func TestOpen(t *testing.T) {
	_, err := lock.Open("nonsense", lock.Resources{}, lock.Options{})
	require.ErrorContains(t, err, "watchdog", "the known kinds are listed")
	for _, kind := range []string{"lua", "redlock", "get-lock"} {
		_, err := lock.Open(kind, lock.Resources{}, lock.Options{})
		require.ErrorContains(t, err, "Resources", kind)
	}
}

// TestObserver holds the events of one ownership against its life.
func TestObserver(t *testing.T) {
	rdb, stop := server()
	defer stop()
	var got []string
	var released lock.Event
	note := func(name string) func(lock.Event) { return func(lock.Event) { got = append(got, name) } }
	client := lock.New(rdb, lock.Options{Observer: lock.Observer{Acquired: note("acquired"), Waited: note("waited"), Lost: note("lost"),
		Released: func(e lock.Event) { got, released = append(got, "released"), e }}})
	defer client.Close(context.Background())
	l, err := client.Fenced().Acquire(context.Background(), "k")
	require.NoError(t, err)
	again, err := client.Fenced().Acquire(context.Background(), "k")
	require.ErrorIs(t, err, lock.ErrBusy)
	require.Nil(t, again)
	require.NoError(t, l.Release(context.Background()))
	require.Equal(t, []string{"acquired", "waited", "waited", "released"}, got)
	require.True(t, released.Removed)
	require.False(t, released.RemoveAt.Before(released.CalledAt))
	require.Equal(t, l.Fence(), released.Fence)
}

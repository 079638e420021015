package lock_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
)

// soon runs f, which has to return long before the time-outs of the client.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not return within its bound", what)
	}
}

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestBoundsWithoutAConnection: the pool's only connection is busy, and the pool would let everybody wait for a minute.
func TestBoundsWithoutAConnection(t *testing.T) {
	t.Parallel()
	srv := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), PoolSize: 1, PoolTimeout: time.Minute})
	defer rdb.Close()
	c := lock.New(rdb, lock.Options{TTL: 30 * time.Second})
	held, err := c.Watchdog().Acquire(context.Background(), "held")
	require.NoError(t, err)

	busy := make(chan error, 1)
	go func() { busy <- rdb.BLPop(context.Background(), time.Minute, "nothing").Err() }()
	require.Eventually(t, func() bool { s := rdb.PoolStats(); return s.TotalConns == 1 && s.IdleConns == 0 }, 10*time.Second, time.Millisecond)
	soon(t, "Release", func() { require.Error(t, held.Release(ended())) })
	short := lock.New(rdb, lock.Options{TTL: time.Second})
	soon(t, "Acquire", func() {
		_, err := short.Watchdog().Acquire(context.Background(), "k")
		require.Error(t, err)
	})

	_, err = srv.Push("nothing", "now")
	require.NoError(t, err)
	require.NoError(t, <-busy)
	require.Eventually(t, func() bool { return len(srv.Keys()) == 0 }, 20*time.Second, time.Millisecond, "taken back")
	require.NoError(t, short.Close(context.Background()))
	require.NoError(t, c.Close(context.Background()))
}

// TestBoundsOfADial: there is no connection, and a new one does not come about, whatever its context says.
func TestBoundsOfADial(t *testing.T) {
	t.Parallel()
	srv := miniredis.RunT(t)
	var hang atomic.Bool
	healed := make(chan struct{})
	conns := make(chan net.Conn, 100)
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr(), Dialer: func(_ context.Context, network, addr string) (net.Conn, error) {
		if hang.Load() {
			<-healed
		}
		conn, err := net.Dial(network, addr)
		conns <- conn
		return conn, err
	}})
	defer rdb.Close()
	c := lock.New(rdb, lock.Options{TTL: 30 * time.Second})
	held, err := c.Watchdog().Acquire(context.Background(), "held")
	require.NoError(t, err)

	hang.Store(true)
	for range len(conns) {
		require.NoError(t, (<-conns).Close()) // they break
	}
	soon(t, "Release", func() { require.Error(t, held.Release(ended())) })
	short := lock.New(rdb, lock.Options{TTL: time.Second})
	soon(t, "Acquire", func() {
		_, err := short.Watchdog().Acquire(context.Background(), "k")
		require.Error(t, err)
	})

	hang.Store(false)
	close(healed)
	require.Eventually(t, func() bool { return len(srv.Keys()) == 0 }, 20*time.Second, time.Millisecond, "taken back")
	require.NoError(t, short.Close(context.Background()))
	require.NoError(t, c.Close(context.Background()))
}

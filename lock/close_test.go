package lock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// watchdogBehind opens a watchdog behind a proxy on an embedded server.
func watchdogBehind(t *testing.T, o lock.Options) (c *lock.Client, p *locktest.Proxy, rdb, direct *redis.Client) {
	t.Helper()
	server := locktest.Embedded(t, 1)[0]
	p = locktest.NewProxy(t, server.Addr)
	rdb, direct = redis.NewClient(&redis.Options{Addr: p.Addr()}), server.Client()
	t.Cleanup(func() { _, _ = rdb.Close(), direct.Close() })
	c = lock.New(rdb, o)
	warm, err := c.Watchdog().Acquire(context.Background(), "warm up")
	require.NoError(t, err)
	require.NoError(t, warm.Release(context.Background()))
	return c, p, rdb, direct
}

// TestReleaseAfterClose: the client is closed, the lease is not over, and the release's first answer is lost. The
// second copy finds no key, because the first has deleted it.
func TestReleaseAfterClose(t *testing.T) {
	c, p, _, direct := watchdogBehind(t, lock.Options{})
	held, err := c.Watchdog().Acquire(context.Background(), "k")
	require.NoError(t, err)
	require.NoError(t, c.Close(context.Background()))
	p.Inject(locktest.Fault{Kind: locktest.Cut, Times: 1})
	require.NoError(t, held.Release(context.Background()))
	require.Zero(t, direct.Exists(context.Background(), "lock:{k}").Val())
}

// TestReleaseAfterCloseInSilence: nobody answers it. It returns within its bound.
func TestReleaseAfterCloseInSilence(t *testing.T) {
	c, p, _, _ := watchdogBehind(t, lock.Options{})
	held, err := c.Watchdog().Acquire(context.Background(), "k")
	require.NoError(t, err)
	require.NoError(t, c.Close(context.Background()))
	p.Inject(locktest.Fault{Kind: locktest.Drop})
	soon(t, "Release", func() {
		err := held.Release(ended())
		require.Error(t, err)
		require.NotErrorIs(t, err, lock.ErrLost)
	})
	p.CutAll()
}

// TestCloseWaitsForCalls: an Acquire whose command is on its way when Close is called has freed what it got when Close
// returns; afterwards the caller may close the Redis client.
func TestCloseWaitsForCalls(t *testing.T) {
	c, p, rdb, direct := watchdogBehind(t, lock.Options{})
	way := locktest.NewGate()
	p.Inject(locktest.Fault{Times: 1, Gate: way})
	got := make(chan error, 1)
	go func() { _, err := c.Watchdog().Acquire(context.Background(), "k"); got <- err }()
	until(t, func() bool { return way.Held() == 1 }, "the command is on its way")
	closed := make(chan error, 1)
	go func() { closed <- errors.Join(c.Close(context.Background()), rdb.Close()) }()
	refused := func() bool {
		_, err := c.Watchdog().Acquire(context.Background(), "other")
		return errors.Is(err, lock.ErrClosed)
	}
	until(t, refused, "Close has begun")
	select {
	case <-closed:
		t.Fatal("Close does not wait")
	case <-time.After(50 * time.Millisecond):
	}
	way.Open()
	require.NoError(t, <-closed)
	require.ErrorIs(t, <-got, lock.ErrClosed)
	require.Empty(t, direct.Keys(context.Background(), "lock:{k}").Val(), "after Close")
}

// TestCloseWaitsForARelease: a Release that has begun is over when Close returns.
func TestCloseWaitsForARelease(t *testing.T) {
	holds := &lock.Holds{}
	c, _, rdb, direct := watchdogBehind(t, lock.Options{Holds: holds})
	held, err := c.Watchdog().Acquire(context.Background(), "k")
	require.NoError(t, err)
	reached, goOn := make(chan struct{}), make(chan struct{})
	holds.On(lock.HoldRelease, 0, 1, func() { close(reached); <-goOn })
	released, closed := make(chan error, 1), make(chan error, 1)
	go func() { released <- held.Release(context.Background()) }()
	<-reached
	go func() { closed <- errors.Join(c.Close(context.Background()), rdb.Close()) }()
	select {
	case <-closed:
		t.Error("Close does not wait")
	case <-time.After(50 * time.Millisecond):
	}
	close(goOn)
	require.NoError(t, <-released)
	require.Zero(t, direct.Exists(context.Background(), "lock:{k}").Val())
}

// TestCloseBesideASilentServer: waiters' connection to a server that says nothing, not even hello, ends by itself,
// although the client has no time-outs.
func TestCloseBesideASilentServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, nobody reads
	require.NoError(t, err)
	defer ln.Close()
	rdb := redis.NewClient(&redis.Options{Addr: ln.Addr().String(), ReadTimeout: -1, WriteTimeout: -1})
	defer rdb.Close()
	c := lock.New(rdb, lock.Options{TTL: 200 * time.Millisecond, Wait: 3 * time.Second})
	_, err = c.Watchdog().Acquire(context.Background(), "k")
	require.Error(t, err)
	soon(t, "Close", func() { require.NoError(t, c.Close(context.Background())) })
}

package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// loading is what a server says that reads its data after a restart.
const loading = "LOADING Redis is loading the dataset in memory"

// refusing is a server that can be told to refuse everything, behind a proxy.
func refusing(t *testing.T, o lock.Options) (c *lock.Client, srv *miniredis.Miniredis, p *locktest.Proxy) {
	o.TTL = 2 * time.Second
	t.Helper()
	srv = miniredis.RunT(t)
	p = locktest.NewProxy(t, srv.Addr())
	rdb := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, ReadTimeout: 100 * time.Millisecond})
	c = lock.New(rdb, o)
	t.Cleanup(func() {
		require.NoError(t, c.Close(context.Background()))
		require.NoError(t, rdb.Close())
	})
	warm, err := c.Watchdog().Acquire(context.Background(), "warm up")
	require.NoError(t, err)
	require.NoError(t, warm.Release(context.Background()))
	return c, srv, p
}

// lockOnce acquires k and releases it, and tells what came of it.
func lockOnce(c *lock.Client) chan error {
	got := make(chan error, 1)
	go func() {
		l, err := c.Watchdog().Acquire(context.Background(), "k")
		if err == nil {
			err = l.Release(context.Background())
		}
		got <- err
	}()
	return got
}

// TestWaitThroughARestart: a server that refuses everything for a while is no reason to stop a wait before it is spent.
func TestWaitThroughARestart(t *testing.T) {
	c, srv, p := refusing(t, lock.Options{Wait: 20 * time.Second})
	srv.SetError(loading)
	p.Seen()
	got := lockOnce(c)
	asked := 0
	until(t, func() bool { asked += len(p.Seen()); return asked > 6 || len(got) > 0 }, "it asks again")
	srv.SetError("")
	require.NoError(t, <-got)
	require.Empty(t, srv.Keys())
}

// TestWaitSpentOnARestart: the error tells what the server said, and what was refused leaves nothing to be taken back.
func TestWaitSpentOnARestart(t *testing.T) {
	for _, wait := range []time.Duration{0, 200 * time.Millisecond} {
		c, srv, p := refusing(t, lock.Options{Wait: wait})
		srv.SetError(loading)
		p.Seen()
		_, err := c.Watchdog().Acquire(context.Background(), "k")
		require.True(t, redis.HasErrorPrefix(err, "LOADING"), "%v: %v", wait, err)
		require.NotErrorIs(t, err, lock.ErrBusy, wait)
		time.Sleep(100 * time.Millisecond)
		for _, words := range p.Seen() {
			require.False(t, releases(words), "a refused acquire has created no key: %v", words)
		}
		srv.SetError("")
	}
}

// TestReleaseRefusedAndThenLost: a copy of the release that the server refused has not removed the key.
func TestReleaseRefusedAndThenLost(t *testing.T) {
	c, srv, p := refusing(t, lock.Options{})
	held, err := c.Watchdog().Acquire(context.Background(), "k")
	require.NoError(t, err)
	srv.SetError(loading)
	p.Seen()
	got := make(chan error, 1)
	go func() { got <- held.Release(context.Background()) }()
	asked := 0
	until(t, func() bool { asked += len(p.Seen()); return asked > 1 }, "it asks again")
	srv.Del("lock:{k}")
	srv.SetError("")
	require.ErrorIs(t, <-got, lock.ErrLost)
}

// TestWaitThroughSilence: it is no matter whether the client's time-out or ours says first that nobody answers.
func TestWaitThroughSilence(t *testing.T) {
	c, _, p := refusing(t, lock.Options{Wait: 20 * time.Second})
	p.Inject(locktest.Fault{Kind: locktest.Drop})
	p.Seen()
	got := lockOnce(c)
	asked := 0
	until(t, func() bool { asked += len(p.Seen()); return asked > 6 || len(got) > 0 }, "it asks again")
	p.Heal()
	require.NoError(t, <-got)
}

// TestNobodyThereIsPrompt: where nobody listens, a wait is not spent.
func TestNobodyThereIsPrompt(t *testing.T) {
	c, srv, _ := refusing(t, lock.Options{Wait: time.Hour})
	srv.Close()
	soon(t, "Acquire", func() {
		_, err := c.Watchdog().Acquire(context.Background(), "k")
		require.Error(t, err)
		require.NotErrorIs(t, err, lock.ErrBusy)
	})
}

// TestSilenceBehindAWaiter: who comes when somebody waits already is not told that the lock is busy, as nobody has said
// so.
func TestSilenceBehindAWaiter(t *testing.T) {
	c, _, p := refusing(t, lock.Options{Wait: 20 * time.Second})
	p.Inject(locktest.Fault{Kind: locktest.Drop})
	p.Seen()
	first := lockOnce(c)
	asked := 0
	until(t, func() bool { asked += len(p.Seen()); return asked > 3 }, "it stands in line")
	short, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	_, err := c.Watchdog().Acquire(short, "k")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, lock.ErrBusy)
	p.Heal()
	require.NoError(t, <-first)
}

package lock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// proxied are n servers behind proxies, and clients that go past them.
func proxied(t *testing.T, n int) (servers []*locktest.Server, proxies []*locktest.Proxy, direct []*redis.Client) {
	t.Helper()
	locktest.NeedServer(t)
	for _, s := range locktest.Spawn(t, n) {
		rdb := s.Client()
		t.Cleanup(func() { _ = rdb.Close() })
		p := locktest.NewProxy(t, s.Addr)
		direct, proxies = append(direct, rdb), append(proxies, p)
		servers = append(servers, &locktest.Server{Addr: p.Addr()})
	}
	return servers, proxies, direct
}

// nodesBehindProxies are three servers whose answers a test can delay or lose.
func nodesBehindProxies(t *testing.T) (servers []*locktest.Server, inject func(locktest.Fault), heal func(), keys func() int64) {
	t.Helper()
	servers, proxies, direct := proxied(t, 3)
	inject = func(f locktest.Fault) {
		for _, p := range proxies {
			p.Inject(f)
		}
	}
	heal = func() {
		for _, p := range proxies {
			p.Heal()
		}
	}
	keys = func() (n int64) {
		for _, rdb := range direct {
			n += rdb.DBSize(context.Background()).Val()
		}
		return n
	}
	return servers, inject, heal, keys
}

// TestSlowQuorum: nodes that answer too late are no reason for an error, as a busy machine makes them. The wait goes on;
// when it is spent the lock is busy, and what the late answers granted is taken back.
func TestSlowQuorum(t *testing.T) {
	servers, inject, heal, keys := nodesBehindProxies(t)
	ctx := context.Background()
	for _, wait := range []time.Duration{0, 2 * time.Second} {
		q := quorumOn(t, servers, lock.Options{NodeTimeout: time.Second, Wait: wait})
		warm, err := q.Acquire(ctx, "warm up")
		require.NoError(t, err)
		require.NoError(t, warm.Release(ctx))
		inject(locktest.Fault{Kind: locktest.Delay, Delay: 1300 * time.Millisecond})
		_, err = q.Acquire(ctx, "k")
		require.ErrorIs(t, err, lock.ErrBusy, "wait %v", wait)
		require.NotErrorIs(t, err, lock.ErrNoQuorum, "wait %v", wait)
		heal()
		require.Eventually(t, func() bool { return keys() == 0 }, 10*time.Second, time.Millisecond, "taken back")
	}
	q := quorumOn(t, servers, lock.Options{NodeTimeout: time.Second, Wait: 30 * time.Second})
	inject(locktest.Fault{Kind: locktest.Delay, Delay: 1300 * time.Millisecond, Times: 3})
	l, err := q.Acquire(ctx, "k")
	require.NoError(t, err, "the nodes are quick again")
	require.NoError(t, l.Release(ctx))
	require.Eventually(t, func() bool { return keys() == 0 }, 10*time.Second, time.Millisecond)
}

// TestSlowNodesAreNotStormed: of many waiters only the first in line asks slow nodes again; the others would make them
// slower.
func TestSlowNodesAreNotStormed(t *testing.T) {
	servers, inject, heal, _ := nodesBehindProxies(t)
	const waiters = 32
	q := quorumOn(t, servers, lock.Options{NodeTimeout: 200 * time.Millisecond, Wait: 3 * time.Second})
	warm, err := q.Acquire(context.Background(), "warm up")
	require.NoError(t, err)
	require.NoError(t, warm.Release(context.Background()))
	var asked atomic.Int64
	inject(locktest.Fault{Kind: locktest.Delay, Delay: 300 * time.Millisecond, Match: func(words []string) bool {
		if words[0] == "evalsha" && words[len(words)-1] == "30000" {
			asked.Add(1)
		}
		return true
	}})
	errs := make(chan error)
	for range waiters {
		go func() { _, err := q.Acquire(context.Background(), "k"); errs <- err }()
	}
	for range waiters {
		require.Error(t, <-errs)
	}
	heal()
	require.LessOrEqual(t, asked.Load(), int64(3*2*waiters), "every waiter once, and the first in line a few times more")
}

// TestYoungNodesAreNotFlooded: a node that may not vote yet is asked once for each attempt, not again and again until its
// time is over.
func TestYoungNodesAreNotFlooded(t *testing.T) {
	servers, inject, _, _ := nodesBehindProxies(t)
	var asked atomic.Int64
	inject(locktest.Fault{Match: func(words []string) bool {
		if words[0] == "info" { // goes with every acquire
			asked.Add(1)
		}
		return false
	}})
	q := quorumOn(t, servers, lock.Options{NodeTimeout: time.Second, RestartGrace: time.Hour})
	_, err := q.Acquire(context.Background(), "k")
	require.ErrorIs(t, err, lock.ErrNoQuorum)
	require.Positive(t, asked.Load())
	require.LessOrEqual(t, asked.Load(), int64(6), "the script by its hash and by its text, on three nodes")
}

// TestUnreachableIsNotBusy: silence is an error of its own, for one server and for several, whatever the wait.
func TestUnreachableIsNotBusy(t *testing.T) {
	servers, inject, _, _ := nodesBehindProxies(t)
	ctx := context.Background()
	inject(locktest.Fault{Kind: locktest.Drop})
	for _, wait := range []time.Duration{0, 200 * time.Millisecond, 1500 * time.Millisecond} {
		q := quorumOn(t, servers, lock.Options{Wait: wait})
		_, err := q.Acquire(ctx, "k")
		require.ErrorIs(t, err, lock.ErrNoQuorum, "wait %v", wait)
		require.NotErrorIs(t, err, lock.ErrBusy, "wait %v", wait)
	}
	rdb := redis.NewClient(&redis.Options{Addr: servers[0].Addr, ReadTimeout: time.Minute})
	defer rdb.Close()
	client := lock.New(rdb, lock.Options{Wait: 2 * time.Second, TTL: 2 * time.Second})
	_, err := client.Watchdog().Acquire(ctx, "k")
	require.Error(t, err)
	require.NotErrorIs(t, err, lock.ErrBusy)
	short, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	_, err = client.Watchdog().Acquire(short, "k")
	require.ErrorIs(t, err, context.DeadlineExceeded, "the caller's end is told")
	require.NotErrorIs(t, err, lock.ErrBusy)
	_ = client.Close(short)
}

// TestBusyAfterAQuietWait: a waiter that asks seldom is not told that Redis is gone because its last question was not
// answered yet when its wait was over.
func TestBusyAfterAQuietWait(t *testing.T) {
	rdb, stop := server()
	defer stop()
	client := lock.New(rdb, lock.Options{Wait: 700 * time.Millisecond})
	defer client.Close(context.Background())
	l, err := client.Watchdog().Acquire(context.Background(), "k")
	require.NoError(t, err)
	defer l.Release(context.Background())
	errs := make(chan error)
	for range 8 {
		go func() { _, err := client.Watchdog().Acquire(context.Background(), "k"); errs <- err }()
	}
	for i := range 8 {
		require.ErrorIs(t, <-errs, lock.ErrBusy, fmt.Sprint(i))
	}
}

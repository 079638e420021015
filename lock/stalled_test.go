package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// stalledRenewal acquires key k on a server behind a proxy, which holds the lease's first renewal back.
func stalledRenewal(t *testing.T, o lock.Options) (held *lock.Lease, p *locktest.Proxy, direct *redis.Client, renewal *locktest.Gate) {
	t.Helper()
	locktest.NeedServer(t)
	server := locktest.Spawn(t, 1)[0]
	direct = server.Client()
	loadRenewal(t, direct)
	p = locktest.NewProxy(t, server.Addr)
	rdb := redis.NewClient(&redis.Options{Addr: p.Addr()})
	c := lock.New(rdb, o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = c.Close(ctx)
		_ = rdb.Close()
		_ = direct.Close()
	})
	held, err := c.Watchdog().Acquire(context.Background(), "k")
	require.NoError(t, err)
	renewal = locktest.NewGate()
	p.Inject(locktest.Fault{Times: 1, Gate: renewal, Match: func(words []string) bool { return !releases(words) }})
	until(t, func() bool { return renewal.Held() == 1 }, "the renewal is on its way")
	return held, p, direct, renewal
}

// loadRenewal makes the server know the script, so that a renewal is one command, and returns the script's hash.
func loadRenewal(t *testing.T, rdb *redis.Client) string {
	t.Helper()
	source, err := lock.Sources.ReadFile("renew.lua")
	require.NoError(t, err)
	hash, err := rdb.ScriptLoad(context.Background(), string(source)).Result()
	require.NoError(t, err)
	return hash
}

// releases tells a release from a renewal: it has no time to live.
func releases(words []string) bool { return len(words) == 5 }

func until(t *testing.T, done func() bool, what string) {
	t.Helper()
	require.Eventually(t, done, 20*time.Second, time.Millisecond, what)
}

// TestRenewalAfterTheRelease: a renewal arrives when a release has given up on a silent server, and gives the key
// another TTL. The key is owed for so long.
func TestRenewalAfterTheRelease(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	held, p, direct, renewal := stalledRenewal(t, lock.Options{TTL: ttl})
	left := func() time.Duration { return direct.PTTL(context.Background(), "lock:{k}").Val() }
	p.Inject(locktest.Fault{Kind: locktest.Drop})
	require.Error(t, held.Release(ended()))
	until(t, func() bool { return left() < ttl/8 }, "the key is about to lapse")
	renewal.Open()
	until(t, func() bool { return renewal.Passed() == 1 }, "the renewal arrives")
	if left() < ttl/2 {
		t.Skip("too late on a busy machine")
	}
	until(t, func() bool { return left() < ttl/2 }, "it would have lapsed")
	p.Seen()
	p.Heal()
	p.CutAll()
	until(t, func() bool { return left() < 0 }, "the key goes")
	swept := false
	for _, words := range p.Seen() {
		swept = swept || releases(words)
	}
	require.True(t, swept, "it was removed, and did not just lapse")
}

// TestRenewalBehindAClippedOne: a renewal from before the last one, which MaxHold made shorter, arrives after it and
// makes the key live longer than MaxHold. The key goes with the lease all the same, although its holder does nothing.
func TestRenewalBehindAClippedOne(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	held, _, direct, renewal := stalledRenewal(t, lock.Options{TTL: ttl, MaxHold: ttl + ttl*3/8})
	left := func() time.Duration { return direct.PTTL(context.Background(), "lock:{k}").Val() }
	until(t, func() bool { return held.Remaining() > ttl*3/4 }, "renewed until MaxHold")
	until(t, func() bool { return held.Remaining() < ttl/4 }, "MaxHold is near")
	renewal.Open()
	until(t, func() bool { return left() > ttl/2 }, "the renewal arrives")
	select {
	case <-held.Context().Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the lease does not end")
	}
	require.ErrorIs(t, context.Cause(held.Context()), lock.ErrMaxHold)
	last := left()
	require.Eventually(t, func() bool { return left() < 0 }, last-time.Second, time.Millisecond, "the key outlives its lease by %v", last)
}

// TestReleaseDuringAScript: another client's script keeps the server busy, which refuses everybody else for so long.
func TestReleaseDuringAScript(t *testing.T) {
	locktest.NeedServer(t)
	server := locktest.Spawn(t, 1, "--lua-time-limit", "20")[0]
	rdb, other := server.Client(), redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: time.Minute, MaxRetries: -1})
	defer rdb.Close()
	defer other.Close()
	ctx := context.Background()
	c := lock.New(rdb, lock.Options{})
	held, err := c.Watchdog().Acquire(ctx, "k")
	require.NoError(t, err)
	slow := make(chan error, 1)
	go func() { slow <- other.Eval(ctx, "while true do end", nil).Err() }()
	until(t, func() bool { return redis.HasErrorPrefix(rdb.Ping(ctx).Err(), "BUSY") }, "the server is busy")
	released := make(chan error, 1)
	go func() { released <- held.Release(ctx) }()
	time.Sleep(50 * time.Millisecond) // it may also come when the script is over
	require.NoError(t, rdb.ScriptKill(ctx).Err())
	require.Error(t, <-slow)
	require.NoError(t, <-released)
	require.NoError(t, c.Close(ctx))
}

package lock_test

import (
	"context"
	"strings"
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

// releases tells a release by its channel, the last of its words.
func releases(words []string) bool { return strings.HasSuffix(words[len(words)-1], ":free") }

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

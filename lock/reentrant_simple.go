package lock

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	simpleLock   = load("reentrant_simple_lock.lua")
	simpleUnlock = load("reentrant_simple_unlock.lua")
)

// ReentrantSimple is re-entry in two short scripts: a hash counts the owner's entries, EXPIRE takes whole seconds (the
// TTL is rounded up), answers are 1 and 0.
//
// The owner's own methods may take it again. It breaks with slow work, and its waiters must poll.
func (c *Client) ReentrantSimple() Locker {
	ttl := (c.o.TTL + time.Second - 1).Truncate(time.Second)
	l := c.simple("reentrant-simple", &countingHash{rdb: c.rdb, ttl: ttl})
	l.reentry = reentryInRedis
	return l
}

type countingHash struct {
	rdb redis.UniversalClient
	ttl time.Duration
}

func (h *countingHash) acquire(ctx context.Context, key string, own *ownership) (grant, error) {
	g := grant{token: rand.Text(), sent: time.Now(), ttl: h.ttl}
	if own != nil {
		g.token = own.token
	}
	n, err := simpleLock.Run(ctx, h.rdb, []string{key}, g.token, int(h.ttl.Seconds())).Int64()
	g.held = n == 1 && err == nil
	return g, err
}

func (h *countingHash) release(ctx context.Context, r *removal) error {
	r.sending()
	return r.reply(simpleUnlock.Run(context.WithoutCancel(ctx), h.rdb, []string{r.key}, r.own.token,
		int(h.ttl.Seconds())).Int64())
}

func (h *countingHash) abandon(*ownership) {}

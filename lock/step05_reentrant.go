package lock

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	reentrantLock   = load("reentrant_lock.lua")
	reentrantUnlock = load("reentrant_unlock.lua")
)

// Reentrant is Redisson's lock without its watchdog: a hash with one field, the owner, that counts the owner's
// entries. A refused caller learns when the key lapses and waits for the owner's message instead of polling.
//
// The owner's own methods may take it again. It breaks with slow work, as nothing renews it, and with a lost reply: a
// retried HINCRBY counts twice, and the lock stays taken until it lapses.
func (c *Client) Reentrant() Locker {
	l := c.simple("reentrant", &reentrantHash{rdb: c.rdb, ttl: c.o.TTL, id: rand.Text()})
	l.reentry, l.signals = reentryInRedis, c.signals
	return l
}

type reentrantHash struct {
	rdb redis.UniversalClient
	ttl time.Duration
	id  string // of this client; with the owner's number it is Redisson's uuid:threadId
}

func (h *reentrantHash) acquire(ctx context.Context, key string, own *ownership) (grant, error) {
	g := grant{token: h.id + ":" + rand.Text(), sent: time.Now(), ttl: h.ttl}
	if own != nil {
		g.token = own.token
	}
	lapses, err := reentrantLock.Run(ctx, h.rdb, []string{key}, g.token, h.ttl.Milliseconds()).Int64()
	if err == redis.Nil {
		g.held = true
		return g, nil
	}
	g.freeIn = time.Duration(lapses) * time.Millisecond
	return g, err
}

func (h *reentrantHash) release(ctx context.Context, r *removal) error {
	r.sending()
	freed, err := reentrantUnlock.Run(context.WithoutCancel(ctx), h.rdb, []string{r.key}, r.own.token,
		h.ttl.Milliseconds(), channelOf(r.key)).Int64()
	if err == redis.Nil {
		return ErrLost
	}
	r.removed = freed == 1
	return err
}

func (h *reentrantHash) abandon(*ownership) {}

package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
)

// Redislock is the library bsm/redislock with what it leaves to its user: a loop that waits, and a goroutine per lease
// that refreshes it.
//
// Slow work is safe. It has no re-entry, no fence and no wake-up, and a lost reply costs what go-redis' own retries
// make of it: a release whose first reply was lost reports a loss.
func (c *Client) Redislock() Locker {
	l := c.simple("redislock", &library{c: redislock.New(c.rdb), o: c.o, bg: c.bg})
	l.guarded = true
	return l
}

type library struct {
	c  *redislock.Client
	o  Options
	bg *background
}

func (b *library) acquire(ctx context.Context, key string, _ *ownership) (grant, error) {
	g := grant{sent: time.Now(), ttl: b.o.TTL}
	got, err := b.c.Obtain(ctx, key, b.o.TTL, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return g, nil
	}
	g.held, g.res = err == nil, got
	return g, err
}

// keep refreshes the lease at a third of its TTL until it ends.
func (b *library) keep(s *Lease) {
	held := s.own.res.(*redislock.Lock)
	b.bg.run(func() {
		tick := time.NewTicker(b.o.TTL / 3)
		defer tick.Stop()
		for {
			select {
			case <-s.ctx.Done():
				return
			case <-tick.C:
			}
			sent := time.Now()
			err := held.Refresh(s.ctx, b.o.TTL, nil)
			s.own.l.tell(b.o.Observer.Renewed, s.own.event(time.Now(), err))
			switch {
			case err == nil:
				s.own.confirm(sent, b.o.TTL, false)
			case errors.Is(err, redislock.ErrNotObtained) && s.ctx.Err() == nil:
				s.own.end(fmt.Errorf("%w: %w", ErrLost, err))
			}
		}
	})
}

func (b *library) release(ctx context.Context, r *removal) error {
	r.sending()
	err := r.own.res.(*redislock.Lock).Release(context.WithoutCancel(ctx))
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	r.removed = err == nil
	return err
}

func (b *library) abandon(*ownership) {}

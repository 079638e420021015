package lock

import (
	"context"
	"crypto/rand"
	"time"
)

// idea is a teaching lock: a way to take a key and a way to give it back, each with its mistake. Commands go out
// through the client as it is, with its own retries and on the caller's goroutine.
type idea struct {
	ttl  time.Duration // what the lock promises; 0: nothing expires
	take func(ctx context.Context, key, token string) (bool, error)
	// free returns how many keys it removed; it calls r.sending right before the command that may remove one.
	free func(ctx context.Context, r *removal) (int64, error)
}

func (i *idea) acquire(ctx context.Context, key string, _ *ownership) (grant, error) {
	g := grant{token: rand.Text(), sent: time.Now(), ttl: i.ttl}
	var err error
	g.held, err = i.take(ctx, key, g.token)
	return g, err
}

func (i *idea) release(ctx context.Context, r *removal) error {
	return r.reply(i.free(context.WithoutCancel(ctx), r))
}

func (i *idea) abandon(*ownership) {}

package repository

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/service"
)

// A subscription that says nothing may be idle or dead, so it is pinged after watchIdle; it counts as broken when
// the next watchIdle brings no answer either.
const (
	watchIdle  = time.Second
	watchPause = 100 * time.Millisecond // before a broken subscription is tried again
)

// WatchReturns implements service.GateKeeper. It needs a connection of its own and returns ctx's error.
func (g *Gate) WatchReturns(ctx context.Context, state func(up bool), returned func(voucher service.ID)) error {
	w := watch{state: state, returned: returned}
	for ctx.Err() == nil {
		sub := g.rdb.Subscribe(ctx, g.keys.returns())
		// Receive does not listen to ctx while it reads; closing the connection ends it at once.
		stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
		w.run(ctx, sub)
		stop()
		_ = sub.Close() // it is broken or ctx ended; there is nobody to tell
		w.set(false)
		select {
		case <-ctx.Done():
		case <-time.After(watchPause):
		}
	}
	return ctx.Err()
}

type watch struct {
	up       bool
	state    func(bool)
	returned func(service.ID)
}

func (w *watch) set(up bool) {
	if w.up != up {
		w.up = up
		w.state(up)
	}
}

// run receives until the subscription breaks. It is never resumed silently: a reconnect inside the client would
// hide that messages were missed, so a broken one is closed and the caller makes a new one.
func (w *watch) run(ctx context.Context, sub *redis.PubSub) {
	pinged := false
	for {
		msg, err := sub.ReceiveTimeout(ctx, watchIdle)
		var timeout net.Error
		switch {
		case err == nil:
			pinged = false
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged && w.up && ctx.Err() == nil:
			if sub.Ping(ctx) != nil {
				return
			}
			pinged = true
			continue
		default:
			return
		}
		switch m := msg.(type) {
		case *redis.Subscription:
			w.set(true)
		case *redis.Message:
			if v, err := service.ParseID(m.Payload); err == nil {
				w.returned(v)
			}
		}
	}
}

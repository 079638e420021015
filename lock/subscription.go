package lock

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	linger       = 3 * time.Second // that an empty line stays subscribed
	pingEvery    = time.Second
	silenceLimit = 3 * time.Second // afterwards the connection counts as dead
	reconnectMin = 20 * time.Millisecond
	reconnectMax = time.Second
)

// subscription is the connection to one server that its messages come through. What it shares with the waiters is
// guarded by signals.mu.
type subscription struct {
	s       *signals
	rdb     redis.UniversalClient
	state   map[string]lineState // by channel
	running bool
	changed chan struct{} // has a message when lines have changed
}

type lineState int

const (
	wanted    lineState = iota // not subscribed yet
	asked                      // SUBSCRIBE was sent
	confirmed                  // messages arrive from here on
	leaving                    // UNSUBSCRIBE was sent
)

// start sees that channel is, or gets, listened to. The caller holds mu.
func (c *subscription) start(channel string) {
	if c.state[channel] == wanted {
		poke(c.changed)
	}
	if !c.running {
		c.running = true
		c.s.bg.run(c.listen)
	}
}

// listen keeps one subscription while there are lines; a broken one is replaced by a new one.
func (c *subscription) listen() {
	pause := reconnectMin
	for {
		began := time.Now()
		if !c.session() {
			return
		}
		if time.Since(began) > reconnectMax {
			pause = reconnectMin
		}
		timer := time.NewTimer(pause + rand.N(pause))
		pause = min(2*pause, reconnectMax)
		select {
		case <-timer.C:
		case <-c.s.bg.open.Done():
		}
		timer.Stop()
	}
}

// session is the life of one connection. It reports whether another one is needed.
func (c *subscription) session() (again bool) {
	ctx, cancel := context.WithCancel(c.s.bg.open)
	defer cancel()
	sub := c.rdb.Subscribe(ctx)
	heard := new(atomic.Int64)
	heard.Store(time.Now().UnixNano())
	broken := make(chan struct{})
	reading := false
	defer func() {
		_ = sub.Close()
		if reading {
			<-broken
		}
	}()
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		if err := c.adjust(ctx, sub); err != nil {
			return c.disconnected()
		}
		if !reading {
			reading = true
			go func() {
				defer close(broken)
				c.read(ctx, sub, heard)
			}()
		}
		select {
		case <-c.changed:
		case <-tick.C:
			silent := time.Since(time.Unix(0, heard.Load())) > silenceLimit
			if silent || sub.Ping(ctx) != nil {
				return c.disconnected()
			}
			if c.finish() {
				return false
			}
		case <-broken:
			return c.disconnected()
		case <-ctx.Done():
			return c.disconnected()
		}
	}
}

// adjust subscribes to new lines and leaves those that have been empty for a while.
func (c *subscription) adjust(ctx context.Context, sub *redis.PubSub) error {
	var in, out []string
	c.s.mu.Lock()
	for channel, l := range c.s.lines {
		switch state := c.state[channel]; {
		case state == wanted && len(l.queue) > 0:
			c.state[channel] = asked
			in = append(in, channel)
		case state == confirmed && len(l.queue) == 0 && time.Since(l.empty) > linger:
			c.state[channel] = leaving
			out = append(out, channel)
		}
	}
	c.s.mu.Unlock()
	if len(in) > 0 {
		if err := sub.Subscribe(ctx, in...); err != nil {
			return err
		}
	}
	if len(out) > 0 {
		return sub.Unsubscribe(ctx, out...)
	}
	return nil
}

// read handles what the connection says until it breaks.
func (c *subscription) read(ctx context.Context, sub *redis.PubSub, heard *atomic.Int64) {
	for {
		msg, err := sub.ReceiveTimeout(ctx, 2*silenceLimit)
		if err != nil {
			return
		}
		heard.Store(time.Now().UnixNano())
		switch m := msg.(type) {
		case *redis.Message:
			c.s.mu.Lock()
			if l := c.s.lines[m.Channel]; l != nil && m.Payload == attempted {
				l.hintFirst()
			} else if l != nil {
				l.wakeFirst()
			}
			c.s.mu.Unlock()
		case *redis.Subscription:
			c.answered(m)
		}
	}
}

// answered notes the server's answer to SUBSCRIBE or UNSUBSCRIBE. The first in line tries again at the former.
func (c *subscription) answered(m *redis.Subscription) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	switch state := c.state[m.Channel]; {
	case m.Kind == "subscribe" && state == asked:
		c.state[m.Channel] = confirmed
		if l := c.s.lines[m.Channel]; l != nil {
			l.wakeFirst()
		}
	case m.Kind == "unsubscribe" && state == leaving:
		delete(c.state, m.Channel)
		c.s.prune()
		poke(c.changed) // somebody may have come meanwhile
	}
}

// disconnected forgets what the lost connection had been told. It reports whether somebody still waits.
func (c *subscription) disconnected() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	clear(c.state)
	c.s.prune()
	c.running = len(c.s.lines) > 0 && c.s.bg.open.Err() == nil
	return c.running
}

// finish ends the goroutine when no line is left. Lines that were left before anybody had subscribed go now.
func (c *subscription) finish() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.prune()
	c.running = len(c.s.lines) > 0
	return !c.running
}

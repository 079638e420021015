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

// listen keeps one subscription while there are lines; a broken one is replaced by a new one.
func (s *signals) listen() {
	pause := reconnectMin
	for {
		began := time.Now()
		if !s.session() {
			return
		}
		if time.Since(began) > reconnectMax {
			pause = reconnectMin
		}
		timer := time.NewTimer(pause + rand.N(pause))
		pause = min(2*pause, reconnectMax)
		select {
		case <-timer.C:
		case <-s.bg.open.Done():
		}
		timer.Stop()
	}
}

// session is the life of one connection. It reports whether another one is needed.
func (s *signals) session() (again bool) {
	ctx, cancel := context.WithCancel(s.bg.open)
	defer cancel()
	sub := s.rdb.Subscribe(ctx)
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
		if err := s.adjust(ctx, sub); err != nil {
			return s.disconnected()
		}
		if !reading {
			reading = true
			go func() {
				defer close(broken)
				s.read(ctx, sub, heard)
			}()
		}
		select {
		case <-s.changed:
		case <-tick.C:
			silent := time.Since(time.Unix(0, heard.Load())) > silenceLimit
			if silent || sub.Ping(ctx) != nil {
				return s.disconnected()
			}
			if s.finish() {
				return false
			}
		case <-broken:
			return s.disconnected()
		case <-ctx.Done():
			return s.disconnected()
		}
	}
}

// adjust subscribes to new lines and leaves those that have been empty for a while.
func (s *signals) adjust(ctx context.Context, sub *redis.PubSub) error {
	var in, out []string
	s.mu.Lock()
	for channel, l := range s.lines {
		switch {
		case l.state == wanted && len(l.queue) > 0:
			l.state = asked
			in = append(in, channel)
		case l.state == confirmed && len(l.queue) == 0 && time.Since(l.empty) > linger:
			l.state = leaving
			out = append(out, channel)
		}
	}
	s.mu.Unlock()
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
func (s *signals) read(ctx context.Context, sub *redis.PubSub, heard *atomic.Int64) {
	for {
		msg, err := sub.ReceiveTimeout(ctx, 2*silenceLimit)
		if err != nil {
			return
		}
		heard.Store(time.Now().UnixNano())
		switch m := msg.(type) {
		case *redis.Message:
			s.mu.Lock()
			if l := s.lines[m.Channel]; l != nil {
				l.wakeFirst()
			}
			s.mu.Unlock()
		case *redis.Subscription:
			s.answered(m)
		}
	}
}

// answered notes the server's answer to SUBSCRIBE or UNSUBSCRIBE. The first in line tries again at the former.
func (s *signals) answered(m *redis.Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[m.Channel]
	switch {
	case l == nil:
	case m.Kind == "subscribe" && l.state == asked:
		l.state = confirmed
		l.wakeFirst()
	case m.Kind == "unsubscribe" && l.state == leaving:
		if l.state = wanted; len(l.queue) == 0 {
			delete(s.lines, m.Channel)
		} else {
			s.poke()
		}
	}
}

// disconnected forgets what the lost connection had been told. It reports whether somebody still waits.
func (s *signals) disconnected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for channel, l := range s.lines {
		if l.state = wanted; len(l.queue) == 0 {
			delete(s.lines, channel)
		}
	}
	s.running = len(s.lines) > 0 && s.bg.open.Err() == nil
	return s.running
}

// finish ends the goroutine when no line is left.
func (s *signals) finish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = len(s.lines) > 0
	return !s.running
}

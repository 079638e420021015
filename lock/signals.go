package lock

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// signals is how waiters of one Client learn that a lock is free: by one subscription to each server, shared by all of
// them. Waiters of one key stand in line. A message wakes the first, who tries; the others send nothing. Every waiter
// also tries by itself when the holder's key should have lapsed, and now and then in any case, so that a lost message
// costs time only. Who becomes the first because the one before has won is told when the winner's key should lapse.
//
// A release of a lock in several servers frees one after the other, and each sends its message. So the first in line
// lets a moment pass, of random length: the others get free meanwhile, and waiters of different processes do not try at
// once and split the nodes among them. An attempt that took too few nodes gives them back with another message, a hint:
// it may have stood in the way of the next one; or somebody holds a majority, and whoever follows the hint only causes
// the next. So hints are followed ever more slowly.
type signals struct {
	bg   *background
	subs []*subscription

	mu    sync.Mutex
	lines map[string]*line // by channel
}

// line is those who wait for one channel.
type line struct {
	queue []*place
	empty time.Time // since when
	mute  bool      // the last attempt had no answer
}

// place is one Acquire's place in a line.
type place struct {
	s       *signals
	name    string // of the lock
	channel string // set with line
	line    *line  // nil: not in line yet
	wake    chan struct{}
	ahead   chan time.Time // it is the first now, as the winner went, whose key lapses then
	won     time.Time      // when the key lapses that it has won; zero: none
	moments int            // that it let pass
	hint    chan struct{}  // an attempt gave a server back, its own or another's
	hints   int            // that were followed since the last message

	failures polling // how long to wait after attempts without an answer
}

const (
	fallbackMin = 2 * time.Second // between attempts without a message
	fallbackMax = 3 * time.Second

	fallbackBehind = 3 // times as long for who is not the first in line, and is woken when the first goes
	lapseJitter    = 5 * time.Millisecond

	settleMin  = time.Millisecond     // after a message of a lock in several servers
	settleStep = 4 * time.Millisecond // more at random for every time that it was in vain
	hintsMost  = 9                    // of the doublings of settleStep after hints
)

func newSignals(bg *background, servers ...redis.UniversalClient) *signals {
	s := &signals{bg: bg, lines: map[string]*line{}}
	for _, rdb := range servers {
		s.subs = append(s.subs, &subscription{s: s, rdb: rdb, state: map[string]lineState{}, changed: make(chan struct{}, 1)})
	}
	return s
}

func (s *signals) newTurn(name string) turn { return &place{s: s, name: name} }

func (p *place) crowded() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if len(p.s.lines) == 0 {
		return false
	}
	l := p.s.lines[channelOf(p.name)]
	return l != nil && len(l.queue) > 0 && !l.mute // or else who comes has to find out that nobody answers
}

func (p *place) got(lapses time.Time) { p.won = lapses }

// next waits for a message, the holder's expiry or the fallback. Between the attempt that failed and the subscription
// a release may have gone unheard: so the first in line tries again as soon as the subscription is confirmed.
func (p *place) next(ctx context.Context, freeIn time.Duration) error {
	if p.line == nil && p.join() {
		return nil
	}
	if freeIn != 0 {
		p.heard(true)
	}
	return p.listen(ctx, freeIn)
}

// heard notes whether an attempt was answered.
func (p *place) heard(answer bool) {
	p.s.mu.Lock()
	p.line.mute = !answer
	p.s.mu.Unlock()
}

// listen is next in line.
func (p *place) listen(ctx context.Context, freeIn time.Duration) error {
	patience, began := p.patience(freeIn), time.Now()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	hint := p.hint
	for {
		select {
		case <-p.wake:
			p.hints = 0
			return p.settle(ctx)
		case <-hint:
			hint = nil
			p.hints = min(p.hints+1, hintsMost)
			timer.Reset(min(rand.N(settleStep<<p.hints), patience-time.Since(began)))
		case lapses := <-p.ahead:
			patience, began = p.patience(max(time.Until(lapses), time.Nanosecond)), time.Now()
			timer.Reset(patience)
		case <-timer.C:
			return nil
		case <-p.s.bg.open.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// again is next after an attempt without an answer, which no message will follow. The first in line finds out for all,
// so that a server in trouble is not asked by everybody.
func (p *place) again(ctx context.Context) error {
	if p.line == nil {
		p.join()
	}
	p.heard(false)
	if !p.isFirst() {
		return p.listen(ctx, 0)
	}
	return p.listen(ctx, p.failures.pause())
}

func (p *place) isFirst() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.line.queue[0] == p
}

// settle lets the moment pass that a lock in several servers needs.
func (p *place) settle(ctx context.Context) error {
	if len(p.s.subs) == 1 {
		return nil
	}
	p.moments++
	err := pause(ctx, p.s.bg.open.Done(), settleMin+rand.N(min(time.Duration(p.moments)*settleStep, pollMax)))
	select {
	case <-p.wake: // another server's message of the same release
	default:
	}
	return err
}

// patience is how long to wait for a message.
func (p *place) patience(freeIn time.Duration) time.Duration {
	d := fallbackMin + rand.N(fallbackMax-fallbackMin)
	if !p.isFirst() {
		d *= fallbackBehind
	}
	if freeIn > 0 {
		d = min(d, freeIn+time.Millisecond+rand.N(lapseJitter))
	}
	return d
}

// join takes a place in line. True: a first attempt is due now, as the line is listened to and nobody stands before.
func (p *place) join() bool {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	p.wake, p.hint, p.ahead = make(chan struct{}, 1), make(chan struct{}, 1), make(chan time.Time, 1)
	p.channel = channelOf(p.name)
	p.line = s.lines[p.channel]
	if p.line == nil {
		p.line = &line{}
		s.lines[p.channel] = p.line
	}
	p.line.queue = append(p.line.queue, p)
	listened := false
	for _, sub := range s.subs {
		sub.start(p.channel)
		listened = listened || sub.state[p.channel] == confirmed
	}
	return listened && len(p.line.queue) == 1
}

// leave gives the place up. Who goes without the lock may have taken a message with him: so the next one tries.
func (p *place) leave() {
	if p.line == nil {
		return
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	first := p.line.queue[0] == p
	for i, other := range p.line.queue {
		if other == p {
			p.line.queue = append(p.line.queue[:i], p.line.queue[i+1:]...)
			break
		}
	}
	if !p.won.IsZero() {
		p.line.mute = false
	}
	switch {
	case len(p.line.queue) == 0:
		p.line.empty = time.Now()
	case first && p.won.IsZero():
		p.line.wakeFirst()
	case first:
		p.line.queue[0].ahead <- p.won // there is room: nobody becomes the first twice
	}
}

// prune takes lines away in which nobody stands and which no server sends messages for. The caller holds mu.
func (s *signals) prune() {
	for channel, l := range s.lines {
		if len(l.queue) == 0 && !slices.ContainsFunc(s.subs, func(sub *subscription) bool { return sub.state[channel] != wanted }) {
			delete(s.lines, channel)
		}
	}
}

func (l *line) wakeFirst() {
	if len(l.queue) > 0 {
		poke(l.queue[0].wake)
	}
}

func (l *line) hintFirst() {
	if len(l.queue) > 0 {
		poke(l.queue[0].hint)
	}
}

// poke leaves a message, unless one lies there that was not used yet.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package lock

import (
	"context"
	"slices"
	"sync"
	"time"
)

// debt is a key that we may own without wanting to: the acquire was abandoned, or an answer was lost.
type debt struct {
	claim
	trail *trail        // of the acquire on this server
	until time.Time     // afterwards the key has lapsed, as far as it was not a copy on trail that made it
	due   time.Time     // when to ask next; zero: at once
	wait  time.Duration // before the time after that
}

// owed is a lease's key that nobody could be asked to delete. The last renewal may have arrived just now, and one may
// still be on its way that finds the key before it lapses and gives it another TTL.
func (c claim) owed() debt { return debt{claim: c, until: time.Now().Add(2 * c.ttl)} }

// claimID is what a debt is about: the same claim is owed once only.
type claimID struct{ key, token string }

// sweeper compares and deletes behind callers that have gone. It has one goroutine, as long as there are debts.
type sweeper struct {
	bg   *background
	node *node

	mu      sync.Mutex
	debts   map[claimID]debt
	running bool
	more    chan struct{}
}

const (
	sweepFirst    = 10 * time.Millisecond // between the first two attempts for one debt
	sweepCeil     = 2 * time.Second       // between later ones: a slow server must not be asked to death
	sweepPatience = time.Second           // with one round
)

func newSweeper(bg *background, n *node) *sweeper {
	return &sweeper{bg: bg, node: n, debts: map[claimID]debt{}, more: make(chan struct{}, 1)}
}

func (s *sweeper) add(d debt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owe(d)
	if !s.running {
		s.running = true
		s.bg.run(s.loop)
		return
	}
	poke(s.more)
}

func (s *sweeper) owe(d debt) {
	id := claimID{d.key, d.token}
	if old, ok := s.debts[id]; ok {
		d.wait, d.attempt = min(d.wait, old.wait), d.attempt && old.attempt
		if old.until.After(d.until) {
			d.until = old.until
		}
		if old.due.Before(d.due) {
			d.due = old.due
		}
	}
	s.debts[id] = d
}

// drop takes back a debt that turned out to be none.
func (s *sweeper) drop(c claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := claimID{c.key, c.token}
	if _, ok := s.debts[id]; ok {
		delete(s.debts, id)
		poke(s.more)
	}
}

// loop asks for every debt at once and then ever more rarely, until nothing is owed.
func (s *sweeper) loop() {
	for {
		next, more := s.round()
		if !more {
			return
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-s.more:
		case <-s.bg.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// round pays what is due and can be paid, and reports when the next is due and whether there is one.
func (s *sweeper) round() (next time.Time, more bool) {
	var left []debt
	for batch := range slices.Chunk(s.takeDue(time.Now()), batchMost) {
		left = append(left, s.pay(batch)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range left {
		d.wait = min(max(2*d.wait, sweepFirst), sweepCeil)
		d.due = time.Now().Add(d.wait)
		s.owe(d)
	}
	for _, d := range s.debts {
		if next.IsZero() || d.due.Before(next) {
			next = d.due
		}
	}
	s.running = len(s.debts) > 0
	return next, s.running
}

func (s *sweeper) takeDue(now time.Time) (due []debt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, d := range s.debts {
		if !d.due.After(now) {
			due = append(due, d)
			delete(s.debts, id)
		}
	}
	return due
}

// pay sends one batch and returns what is still owed.
func (s *sweeper) pay(batch []debt) []debt {
	answers := make(chan []verdict, 1)
	s.bg.run(func() {
		claims := make([]claim, len(batch))
		for i, d := range batch {
			claims[i] = d.claim
		}
		answers <- s.node.unlockAll(s.bg.ctx, claims)
	})
	verdicts := make([]verdict, len(batch))
	ctx, cancel := context.WithTimeout(s.bg.ctx, sweepPatience)
	defer cancel()
	select {
	case verdicts = <-answers:
	case <-ctx.Done():
	}
	var left []debt
	for i, d := range batch {
		if !d.paid(verdicts[i]) {
			left = append(left, d)
		}
	}
	return left
}

// paid says whether v, the answer to a compare-and-delete, ends the debt. A copy of the acquire that ends meanwhile, or
// later, owes anew.
func (d debt) paid(v verdict) bool {
	if d.trail.settled(v) {
		return true
	}
	now := time.Now()
	return now.After(d.until) && now.After(d.trail.until(d.ttl))
}

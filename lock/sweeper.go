package lock

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// debt is a key that we may own without wanting to: the acquire was abandoned, or its answer was lost.
type debt struct {
	claim
	until time.Time // afterwards the key has lapsed, or can't come any more
	// copies of the acquire may still arrive, so many; 0: the key is there or gone already.
	copies int
}

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
	sweepFirst    = 10 * time.Millisecond // between the first rounds
	sweepCeil     = 500 * time.Millisecond
	sweepPatience = time.Second // with one round
	sweepBatch    = 256
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
	select {
	case s.more <- struct{}{}:
	default:
	}
}

func (s *sweeper) owe(d debt) {
	id := claimID{d.key, d.token}
	if old, ok := s.debts[id]; ok {
		d.copies = max(d.copies, old.copies)
		if old.until.After(d.until) {
			d.until = old.until
		}
	}
	s.debts[id] = d
}

// loop makes rounds, at once after a new debt, else ever slower, until nothing is owed.
func (s *sweeper) loop() {
	wait := sweepFirst
	for s.round() {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			wait = min(2*wait, sweepCeil)
		case <-s.more:
			wait = sweepFirst
		case <-s.bg.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// round pays what can be paid and reports whether something is left.
func (s *sweeper) round() bool {
	s.mu.Lock()
	debts := slices.Collect(maps.Values(s.debts))
	clear(s.debts)
	s.mu.Unlock()
	var left []debt
	for batch := range slices.Chunk(debts, sweepBatch) {
		left = append(left, s.pay(batch)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range left {
		s.owe(d)
	}
	s.running = len(s.debts) > 0
	return s.running
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

// paid says whether v, the answer to a compare-and-delete, ends the debt.
func (d debt) paid(v verdict) bool {
	switch {
	case v != unknown && d.copies == 0:
		return true
	case v == kept && d.copies == 1: // the only copy has come, and its key is gone
		return true
	}
	return time.Now().After(d.until)
}

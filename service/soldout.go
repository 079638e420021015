package service

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// soldOutFor bounds how long one answer of the gate is repeated.
const soldOutFor = time.Second

// soldOutVouchers bounds the memory; beyond it, it starts anew.
const soldOutVouchers = 1024

// SoldOut is this process's memory of which vouchers are sold out, so that most requests of a sale need no Redis.
//
// It can't outlive a return of stock: the script that gives a unit back announces it, and the announcement clears the
// memory. It does not trust that alone: without a live subscription nothing is remembered, and every answer lasts a
// second at most. The zero value is ready and remembers nothing until Watch runs. Safe for concurrent use.
type SoldOut struct {
	// Now is the clock. Default time.Now.
	Now func() time.Time

	up atomic.Bool // the subscription is alive
	mu sync.RWMutex
	// returns grows with every announcement, and when the subscription comes or goes. An answer that was asked
	// for before it grew may be older than the return and is not remembered.
	returns int64
	until   map[ID]time.Time
}

// Watch keeps the memory honest until ctx ends, and returns ctx's error.
func (s *SoldOut) Watch(ctx context.Context, keeper GateKeeper) error {
	defer s.state(false)
	return keeper.WatchReturns(ctx, s.state, s.returned)
}

// Holds tells whether the voucher is known to be sold out.
func (s *SoldOut) Holds(voucher ID) bool {
	if !s.up.Load() {
		return false
	}
	s.mu.RLock()
	until, ok := s.until[voucher]
	s.mu.RUnlock()
	return ok && s.now().Before(until)
}

// mark is taken before the gate is asked, and goes with its answer to Remember.
func (s *SoldOut) mark() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.returns
}

// remember keeps the answer "sold out" to a question that was asked after mark.
func (s *SoldOut) remember(voucher ID, mark int64) {
	if !s.up.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returns != mark {
		return
	}
	if s.until == nil || len(s.until) >= soldOutVouchers {
		s.until = map[ID]time.Time{}
	}
	s.until[voucher] = s.now().Add(soldOutFor)
}

func (s *SoldOut) returned(voucher ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returns++
	delete(s.until, voucher)
}

func (s *SoldOut) state(up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returns++
	s.until = nil
	s.up.Store(up)
}

func (s *SoldOut) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

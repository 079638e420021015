package service

import (
	"context"
	"maps"
	"slices"
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
// second at most. With it goes who has an order, because those are told so instead; while nothing is left nobody can
// join them. The zero value is ready and remembers nothing until Watch runs. Safe for concurrent use.
type SoldOut struct {
	// Now is the clock. Default time.Now.
	Now func() time.Time

	keeper atomic.Pointer[GateKeeper] // set while the subscription is alive
	mu     sync.RWMutex
	// returns grows with every announcement, and when the subscription comes or goes. An answer that was asked
	// for before it grew may be older than the return and is not remembered.
	returns int64
	sold    map[ID]*soldOut
	loading map[ID]bool
}

// soldOut is what is known of a voucher since the last return of its stock.
type soldOut struct {
	until  time.Time // the gate said so less than soldOutFor ago
	buyers []int64   // users with an order, in order
}

// Watch keeps the memory honest until ctx ends, and returns ctx's error.
func (s *SoldOut) Watch(ctx context.Context, keeper GateKeeper) error {
	defer s.state(nil)
	return keeper.WatchReturns(ctx, func(up bool) {
		if up {
			s.state(&keeper)
		} else {
			s.state(nil)
		}
	}, s.returned)
}

// Answer is what the user hears while the voucher is known to be sold out: ErrSoldOut or ErrAlreadyOrdered. Nil: ask
// the gate.
func (s *SoldOut) Answer(voucher ID, user int64) error {
	if s.keeper.Load() == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	known := s.sold[voucher]
	if known == nil || !s.now().Before(known.until) {
		return nil
	}
	if _, has := slices.BinarySearch(known.buyers, user); has {
		return ErrAlreadyOrdered
	}
	return ErrSoldOut
}

// mark is taken before the gate is asked, and goes with its answer to remember.
func (s *SoldOut) mark() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.returns
}

// remember keeps the answer "sold out" to a question that was asked after mark. The first time after a return it reads
// who has an order; until that is done, other requests go on asking the gate.
func (s *SoldOut) remember(ctx context.Context, voucher ID, mark int64) {
	keeper := s.keeper.Load()
	if keeper == nil || !s.begin(voucher, mark) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), admitWithin)
	defer cancel()
	holders, err := (*keeper).Holders(ctx, voucher)
	buyers := slices.Sorted(maps.Keys(holders))
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.loading, voucher)
	if err != nil || s.returns != mark {
		return // the next one who hears "sold out" tries again
	}
	if s.sold == nil || len(s.sold) >= soldOutVouchers {
		s.sold = map[ID]*soldOut{}
	}
	s.sold[voucher] = &soldOut{until: s.now().Add(soldOutFor), buyers: buyers}
}

// begin renews what is known already, and otherwise tells whether the caller shall read it.
func (s *SoldOut) begin(voucher ID, mark int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.sold[voucher]; known != nil {
		if s.returns == mark {
			known.until = s.now().Add(soldOutFor)
		}
		return false
	}
	if s.returns != mark || s.loading[voucher] {
		return false
	}
	if s.loading == nil {
		s.loading = map[ID]bool{}
	}
	s.loading[voucher] = true
	return true
}

func (s *SoldOut) returned(voucher ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returns++
	delete(s.sold, voucher)
}

func (s *SoldOut) state(keeper *GateKeeper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returns++
	s.sold = nil
	s.keeper.Store(keeper)
}

func (s *SoldOut) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

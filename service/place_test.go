package service_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

// S-01, S-06: the buyer after the last unit is refused, at every stage, and nothing is lost on the way.
func TestPlace_OneAfterTheOther(t *testing.T) {
	eachStage(t, onSQLite(), func(t *testing.T, s *shop, st service.Stage) {
		p, v := s.open(st), s.voucher(5)
		for user := range int64(5) {
			require.NoError(t, p.buy(v, user+1))
		}
		require.ErrorIs(t, p.buy(v, 6), service.ErrSoldOut)
		require.ErrorIs(t, p.buy(v, 5), service.ErrAlreadyOrdered, "who has one is told that, not that all are gone")
		require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, Orders: 5, Users: 5}, s.audit(v))
	})
}

// S-01: six buyers at once for five units, at every stage that claims ok with two processes.
func TestPlace_StockPlusOneAtOnce(t *testing.T) {
	var safe []service.Stage
	for _, st := range onSQLite() {
		if c := st.Claims.For(service.SQLite, "multi"); len(c.Must)+len(c.May) == 0 {
			st.Wait = min(st.Wait, 1) * time.Minute
			safe = append(safe, st)
		}
	}
	require.NotEmpty(t, safe)
	eachStage(t, safe, func(t *testing.T, s *shop, st service.Stage) {
		v := s.voucher(5)
		processes := []*process{s.open(st), s.open(st)}
		for _, p := range processes {
			p.Work = time.Millisecond
		}
		errs := make([]error, 6)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = processes[i%2].buy(v, int64(i+1)) })
		}
		all.Wait()
		require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, Orders: 5, Users: 5}, s.audit(v), "%v", errs)
		require.ErrorIs(t, errors.Join(errs...), service.ErrSoldOut)
	})
}

// S-08, S-12 and their kin: two buyers stand between their reads and their writes at the same time, and one unit is
// sold twice. That they can both stand there is the mistake.
func TestPlace_BrokenStagesOversell(t *testing.T) {
	for name, processes := range map[string]int{"none": 1, "mutex-early": 1, "wrong-key": 1, "mutex": 2} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			v, ps := s.voucher(1), make([]*process, processes)
			for i := range ps {
				ps[i] = s.open(stageOf(t, name))
			}
			meet(service.HoldCritical, 2, ps...)
			first, second := ps[0].start(v, 1), ps[processes-1].start(v, 2)
			require.NoError(t, <-first)
			require.NoError(t, <-second)
			// The column shows 0, not -1: only the orders show the oversell.
			require.Equal(t, service.Audit{VoucherID: v, InitialStock: 1, Orders: 2, Users: 2, Oversold: 1, Drift: -1}, s.audit(v))
		})
	}
}

// The counterpart: while one buyer stands there, another one does not get in, here or in another process.
func TestPlace_LocksKeepTheSecondOut(t *testing.T) {
	type way struct {
		stage     string
		processes int
	}
	ways := []way{{"mutex", 1}}
	for _, st := range onSQLite() {
		if c := st.Claims.For(service.SQLite, "multi"); st.Lock != "none" && st.LockKey == service.KeyVoucher && len(c.Must)+len(c.May) == 0 {
			ways = append(ways, way{st.Name, 2})
		}
	}
	for _, w := range ways {
		t.Run(w.stage, func(t *testing.T) {
			s := newShop(t)
			v := s.voucher(1)
			st := stageOf(t, w.stage, func(st *service.Stage) { st.Wait = time.Minute })
			first := s.open(st)
			second := first
			if w.processes == 2 {
				second = s.open(st)
			}
			reached, resume := first.holdFirst(service.HoldCritical)
			a := first.start(v, 1)
			<-reached
			b := second.start(v, 2)
			select {
			case err := <-b:
				t.Fatalf("the second buyer was answered while the first was inside: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
			resume()
			require.NoError(t, <-a)
			require.ErrorIs(t, <-b, service.ErrSoldOut)
			require.Equal(t, service.Audit{VoucherID: v, InitialStock: 1, Orders: 1, Users: 1}, s.audit(v))
		})
	}
}

// S-14: two clicks of one user.
func TestPlace_TwoClicks(t *testing.T) {
	t.Run("mutex-user in two processes sells twice", func(t *testing.T) {
		s := newShop(t)
		v, a, b := s.voucher(5), s.open(stageOf(t, "mutex-user")), s.open(stageOf(t, "mutex-user"))
		meet(service.HoldCritical, 2, a, b)
		first, second := a.start(v, 1), b.start(v, 1)
		require.NoError(t, <-first)
		require.NoError(t, <-second)
		require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, StockLeft: 3, Orders: 2, Users: 1, Duplicates: 1}, s.audit(v))
	})
	t.Run("user-lock turns the second away", func(t *testing.T) {
		s := newShop(t)
		v, a, b := s.voucher(5), s.open(stageOf(t, "user-lock")), s.open(stageOf(t, "user-lock"))
		reached, resume := a.holdFirst(service.HoldCritical)
		first := a.start(v, 1)
		<-reached
		require.ErrorIs(t, b.buy(v, 1), service.ErrOrderInProgress)
		require.NoError(t, b.buy(v, 2), "another user does not wait")
		resume()
		require.NoError(t, <-first)
		require.ErrorIs(t, b.buy(v, 1), service.ErrAlreadyOrdered)
		require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, StockLeft: 3, Orders: 2, Users: 2}, s.audit(v))
	})
	for _, name := range []string{"conditional", "cas-retry"} {
		t.Run(name+" lets the unique index decide", func(t *testing.T) {
			s := newShop(t)
			v, p := s.voucher(5), s.open(stageOf(t, name))
			meet(service.HoldCritical, 2, p)
			first, second := p.start(v, 1), p.start(v, 1)
			errs := []error{<-first, <-second}
			require.Contains(t, errs, error(nil))
			require.ErrorIs(t, errors.Join(errs...), service.ErrAlreadyOrdered)
			require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, StockLeft: 4, Orders: 1, Users: 1}, s.audit(v))
		})
	}
}

// S-18: one attempt and no wait turns buyers away while there is stock.
func TestPlace_OneTryUndersells(t *testing.T) {
	s := newShop(t)
	v, p := s.voucher(5), s.open(stageOf(t, "lua-once"))
	reached, resume := p.holdFirst(service.HoldCritical)
	first := p.start(v, 1)
	<-reached
	for user := range int64(5) {
		require.ErrorIs(t, p.buy(v, user+2), service.ErrBusy)
	}
	resume()
	require.NoError(t, <-first)
	require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, StockLeft: 4, Orders: 1, Users: 1}, s.audit(v))
}

// S-24: all read one version, so one of them writes.
func TestPlace_CASWithoutRetryUndersells(t *testing.T) {
	s := newShop(t)
	v, p := s.voucher(20), s.open(stageOf(t, "cas"))
	meet(service.HoldCritical, 20, p)
	var answers []<-chan error
	for user := range int64(20) {
		answers = append(answers, p.start(v, user+1))
	}
	sold := 0
	for _, answer := range answers {
		if err := <-answer; err == nil {
			sold++
		} else {
			require.ErrorIs(t, err, service.ErrGaveUp)
		}
	}
	require.Equal(t, 1, sold)
	require.Equal(t, service.Audit{VoucherID: v, InitialStock: 20, StockLeft: 19, Orders: 1, Users: 1}, s.audit(v))
}

// The same start with retries sells all: who loses reads again.
func TestPlace_CASWithRetrySells(t *testing.T) {
	s := newShop(t)
	v, p := s.voucher(8), s.open(stageOf(t, "cas-retry"))
	meet(service.HoldCritical, 8, p)
	var answers []<-chan error
	for user := range int64(8) {
		answers = append(answers, p.start(v, user+1))
	}
	for _, answer := range answers {
		require.NoError(t, <-answer)
	}
	require.Equal(t, service.Audit{VoucherID: v, InitialStock: 8, Orders: 8, Users: 8}, s.audit(v))
}

// The last unit went while this buyer worked: that is sold out, not a conflict to give up on.
func TestPlace_CASConflictOnTheLastUnit(t *testing.T) {
	s := newShop(t)
	v, p := s.voucher(1), s.open(stageOf(t, "cas"))
	reached, resume := p.holdFirst(service.HoldCritical)
	first := p.start(v, 1)
	<-reached
	require.NoError(t, p.buy(v, 2))
	resume()
	require.ErrorIs(t, <-first, service.ErrSoldOut)
}

// A method that calls a method: only a lock that knows its own holder lets the inner one in.
func TestPlace_Nested(t *testing.T) {
	for _, st := range onSQLite() {
		if st.Lock == "hash" || st.Lock == "incr" {
			continue // no lock to wait for: what happens depends on the moment
		}
		t.Run(st.Name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			st.Wait = min(st.Wait, 500*time.Millisecond)
			v, p := s.voucher(5), s.open(st)
			p.Nested = true
			err := p.buy(v, 1)
			if len(st.Claims.For(service.SQLite, "nested").Must) == 0 || st.Lock == "none" {
				require.NoError(t, err)
				require.Equal(t, 1, s.audit(v).Orders)
				require.ErrorIs(t, p.buy(v, 1), service.ErrAlreadyOrdered)
				return
			}
			if st.LockKey == service.KeyUser {
				require.ErrorIs(t, err, service.ErrOrderInProgress)
			} else {
				require.ErrorIs(t, err, service.ErrBusy)
			}
			require.Equal(t, 0, s.audit(v).Orders)
			p.Nested = false
			require.NoError(t, p.buy(v, 1), "the outer lock was given back")
		})
	}
}

// A client that leaves ends its waiting. Once the lock is had, the order is carried through.
func TestPlace_ClientLeaves(t *testing.T) {
	for _, name := range []string{"mutex", "lua", "watchdog", "conditional"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			v, p := s.voucher(5), s.open(stageOf(t, name))
			ctx, leave := context.WithCancel(context.Background())
			p.holds.On(service.HoldCritical, 0, 1, leave)
			o, err := p.Place(ctx, p.stage, v, 1)
			require.NoError(t, err)
			require.Equal(t, service.Created, o.Status)
			require.Equal(t, 1, s.audit(v).Orders)
			require.NoError(t, p.buy(v, 2), "and its lock was given back")
		})
	}
	for _, name := range []string{"mutex", "mutex-user", "lua", "watchdog"} {
		t.Run(name+" waiting", func(t *testing.T) {
			s := newShop(t)
			v, p := s.voucher(5), s.open(stageOf(t, name, func(st *service.Stage) { st.Wait = -1 }))
			reached, resume := p.holdFirst(service.HoldCritical)
			first := p.start(v, 1)
			<-reached
			ctx, leave := context.WithCancel(context.Background())
			second := make(chan error, 1)
			go func() {
				_, err := p.Place(ctx, p.stage, v, 1)
				second <- err
			}()
			leave()
			err := <-second
			require.ErrorIs(t, err, service.ErrBusy)
			require.NotErrorIs(t, err, service.ErrOrderInProgress, "it says nothing of an order: the client has gone")
			resume()
			require.NoError(t, <-first)
			require.Equal(t, 1, s.audit(v).Orders)
		})
	}
}

package service_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/service"
)

// A lease that is lost in the middle of the work stops the order of a stage that heeds it.
func TestPlace_LostLeaseWritesNothing(t *testing.T) {
	for _, name := range []string{"watchdog", "redislock", "redlock", "fenced"} {
		for _, point := range []string{service.HoldCritical, "work"} {
			t.Run(name+" at "+point, func(t *testing.T) {
				t.Parallel() // each waits for a renewal
				s := newShop(t)
				v, p := s.voucher(5), s.open(stageOf(t, name, func(st *service.Stage) { st.TTL = 2 * time.Second }))
				if point == "work" {
					p.Work = time.Hour // only the lost lease ends it
					go func() {
						for len(s.mr.Keys()) == 0 {
							time.Sleep(time.Millisecond)
						}
						s.mr.FlushAll()
					}()
				} else {
					p.holds.On(point, 0, 1, func() { s.mr.FlushAll(); <-p.lost })
				}
				require.ErrorIs(t, p.buy(v, 1), service.ErrLockLost)
				require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, StockLeft: 5}, s.audit(v))
				p.Work = 0
				require.NoError(t, p.buy(v, 1), "the next try is a new order")
			})
		}
	}
}

// The fence alone, with nobody heeding the lease: a paused holder's late write is refused. Without it both sell.
func TestPlace_FenceRefusesTheLateWrite(t *testing.T) {
	for name, refused := range map[string]bool{"fenced": true, "watchdog": false} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			st := stageOf(t, name, func(st *service.Stage) { st.OnLoss = service.LossIgnore })
			v, a, b := s.voucher(1), s.open(st), s.open(st)
			reached, resume := a.holdFirst(service.HoldCritical)
			late := a.start(v, 1)
			<-reached
			s.mr.FlushAll() // the paused holder's lock is gone
			require.NoError(t, b.buy(v, 2))
			resume()
			if err := <-late; refused {
				require.ErrorIs(t, err, service.ErrLockLost)
				require.Equal(t, service.Audit{VoucherID: v, InitialStock: 1, Orders: 1, Users: 1}, s.audit(v))
			} else {
				require.NoError(t, err)
				require.Equal(t, 1, s.audit(v).Oversold)
			}
		})
	}
}

// A holder that comes to the row after a later one has claimed it does not even read.
func TestPlace_FenceIsClaimedBeforeTheRead(t *testing.T) {
	s := newShop(t)
	st := stageOf(t, "fenced", func(st *service.Stage) { st.OnLoss = service.LossIgnore })
	v, b := s.voucher(1), s.open(st)
	var once sync.Once
	a := s.open(st, func(o *lock.Options) {
		o.Observer.Acquired = func(lock.Event) {
			once.Do(func() {
				s.mr.FlushAll()
				require.NoError(t, b.buy(v, 2))
			})
		}
	})
	require.ErrorIs(t, a.buy(v, 1), service.ErrLockLost)
	require.Equal(t, service.Audit{VoucherID: v, InitialStock: 1, Orders: 1, Users: 1}, s.audit(v))
}

// A release that fails after COMMIT does not unmake the order.
func TestPlace_ReleaseFailsAfterCommit(t *testing.T) {
	for _, name := range []string{"setnx", "expire", "token", "lua", "reentrant", "watchdog", "fenced"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the release asks until its lease has run out
			s := newShop(t)
			v, p := s.voucher(5), s.open(stageOf(t, name, func(st *service.Stage) { st.TTL = 2 * time.Second }))
			p.holds.On(service.HoldCommit, 0, 1, s.mr.Close)
			require.NoError(t, p.buy(v, 1))
			require.Equal(t, 1, s.audit(v).Orders)
		})
	}
}

// Redis is down: an error of its own, and never an order.
func TestPlace_RedisDown(t *testing.T) {
	s := newShop(t)
	v, p := s.voucher(5), s.open(stageOf(t, "watchdog", func(st *service.Stage) { st.Wait, st.TTL = time.Minute, 200*time.Millisecond }))
	s.mr.Close()
	err := p.buy(v, 1)
	require.Error(t, err)
	require.NotErrorIs(t, err, service.ErrBusy)
	require.Equal(t, 0, s.audit(v).Orders)
}

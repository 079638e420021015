package service_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

// S-57: pay and cancel at the same moment have one winner; the late one hears invalid_state.
func TestLife_PayAndCancelRace(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(100)
		paid := 0
		for user := range int64(20) {
			o, err := c.buy(service.PathGate, v, user+1)
			require.NoError(t, err)
			var wg sync.WaitGroup
			var payErr, cancelErr error
			wg.Go(func() { _, payErr = c.life.Pay(t.Context(), o.ID, user+1) })
			wg.Go(func() { _, cancelErr = c.life.Cancel(t.Context(), o.ID, user+1) })
			wg.Wait()
			if payErr == nil {
				require.ErrorIs(t, cancelErr, service.ErrInvalidState)
				require.Equal(t, service.Paid, s.status(o.ID))
				paid++
			} else {
				require.NoError(t, cancelErr)
				require.ErrorIs(t, payErr, service.ErrInvalidState)
				require.Equal(t, service.Cancelled, s.status(o.ID))
			}
		}
		s.settled(v, paid)
		require.Equal(t, 100-paid, s.counters(v).Stock)
	})
}

func TestLife_OnlyTheOwner(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		v := c.voucher(1)
		o, err := c.buy(path, v, 1)
		require.NoError(t, err)
		_, err = c.life.Pay(t.Context(), o.ID, 2)
		require.ErrorIs(t, err, service.ErrForbidden)
		_, err = c.life.Cancel(t.Context(), o.ID, 2)
		require.ErrorIs(t, err, service.ErrForbidden)
		_, err = c.life.Pay(t.Context(), 12345, 1)
		require.ErrorIs(t, err, service.ErrNotFound)
		if path == service.PathStream {
			_, err = c.life.Pay(t.Context(), o.ID, 1)
			require.ErrorIs(t, err, service.ErrInvalidState, "not written yet")
		}
		c.work(nil)
		c.settled(v, 1)
	})
}

// A cancelled unit goes back once in both stores, another user can have it, and the same user may order again.
func TestLife_CancelGivesBackOnce(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		v := c.voucher(1)
		for range 3 {
			o, err := c.buy(path, v, 1)
			require.NoError(t, err)
			_, err = c.buy(path, v, 2)
			require.ErrorIs(t, err, service.ErrSoldOut)
			_, err = c.life.Cancel(t.Context(), o.ID, 1) // on the stream path it is still pending
			require.NoError(t, err)
			_, err = c.life.Cancel(t.Context(), o.ID, 1)
			require.ErrorIs(t, err, service.ErrInvalidState)
			require.Equal(t, 1, c.counters(v).Stock)
		}
		stop := c.work(nil)
		c.settled(v, 0)
		_, err := c.buy(path, v, 2)
		require.NoError(t, err)
		c.settled(v, 1)
		stop()
	})
}

// A pending order is cancelled while workers write it: whoever inserts its row decides, and the books agree.
func TestLife_CancelRacesTheWorker(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(200)
		c.work(nil, func(o *service.WorkerOptions) { o.Batch = 5 })
		var wg sync.WaitGroup
		for user := range int64(60) {
			wg.Go(func() {
				o, err := c.buy(service.PathStream, v, user+1)
				require.NoError(t, err)
				_, err = c.life.Cancel(t.Context(), o.ID, user+1)
				require.NoError(t, err)
			})
		}
		wg.Wait()
		s.settled(v, 0)
		require.Equal(t, 200, s.counters(v).Stock)
	})
}

// S-55: unpaid orders go back, once, in both stores; a payment that comes later is too late.
func TestLife_PaymentTimeOut(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		v := c.voucher(3)
		stop := c.work(nil)
		var ids []service.ID
		for user := range int64(3) {
			o, err := c.buy(path, v, user+1)
			require.NoError(t, err)
			ids = append(ids, o.ID)
		}
		c.settled(v, 3)
		stop()
		_, err := c.life.Pay(t.Context(), ids[0], 1)
		require.NoError(t, err)
		n, err := c.life.CancelUnpaid(t.Context(), time.Now().Add(-time.Minute), 10)
		require.NoError(t, err)
		require.Zero(t, n, "they are young")
		var wg sync.WaitGroup
		total := make(chan int, 4)
		for range 4 {
			wg.Go(func() {
				n, err := c.life.CancelUnpaid(t.Context(), time.Now().Add(time.Minute), 10)
				require.NoError(t, err)
				total <- n
			})
		}
		wg.Wait()
		close(total)
		sum := 0
		for n := range total {
			sum += n
		}
		require.Equal(t, 2, sum)
		c.settled(v, 1)
		require.Equal(t, 2, c.counters(v).Stock)
		_, err = c.life.Pay(t.Context(), ids[1], 2)
		require.ErrorIs(t, err, service.ErrInvalidState)
		_, err = c.buy(path, v, 2)
		require.NoError(t, err, "the user may order again")
		c.work(nil)
		c.settled(v, 2)
	})
}

// A crash between the steps of a cancellation leaves a due return; the sweep finishes it, and finds nothing the next time.
func TestReturns_SweepFinishesWhatACrashLeft(t *testing.T) {
	for _, point := range []string{service.HoldCancelCommitted, service.HoldCancelReturned} {
		t.Run(point, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *sale) {
				c, v := s.process(), s.voucher(1)
				o, err := c.buy(service.PathGate, v, 1)
				require.NoError(t, err)
				c.holds.On(point, 0, 1, func() { panic("crash") })
				require.Panics(t, func() { _, _ = c.life.Cancel(t.Context(), o.ID, 1) })
				n, err := c.returns.BackDue(t.Context(), time.Now().Add(-time.Hour), 10)
				require.NoError(t, err)
				require.Zero(t, n)
				n, err = c.returns.BackDue(t.Context(), time.Now().Add(time.Hour), 10)
				require.NoError(t, err)
				require.Equal(t, 1, n)
				s.settled(v, 0)
				require.Equal(t, 1, s.counters(v).Stock)
				n, err = c.returns.BackDue(t.Context(), time.Now().Add(time.Hour), 10)
				require.NoError(t, err)
				require.Zero(t, n)
			})
		})
	}
}

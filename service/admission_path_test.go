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

func eachPath(t *testing.T, test func(t *testing.T, c *counter, path string)) {
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *sale) { test(t, s.process(), path) })
		})
	}
}

// S-01, S-06: stock 5 and 6 buyers; both counters agree afterwards.
func TestAdmission_SellsExactlyTheStock(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		v := c.voucher(5)
		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[error]int{}
		for user := range int64(6) {
			wg.Go(func() {
				o, err := c.buy(path, v, user+1)
				if err == nil {
					require.Contains(t, []service.Status{service.Created, service.Pending}, o.Status)
				}
				mu.Lock()
				defer mu.Unlock()
				answers[err]++
			})
		}
		wg.Wait()
		require.Equal(t, map[error]int{nil: 5, service.ErrSoldOut: 1}, answers)
		c.work(nil)
		c.settled(v, 5)
		require.Zero(t, c.counters(v).Stock)
	})
}

// S-26: one user clicks many times at once: one unit, and nobody hears "sold out" while stock is left.
func TestAdmission_OneUserOneUnit(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		v := c.voucher(2)
		var wg sync.WaitGroup
		errs := make(chan error, 20)
		for range 20 {
			wg.Go(func() { _, err := c.buy(path, v, 7); errs <- err })
		}
		wg.Wait()
		close(errs)
		placed := 0
		for err := range errs {
			if err == nil {
				placed++
			} else {
				require.ErrorIs(t, err, service.ErrAlreadyOrdered)
			}
		}
		require.Equal(t, 1, placed)
		require.Equal(t, 1, c.counters(v).Stock)
		c.work(nil)
		c.settled(v, 1)
	})
}

// S-27, S-60: the window is judged by Redis's clock, before any counter moves; this process's clock does not matter.
func TestAdmission_Window(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		now := time.Now()
		early, late := c.voucherAt(1, now.Add(time.Hour), now.Add(2*time.Hour)), c.voucherAt(1, now.Add(-2*time.Hour), now.Add(-time.Hour))
		open := c.voucher(1)
		c.placer.Now = func() time.Time { return now.Add(90 * time.Minute) }
		_, err := c.buy(path, early, 1)
		require.ErrorIs(t, err, service.ErrNotStarted)
		_, err = c.buy(path, late, 1)
		require.ErrorIs(t, err, service.ErrEnded)
		require.Zero(t, c.counters(early).Admitted+c.counters(late).Admitted)
		_, err = c.buy(path, open, 1)
		require.NoError(t, err)
		_, err = c.buy(path, 12345, 1)
		require.ErrorIs(t, err, service.ErrNotFound)
	})
}

// S-37, S-36: an order on a voucher without a gate makes the gate; so it does after Redis was flushed during the sale.
func TestAdmission_HealsAMissingGate(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		v := c.voucher(3)
		stop := c.work(nil)
		_, err := c.buy(path, v, 1)
		require.NoError(t, err)
		c.settled(v, 1)
		stop()
		require.NoError(t, c.forgetEverything())
		_, err = c.buy(path, v, 1)
		require.ErrorIs(t, err, service.ErrAlreadyOrdered, "the database remembers")
		c.work(nil)
		for user := range int64(2) {
			_, err = c.buy(path, v, user+2)
			require.NoError(t, err)
		}
		_, err = c.buy(path, v, 9)
		require.ErrorIs(t, err, service.ErrSoldOut)
		c.settled(v, 3)
	})
}

// forgetEverything is FLUSHALL for the keys of this test.
func (s *sale) forgetEverything() error {
	keys, err := s.rdb.Keys(s.t.Context(), s.prefix+":*").Result()
	if err != nil {
		return err
	}
	return s.rdb.Del(s.t.Context(), keys...).Err()
}

// brokenStore fails every write transaction, after its statements or before them.
type brokenStore struct {
	service.Store
	fail func(commit func() error) error
}

func (b brokenStore) InTx(ctx context.Context, o service.TxOptions, fn func(service.Tx) error) error {
	return b.fail(func() error { return b.Store.InTx(ctx, o, fn) })
}

// S-28: admitted, then the database step fails: the unit goes back once and the client hears a failure.
func TestGate_TheDatabaseFails(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(1)
		boom := errors.New("the database is on fire")
		c.placer.Store = brokenStore{c.store, func(func() error) error { return boom }}
		_, err := c.buy(service.PathGate, v, 1)
		require.ErrorIs(t, err, boom)
		require.Equal(t, 1, c.counters(v).Stock)
		require.Equal(t, 1, c.counters(v).Returned)
		c.placer.Store = c.store
		_, err = c.buy(service.PathGate, v, 1)
		require.NoError(t, err, "the same user may try again")
		c.settled(v, 1)
	})
}

// The answer to COMMIT is lost although it succeeded: the order stands, and the client is told so.
func TestGate_TheAnswerToCommitIsLost(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(1)
		c.placer.Store = brokenStore{c.store, func(commit func() error) error {
			require.NoError(t, commit())
			return errors.New("connection reset by peer")
		}}
		o, err := c.buy(service.PathGate, v, 1)
		require.NoError(t, err)
		require.Equal(t, service.Created, s.status(o.ID))
		var found []service.Finding // in flight until somebody looks, once it is as old as the grace
		require.Eventually(t, func() bool { found, err = c.rec.Stale(t.Context()); return err != nil || len(found) > 0 },
			10*time.Second, time.Millisecond)
		require.NoError(t, err)
		require.Len(t, found, 1)
		c.settled(v, 1)
	})
}

// voucherless is a store whose vouchers can't be read for a while.
type voucherless struct {
	service.Store
	reads int
	err   error
}

func (v *voucherless) Voucher(ctx context.Context, id service.ID) (service.Voucher, error) {
	v.reads++
	if v.err != nil {
		return service.Voucher{}, v.err
	}
	return v.Store.Voucher(ctx, id)
}

// While the database is away the stream goes on accepting by the row that it has, for a minute, and asks once a second.
func TestStream_AcceptsWhileTheDatabaseIsAway(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(10)
		store, now, user := &voucherless{Store: c.store}, time.Now(), int64(0)
		c.placer.Store, c.placer.Now = store, func() time.Time { return now }
		buy := func(after time.Duration) error {
			now, user = now.Add(after), user+1
			_, err := c.buy(service.PathStream, v, user)
			return err
		}
		require.NoError(t, buy(0))
		away := errors.New("connection refused")
		store.err = away
		require.NoError(t, buy(999*time.Millisecond))
		require.Equal(t, 1, store.reads)
		require.NoError(t, buy(time.Second))
		require.NoError(t, buy(0))
		require.Equal(t, 2, store.reads, "it is asked once a second")
		require.NoError(t, buy(57*time.Second))
		require.ErrorIs(t, buy(2*time.Second), away, "older than a minute")
		store.err = nil
		require.NoError(t, buy(0))
		store.err = service.ErrNotFound
		require.ErrorIs(t, buy(2*time.Second), service.ErrNotFound, "an answer is an answer")
	})
}

// S-42: the gate admits more than the database has. The database refuses; the unit that never was is not given back.
func TestAdmission_TheGateHasTooMuch(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		v := c.voucher(2)
		_, err := c.heat.Preheat(t.Context(), v)
		require.NoError(t, err)
		set, err := c.gate.SetStock(t.Context(), v, c.counters(v), 3)
		require.NoError(t, err)
		require.True(t, set)
		c.work(nil)
		refused := 0
		for user := range int64(3) {
			if _, err := c.buy(path, v, user+1); err != nil {
				require.ErrorIs(t, err, service.ErrSoldOut)
				refused++
			}
		}
		if path == service.PathGate {
			require.Equal(t, 1, refused)
		}
		c.settled(v, 2)
		require.Zero(t, c.counters(v).Stock, "the third unit never existed")
	})
}

// A client that leaves while its order is being admitted never learns of it, so the unit goes back.
func TestAdmission_TheClientLeaves(t *testing.T) {
	eachPath(t, func(t *testing.T, c *counter, path string) {
		v := c.voucher(1)
		ctx, cancel := context.WithCancel(t.Context())
		point := service.HoldGateAdmitted
		if path == service.PathStream {
			point = service.HoldStreamAdmitted
		}
		c.holds.On(point, 0, 1, cancel)
		_, err := c.buyFor(ctx, path, v, 1)
		require.ErrorIs(t, err, service.ErrBusy)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 1, c.counters(v).Stock)
		c.work(nil)
		c.settled(v, 0)
		_, err = c.buy(path, v, 1)
		require.NoError(t, err)
		c.settled(v, 1)
	})
}

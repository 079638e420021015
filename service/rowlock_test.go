package service_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/repository"
	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// What needs row locks or snapshots is tested on a real server: these stages are n/a on SQLite.

func newMariaDBShop(t *testing.T) *shop {
	dsn := backendtest.MariaDB(t)
	_, err := repository.Migrate(context.Background(), dsn)
	require.NoError(t, err)
	return newShopOn(t, dsn)
}

func (s *shop) engine() string {
	info := s.store.Engine()
	return service.EngineOf(info.Kind, info.Version)
}

// S-01 at the stages that SQLite can't run, and once more at those that rest on the unique index.
func TestRowLocks_StockPlusOne(t *testing.T) {
	s := newMariaDBShop(t)
	for _, name := range []string{"none", "mutex", "mutex-late", "for-update", "cas-retry", "conditional", "skip-locked"} {
		t.Run(name+" one after the other", func(t *testing.T) {
			p, v := s.open(stageOf(t, name)), s.voucher(5)
			for user := range int64(5) {
				require.NoError(t, p.buy(v, user+1))
			}
			require.ErrorIs(t, p.buy(v, 6), service.ErrSoldOut)
			require.ErrorIs(t, p.buy(v, 5), service.ErrAlreadyOrdered)
			require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, Orders: 5, Users: 5}, s.audit(v))
		})
	}
	for _, name := range []string{"mutex", "for-update", "cas-retry", "conditional", "skip-locked"} {
		t.Run(name+" at once", func(t *testing.T) {
			p, v := s.open(stageOf(t, name, func(st *service.Stage) { st.Wait = time.Minute })), s.voucher(5)
			errs := make([]error, 12) // six users, two clicks each
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() {
					for errs[i] = service.ErrBusy; errors.Is(errs[i], service.ErrBusy); { // skip-locked: units in other hands
						errs[i] = p.buy(v, int64(i/2+1))
					}
				})
			}
			all.Wait()
			require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, Orders: 5, Users: 5}, s.audit(v), "%v", errs)
			require.ErrorIs(t, errors.Join(errs...), service.ErrSoldOut)
		})
	}
}

// S-13: the snapshot is older than the lock, so the lock does not help; a newer MariaDB refuses the stale write.
func TestRowLocks_ReadBeforeTheLock(t *testing.T) {
	s := newMariaDBShop(t)
	v, p := s.voucher(1), s.open(stageOf(t, "mutex-late", func(st *service.Stage) { st.Wait = time.Minute }))
	reached, resume := p.holdFirst(service.HoldCritical)
	first := p.start(v, 1)
	<-reached
	begun := make(chan struct{})
	p.Store = firstReadOf{p.Store, sync.OnceFunc(func() { close(begun) })}
	second := p.start(v, 2)
	<-begun // the second transaction has its snapshot and goes on to wait for the mutex
	resume()
	require.NoError(t, <-first)
	err := <-second
	if s.engine() == service.MariaDBSnapshot {
		require.ErrorIs(t, err, service.ErrStoreBusy)
		require.Equal(t, service.Audit{VoucherID: v, InitialStock: 1, Orders: 1, Users: 1}, s.audit(v))
		return
	}
	require.NoError(t, err)
	require.Equal(t, service.Audit{VoucherID: v, InitialStock: 1, Orders: 2, Users: 2, Oversold: 1, Drift: -1}, s.audit(v))
}

// firstReadOf tells when a transaction has made its first read.
type firstReadOf struct {
	service.Store
	done func()
}

func (f firstReadOf) InTx(ctx context.Context, o service.TxOptions, fn func(service.Tx) error) error {
	return f.Store.InTx(ctx, o, func(tx service.Tx) error { return fn(firstReadTx{tx, f.done}) })
}

type firstReadTx struct {
	service.Tx
	done func()
}

func (f firstReadTx) HasOrder(ctx context.Context, v service.ID, user int64) (bool, error) {
	has, err := f.Tx.HasOrder(ctx, v, user)
	f.done()
	return has, err
}

// All free units in other hands is busy and not sold out, because those orders may still fail.
func TestRowLocks_SkipLockedTellsBusyFromSoldOut(t *testing.T) {
	s := newMariaDBShop(t)
	v, p := s.voucher(1), s.open(stageOf(t, "skip-locked"))
	reached, resume := p.holdFirst(service.HoldCritical)
	first := p.start(v, 1)
	<-reached
	require.ErrorIs(t, p.buy(v, 2), service.ErrBusy)
	resume()
	require.NoError(t, <-first)
	require.ErrorIs(t, p.buy(v, 2), service.ErrSoldOut)
}

// A second click waits on the unique index with empty hands: the one unit that is left goes to somebody else.
func TestRowLocks_SecondClickHoldsNoUnit(t *testing.T) {
	s := newMariaDBShop(t)
	v, p := s.voucher(2), s.open(stageOf(t, "skip-locked"))
	reached, resume := p.holdFirst(service.HoldCritical)
	first := p.start(v, 1)
	<-reached
	begun := make(chan struct{})
	other := s.open(stageOf(t, "skip-locked"))
	sp := other.spyOn()
	sp.failing = func(statement string) error {
		if statement == "InsertOrder" {
			close(begun)
		}
		return nil
	}
	click := other.start(v, 1)
	<-begun
	require.NoError(t, p.buy(v, 2))
	resume()
	require.NoError(t, <-first)
	require.ErrorIs(t, <-click, service.ErrAlreadyOrdered)
	require.Equal(t, service.Audit{VoucherID: v, InitialStock: 2, Orders: 2, Users: 2}, s.audit(v))
}

// S-20 with row locks.
func TestRowLocks_ErrorsRollBack(t *testing.T) {
	s := newMariaDBShop(t)
	for _, name := range []string{"for-update", "skip-locked", "conditional", "none"} {
		t.Run(name, func(t *testing.T) {
			v, p := s.voucher(5), s.open(stageOf(t, name))
			p.holds.On(service.HoldCommit, 0, 1, func() { panic("between the writes and COMMIT") })
			require.Panics(t, func() { _ = p.buy(v, 1) })
			require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, StockLeft: 5}, s.audit(v))
			require.NoError(t, p.buy(v, 1))
		})
	}
}

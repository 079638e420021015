package service_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/service"
)

// spy counts what an order asks of the database and lets a test make one thing fail.
type spy struct {
	service.Store
	statements atomic.Int64 // besides the voucher
	vouchers   atomic.Int64
	retry      atomic.Bool // of the last transaction
	failing    func(statement string) error
}

var errDisk = errors.New("the disk is full")

func (s *spy) called(statement string) error {
	s.statements.Add(1)
	if s.failing == nil {
		return nil
	}
	return s.failing(statement)
}

func (s *spy) Voucher(ctx context.Context, id service.ID) (service.Voucher, error) {
	s.vouchers.Add(1)
	return s.Store.Voucher(ctx, id)
}

func (s *spy) HasOrder(ctx context.Context, v service.ID, user int64) (bool, error) {
	if err := s.called("HasOrder"); err != nil {
		return false, err
	}
	return s.Store.HasOrder(ctx, v, user)
}

func (s *spy) Stock(ctx context.Context, v service.ID) (service.Stock, error) {
	if err := s.called("Stock"); err != nil {
		return service.Stock{}, err
	}
	return s.Store.Stock(ctx, v)
}

func (s *spy) InTx(ctx context.Context, o service.TxOptions, fn func(service.Tx) error) error {
	s.retry.Store(o.Retry)
	if err := s.called("InTx"); err != nil {
		return err
	}
	return s.Store.InTx(ctx, o, func(tx service.Tx) error { return fn(spyTx{tx, s}) })
}

type spyTx struct {
	service.Tx
	s *spy
}

func (t spyTx) InsertOrder(ctx context.Context, o service.Order, unique bool) error {
	if err := t.s.called("InsertOrder"); err != nil {
		return err
	}
	return t.Tx.InsertOrder(ctx, o, unique)
}

func (t spyTx) TakeOne(ctx context.Context, v service.ID, fence int64) (bool, error) {
	if err := t.s.called("TakeOne"); err != nil {
		return false, err
	}
	return t.Tx.TakeOne(ctx, v, fence)
}

func (t spyTx) TakeIfVersion(ctx context.Context, v service.ID, version int64) (bool, error) {
	if err := t.s.called("TakeIfVersion"); err != nil {
		return false, err
	}
	return t.Tx.TakeIfVersion(ctx, v, version)
}

func (p *process) spyOn() *spy {
	s := &spy{Store: p.Store}
	p.Store = s
	return s
}

// S-27: outside of the window, and for a voucher that is not there, nothing is counted, locked, read or written.
func TestPlace_WindowComesFirst(t *testing.T) {
	// On the other paths Redis judges the window: TestAdmission_Window.
	eachStage(t, onPaths(service.PathSync), func(t *testing.T, s *shop, st service.Stage) {
		acquires := 0
		p := s.open(st, func(o *lock.Options) { o.Observer.Waited = func(lock.Event) { acquires++ } })
		sp, v, keys := p.spyOn(), s.voucher(5), s.mr.Keys()
		sold, err := s.store.Voucher(context.Background(), v)
		require.NoError(t, err)
		at := func(now time.Time) error {
			p.Now = func() time.Time { return now }
			return p.buy(v, now.UnixNano())
		}
		require.ErrorIs(t, at(sold.BeginAt.Add(-1)), service.ErrNotStarted)
		require.ErrorIs(t, at(sold.EndAt), service.ErrEnded, "the window does not include its end")
		require.ErrorIs(t, at(sold.EndAt.Add(time.Hour)), service.ErrEnded)
		require.ErrorIs(t, p.buy(v+1, 1), service.ErrNotFound)
		require.Zero(t, acquires)
		require.Zero(t, sp.statements.Load())
		require.Equal(t, keys, s.mr.Keys())
		require.NoError(t, at(sold.BeginAt), "and includes its beginning")
		require.NoError(t, at(sold.EndAt.Add(-1)))
	})
}

// S-60: where the clock or the client lives changes nothing.
func TestPlace_TimeZonesDoNotMatter(t *testing.T) {
	s := newShop(t)
	shanghai := time.FixedZone("CST", 8*3600)
	begin := time.Date(2026, 11, 11, 0, 0, 0, 0, shanghai)
	v, err := s.sales.Create(context.Background(), service.NewVoucher{Title: "phone", Stock: 9, BeginAt: begin, EndAt: begin.Add(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, "2026-11-10T16:00:00Z", v.BeginAt.Format(time.RFC3339))
	p := s.open(stageOf(t, "conditional"))
	user := int64(0)
	for _, zone := range []*time.Location{time.UTC, shanghai, time.FixedZone("PST", -8*3600)} {
		for offset, want := range map[time.Duration]error{
			-time.Microsecond: service.ErrNotStarted, 0: nil, time.Hour - 1: nil, time.Hour: service.ErrEnded,
		} {
			p.Now = func() time.Time { return begin.Add(offset).In(zone) }
			user++
			require.ErrorIs(t, p.buy(v.ID, user), want, "%v at %v", zone, offset)
		}
	}
}

// S-20: an error after the first write takes that write back.
func TestPlace_ErrorsRollBack(t *testing.T) {
	for name, second := range map[string]string{
		"none": "InsertOrder", "lua": "InsertOrder", "fenced": "InsertOrder", "cas": "InsertOrder",
		"conditional": "TakeOne", "user-lock": "TakeOne",
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			v, p := s.voucher(5), s.open(stageOf(t, name))
			sp := p.spyOn()
			sp.failing = func(statement string) error {
				if statement == second {
					return errDisk
				}
				return nil
			}
			require.ErrorIs(t, p.buy(v, 1), errDisk)
			require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, StockLeft: 5}, s.audit(v))
			sp.failing = nil
			require.NoError(t, p.buy(v, 1), "and the lock was given back")
		})
	}
}

// S-22: when everything fails, everything is a failure, and the failure is the database's own error.
func TestPlace_EveryStatementFails(t *testing.T) {
	// On the stream path a worker runs the statements: TestWorker_WaitsForTheDatabase.
	eachStage(t, onPaths(service.PathSync, service.PathGate), func(t *testing.T, s *shop, st service.Stage) {
		v, p := s.voucher(5), s.open(st)
		p.spyOn().failing = func(string) error { return errDisk }
		for user := range int64(3) {
			require.ErrorIs(t, p.buy(v, user+1), errDisk)
		}
		require.Equal(t, 0, s.audit(v).Orders)
	})
}

// S-25: retries are bounded, and giving up is an answer of its own.
func TestPlace_CASGivesUp(t *testing.T) {
	s := newShop(t)
	v, p := s.voucher(5), s.open(stageOf(t, "cas-retry", func(st *service.Stage) { st.CASRetries = 4 }))
	sp, tries := p.spyOn(), 0
	sp.Store = alwaysBehind{sp.Store, &tries}
	require.ErrorIs(t, p.buy(v, 1), service.ErrGaveUp)
	require.Equal(t, 5, tries)
	require.Equal(t, service.Audit{VoucherID: v, InitialStock: 5, StockLeft: 5}, s.audit(v))

	ctx, cancel := context.WithCancel(context.Background())
	p.holds.On(service.HoldCommit, 0, -1, func() {})
	p.holds.On(service.HoldCritical, 2, 1, cancel)
	_, err := p.Place(ctx, p.stage, v, 1)
	require.ErrorIs(t, err, service.ErrBusy, "nobody retries for a client that has gone")
	require.Equal(t, 5+3, tries)
}

// alwaysBehind is a store where somebody else was always quicker.
type alwaysBehind struct {
	service.Store
	tries *int
}

func (a alwaysBehind) InTx(ctx context.Context, o service.TxOptions, fn func(service.Tx) error) error {
	return a.Store.InTx(ctx, o, func(tx service.Tx) error { return fn(behindTx{tx, a.tries}) })
}

type behindTx struct {
	service.Tx
	tries *int
}

func (b behindTx) TakeIfVersion(context.Context, service.ID, int64) (bool, error) {
	*b.tries++
	return false, nil
}

// A naive stage's read is outside of its transaction, so its transaction must not run twice.
func TestPlace_NaiveStagesAreNotRetried(t *testing.T) {
	eachStage(t, onPaths(service.PathSync, service.PathGate), func(t *testing.T, s *shop, st service.Stage) {
		v, p := s.voucher(5), s.open(st)
		sp := p.spyOn()
		require.NoError(t, p.buy(v, 1))
		require.Equal(t, st.StockUpdate != service.UpdateNaive, sp.retry.Load())
	})
}

// A panic in the middle gives the lock back on its way out.
func TestPlace_PanicUnlocks(t *testing.T) {
	for _, name := range []string{"mutex", "mutex-early", "lua", "watchdog"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			v, p := s.voucher(5), s.open(stageOf(t, name))
			p.spyOn().failing = func(statement string) error {
				if statement == "Stock" {
					panic("a bug")
				}
				return nil
			}
			require.Panics(t, func() { _ = p.buy(v, 1) })
			p.Store = s.store
			require.NoError(t, p.buy(v, 1))
		})
	}
}

func TestPlace_VoucherIsCachedShortly(t *testing.T) {
	s := newShop(t)
	v, p := s.voucher(5), s.open(stageOf(t, "conditional"))
	sp, now := p.spyOn(), time.Now()
	p.Now = func() time.Time { return now }
	for user := range int64(3) {
		require.NoError(t, p.buy(v, user+1))
	}
	require.EqualValues(t, 1, sp.vouchers.Load())
	for _, jump := range []time.Duration{time.Second, -time.Minute} {
		now = now.Add(jump)
		before := sp.vouchers.Load()
		require.ErrorIs(t, p.buy(v, 1), service.ErrAlreadyOrdered)
		require.Equal(t, before+1, sp.vouchers.Load(), "after %v", jump)
	}
	require.ErrorIs(t, p.buy(v+1, 1), service.ErrNotFound)
	require.ErrorIs(t, p.buy(v+1, 1), service.ErrNotFound)
	require.EqualValues(t, 5, sp.vouchers.Load(), "a miss is not kept")
}

func TestPlace_LockerThatCannotBeOpened(t *testing.T) {
	s := newShop(t)
	v, p := s.voucher(5), s.open(stageOf(t, "lua"))
	p.Locker = func(service.Stage) (lock.Locker, error) { return nil, errDisk }
	require.ErrorIs(t, p.buy(v, 1), errDisk)
}

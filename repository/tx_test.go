package repository

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

var errStop = errors.New("stop here")

// S-20: what was written before an error is gone.
func TestAnErrorRollsBack(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 3)
		o := b.order(t, v, 1)
		err := b.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error {
			ok, err := tx.TakeOne(ctx, v, 0)
			require.NoError(t, err)
			require.True(t, ok)
			require.NoError(t, tx.InsertOrder(ctx, o, true))
			return errStop
		})
		require.ErrorIs(t, err, errStop)
		require.Equal(t, service.Counts{Initial: 3, Left: 3}, b.counts(t, v))
	})
}

func TestAPanicRollsBackAndGoesOn(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 3)
		require.PanicsWithValue(t, "boom", func() {
			b.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error {
				require.NoError(t, tx.SetStock(ctx, v, 1, 0))
				panic("boom")
			})
		})
		require.Equal(t, 3, b.left(t, v))
		b.tx(t, func(ctx context.Context, tx service.Tx) error { return tx.SetStock(ctx, v, 2, 0) })
		require.Equal(t, 2, b.left(t, v))
	})
}

// A context that ends before COMMIT rolls back, and its cause is in the error.
func TestACancelledContextNeverCommits(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 3)
		ctx, cancel := context.WithCancelCause(context.Background())
		err := b.InTx(ctx, service.TxOptions{Retry: true}, func(tx service.Tx) error {
			require.NoError(t, tx.SetStock(ctx, v, 1, 0))
			cancel(errStop)
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errStop)
		require.Equal(t, 3, b.left(t, v))
	})
}

// A write on a context that has ended is an error, also where the driver skips it silently.
func TestAWriteOnAnEndedContextFails(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 3)
		err := b.InTx(context.Background(), service.TxOptions{}, func(tx service.Tx) error {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			return tx.SetStock(ended, v, 1, 0)
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3, b.left(t, v))
	})
}

// S-62, and writing the value that is already there is no error.
func TestSetStockWritesExactlyWhatItIsGiven(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 3)
		for _, n := range []int{0, 0, 7, -1, 2} {
			b.tx(t, func(ctx context.Context, tx service.Tx) error { return tx.SetStock(ctx, v, n, 0) })
			require.Equal(t, n, b.left(t, v))
		}
		err := b.InTx(context.Background(), service.TxOptions{}, func(tx service.Tx) error {
			return tx.SetStock(context.Background(), v+1, 1, 0)
		})
		require.ErrorIs(t, err, service.ErrNotFound)
	})
}

// S-01 at the level of the statement: six buyers on two processes, five units.
func TestTakeOneStopsAtZero(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 5)
		stores := []*Store{b.Store, openStore(t, b.dsn, Options{})}
		errs := make([]error, 6)
		var wg sync.WaitGroup
		for i := range errs {
			o := b.order(t, v, int64(i+1))
			wg.Go(func() { errs[i] = buy(context.Background(), stores[i%2], o) })
		}
		wg.Wait()
		ok, soldOut, _, rest := answers(errs)
		require.Empty(t, rest)
		require.Equal(t, [2]int{5, 1}, [2]int{ok, soldOut})
		require.Equal(t, service.Counts{Initial: 5, Left: 0, Orders: 5, Users: 5}, b.counts(t, v))
	})
}

func TestTakeIfVersionRefusesAnOldVersionAndEmptyStock(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 1)
		st, err := b.Stock(context.Background(), v)
		require.NoError(t, err)
		for _, want := range []bool{true, false} {
			b.tx(t, func(ctx context.Context, tx service.Tx) error {
				ok, err := tx.TakeIfVersion(ctx, v, st.Version)
				require.Equal(t, want, ok)
				return err
			})
		}
		b.tx(t, func(ctx context.Context, tx service.Tx) error {
			ok, err := tx.TakeIfVersion(ctx, v, st.Version+1)
			require.False(t, ok, "nothing is left, whatever the version")
			return err
		})
		require.Equal(t, 0, b.left(t, v))
	})
}

func TestOneOrderPerUserIsKeptByTheClaimAlone(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 5)
		insert := func(user int64, unique bool) error {
			o := b.order(t, v, user)
			return b.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error { return tx.InsertOrder(ctx, o, unique) })
		}
		require.NoError(t, insert(1, true))
		require.ErrorIs(t, insert(1, true), service.ErrAlreadyOrdered)
		require.NoError(t, insert(1, false), "without the claim the database does not mind")
		require.NoError(t, insert(1, false))
		require.NoError(t, insert(2, true), "another user")
		c := b.counts(t, v)
		require.Equal(t, [2]int{4, 2}, [2]int{c.Orders, c.Users})
	})
}

// The same id twice without a claim is no "already ordered".
func TestADuplicateIDIsAnErrorOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, o := context.Background(), b.order(t, b.voucher(t, 5), 1)
		insert := func() error {
			return b.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error { return tx.InsertOrder(ctx, o, false) })
		}
		require.NoError(t, insert())
		err := insert()
		require.ErrorIs(t, err, errDuplicate)
		require.NotErrorIs(t, err, service.ErrAlreadyOrdered)
	})
}

// S-21: a storm of one user's clicks ends in one order, and every refusal is the right one.
func TestAStormOfOneUserIsOneOrderAndNoDeadlock(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		for _, stock := range []int{3, 0} { // with nothing left every insert is rolled back, the deadlock-prone case
			v := b.voucher(t, stock)
			errs := make([]error, 48)
			var wg sync.WaitGroup
			for i := range errs {
				o := b.order(t, v, 1)
				wg.Go(func() { errs[i] = buy(context.Background(), b.Store, o) })
			}
			wg.Wait()
			ok, soldOut, already, rest := answers(errs)
			require.Empty(t, rest)
			require.Equal(t, min(stock, 1), ok)
			require.Equal(t, len(errs)-ok, soldOut+already)
			require.Equal(t, stock-ok, b.left(t, v))
		}
	})
}

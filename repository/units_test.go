package repository

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

// takeUnit buys with one row per unit. It repeats while all free units are in other hands.
func takeUnit(ctx context.Context, s *Store, o service.Order) error {
	for {
		err := s.InTx(ctx, service.TxOptions{Retry: true}, func(tx service.Tx) error {
			if err := tx.TakeUnit(ctx, o.VoucherID, o.ID); err != nil {
				return err
			}
			return tx.InsertOrder(ctx, o, true)
		})
		if !errors.Is(err, service.ErrBusy) {
			return err
		}
	}
}

// S-01 for units: every unit is sold once, and Counts sees them gone.
func TestUnitsAreSoldOnceEach(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		v := b.voucher(t, 30)
		errs := make([]error, 40)
		var wg sync.WaitGroup
		for i := range errs {
			o := b.order(t, v, int64(i+1))
			wg.Go(func() { errs[i] = takeUnit(context.Background(), b.Store, o) })
		}
		wg.Wait()
		ok, soldOut, _, rest := answers(errs)
		require.Empty(t, rest)
		require.Equal(t, [2]int{30, 10}, [2]int{ok, soldOut})
		require.Equal(t, service.Counts{Initial: 30, Left: 0, Orders: 30, Users: 30}, b.counts(t, v))
	})
}

// A unit that another session holds is skipped at once; when only such units are left the answer is busy, and only
// when they are gone it is sold out.
func TestLockedUnitsAreBusyAndNotSoldOut(t *testing.T) {
	onMariaDB(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 2)
		first, second, third := b.order(t, v, 1), b.order(t, v, 2), b.order(t, v, 3)
		try := func(o service.Order, inside func()) error {
			return b.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error {
				err := tx.TakeUnit(ctx, v, o.ID)
				if err == nil {
					inside()
				}
				return err
			})
		}
		require.NoError(t, try(first, func() {
			require.NoError(t, try(second, func() {
				require.ErrorIs(t, try(third, func() {}), service.ErrBusy)
			}))
		}))
		require.ErrorIs(t, try(third, func() {}), service.ErrSoldOut)
		require.Equal(t, 0, b.counts(t, v).Left)
	})
}

// Stages that sell from the stock row and stages that sell units agree on what is left.
func TestCountsAddsBothWaysOfSelling(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 10)
		require.NoError(t, buy(ctx, b.Store, b.order(t, v, 1)))
		require.NoError(t, takeUnit(ctx, b.Store, b.order(t, v, 2)))
		c := b.counts(t, v)
		require.Equal(t, service.Counts{Initial: 10, Left: 8, Orders: 2, Users: 2}, c)
		require.Zero(t, c.Initial-c.Left-c.Orders, "drift")
	})
}

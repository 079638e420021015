package repository

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

func pay(order service.ID, user int64) service.Move {
	return service.Move{Order: order, User: user, From: service.Created, To: service.Paid, At: day.Add(time.Minute)}
}

func cancel(order service.ID, user int64) service.Move {
	return service.Move{Order: order, User: user, From: service.Created, To: service.Cancelled, GiveBack: true,
		Reason: "by the user", At: day.Add(time.Minute)}
}

func TestPayAndCancel(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		voucher(t, s, 1, 5)
		write(t, s, inFlight(11, 1, 7), inFlight(12, 1, 8))
		o, err := s.MoveOrder(ctx, pay(11, 7))
		require.NoError(t, err)
		require.Equal(t, service.Paid, o.Status)
		require.Equal(t, day.Add(time.Minute), o.UpdatedAt)
		o, err = s.MoveOrder(ctx, pay(11, 7))
		require.ErrorIs(t, err, service.ErrInvalidState)
		require.Equal(t, service.Paid, o.Status)
		_, err = s.MoveOrder(ctx, cancel(11, 7))
		require.ErrorIs(t, err, service.ErrInvalidState)

		o, err = s.MoveOrder(ctx, cancel(12, 8))
		require.NoError(t, err)
		require.Equal(t, service.Cancelled, o.Status)
		for _, m := range []service.Move{cancel(12, 8), pay(12, 8)} { // twice, and a late payment
			o, err = s.MoveOrder(ctx, m)
			require.ErrorIs(t, err, service.ErrInvalidState)
			require.Equal(t, service.Cancelled, o.Status)
		}
		_, err = s.MoveOrder(ctx, pay(99, 7))
		require.ErrorIs(t, err, service.ErrNotFound)
		o, err = s.MoveOrder(ctx, cancel(11, 8))
		require.ErrorIs(t, err, service.ErrForbidden)
		require.Zero(t, o, "another user's order is not shown")

		require.Equal(t, 4, stockOf(t, s, 1))
		sound(t, s, 1)
		require.Equal(t, []service.DueReturn{{Back: service.Back{Unit: unit(12, 1, 8)}, At: day.Add(time.Minute)}}, dueReturns(t, s))
		has, err := s.HasOrder(ctx, 1, 8)
		require.NoError(t, err)
		require.False(t, has)
	})
}

// Pay, cancel and the sweep at once: one wins, and the unit goes back at most once.
func TestOneWinner(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		const orders = 12
		voucher(t, s, 1, orders)
		for i := range orders {
			write(t, s, inFlight(service.ID(100+i), 1, int64(1+i)))
		}
		var winners [orders]atomic.Int64
		var wg sync.WaitGroup
		for i := range orders {
			id, user := service.ID(100+i), int64(1+i)
			for _, m := range []service.Move{pay(id, user), cancel(id, user), cancel(id, 0), pay(id, user)} {
				wg.Go(func() {
					_, err := s.MoveOrder(t.Context(), m)
					if err == nil {
						winners[i].Add(1)
					} else if !strings.Contains(err.Error(), service.ErrInvalidState.Error()) {
						t.Errorf("move: %v", err)
					}
				})
			}
		}
		wg.Wait()
		for i := range winners {
			require.Equal(t, int64(1), winners[i].Load())
		}
		sound(t, s, 1)
	})
}

// A unit that was taken row by row goes back to its row.
func TestCancelFreesTheUnitRow(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		voucher(t, s, 1, 3)
		runSQL(t, s, "UPDATE stock_units SET order_id = 11 WHERE voucher_id = 1 AND unit = 2")
		require.NoError(t, s.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error {
			return tx.InsertOrder(ctx, service.Order{ID: 11, VoucherID: 1, UserID: 7, Status: service.Created, CreatedAt: day, UpdatedAt: day}, true)
		}))
		require.Equal(t, 2, stockOf(t, s, 1))
		_, err := s.MoveOrder(ctx, cancel(11, 7))
		require.NoError(t, err)
		require.Equal(t, 3, stockOf(t, s, 1))
		sound(t, s, 1)
	})
}

// Who inserts the row first decides, whether that is the writer or the tombstone.
func TestTombstone(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		voucher(t, s, 1, 5)
		row, inserted, err := s.Tombstone(ctx, unit(11, 1, 7), service.Failed, "no row after 10 s", day)
		require.NoError(t, err)
		require.True(t, inserted)
		require.Equal(t, service.Failed, row.Status)
		require.Equal(t, int64(990), row.PriceCents)
		require.Equal(t, outcomes{service.AlreadyEnded}, write(t, s, inFlight(11, 1, 7)), "the late writer loses")
		require.Equal(t, 5, stockOf(t, s, 1))
		require.Len(t, dueReturns(t, s), 1)

		write(t, s, inFlight(12, 1, 7))
		row, inserted, err = s.Tombstone(ctx, unit(12, 1, 7), service.Cancelled, "by the user", day)
		require.NoError(t, err)
		require.False(t, inserted, "the late tombstone loses")
		require.Equal(t, service.Created, row.Status)
		require.Len(t, dueReturns(t, s), 1)
		_, _, err = s.Tombstone(ctx, unit(13, 1, 7), service.Created, "", day)
		require.ErrorIs(t, err, service.ErrInvalid)
		sound(t, s, 1)
	})
}

func TestTombstoneAgainstWriter(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		const orders = 30
		voucher(t, s, 1, orders)
		var wg sync.WaitGroup
		var stones, rows atomic.Int64
		for i := range orders {
			o := inFlight(service.ID(100+i), 1, int64(1+i))
			wg.Go(func() {
				if _, inserted, err := s.Tombstone(t.Context(), o.Unit, service.Failed, "test", day); err != nil {
					t.Errorf("tombstone: %v", err)
				} else if inserted {
					stones.Add(1)
				}
			})
			wg.Go(func() {
				switch r, err := s.WriteBatch(t.Context(), []service.InFlight{o}, day, nil); {
				case err != nil:
					t.Errorf("write: %v", err)
				case r[0].Outcome == service.Wrote:
					rows.Add(1)
				}
			})
		}
		wg.Wait()
		require.Equal(t, int64(orders), stones.Load()+rows.Load())
		require.Len(t, dueReturns(t, s), int(stones.Load()))
		require.Equal(t, orders-int(rows.Load()), stockOf(t, s, 1))
		sound(t, s, 1)
	})
}

func TestUnpaidOrders(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		voucher(t, s, 1, 9)
		for i := range 4 {
			_, err := s.WriteBatch(ctx, []service.InFlight{inFlight(service.ID(20-i), 1, int64(1+i))}, day.Add(time.Duration(i)*time.Minute), nil)
			require.NoError(t, err)
		}
		_, err := s.MoveOrder(ctx, pay(19, 2))
		require.NoError(t, err)
		list, err := s.UnpaidOrders(ctx, day.Add(3*time.Minute), 10)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, []service.ID{20, 18}, []service.ID{list[0].ID, list[1].ID}, "oldest first, the youngest is not due")
		list, err = s.UnpaidOrders(ctx, day.AddDate(0, 0, 1), 1)
		require.NoError(t, err)
		require.Len(t, list, 1)
	})
}

func TestDueReturnsByAge(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		voucher(t, s, 1, 9)
		for i := range 3 {
			_, _, err := s.Tombstone(ctx, unit(service.ID(20-i), 1, int64(1+i)), service.Failed, "test", day.Add(time.Duration(i)*time.Minute))
			require.NoError(t, err)
		}
		list, err := s.DueReturns(ctx, day.Add(2*time.Minute), 10)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, service.ID(20), list[0].Order)
		require.NoError(t, s.ClearReturns(ctx, []service.ID{20, 19, 99}))
		require.Len(t, dueReturns(t, s), 1)
		require.NoError(t, s.ClearReturns(ctx, nil))
		require.NoError(t, s.ResetVoucher(ctx, 1, 5))
		require.Empty(t, dueReturns(t, s), "a reset voucher owes the gate nothing")
	})
}

func TestGateStateAndOrdersByID(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		_, err := s.GateState(ctx, 1)
		require.ErrorIs(t, err, service.ErrNotFound)
		voucher(t, s, 1, 5)
		p, err := s.GateState(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, service.Preheat{Voucher: 1, Capacity: 5, BeginAt: day, EndAt: day.AddDate(0, 0, 1)}, p)

		write(t, s, inFlight(11, 1, 7), inFlight(12, 1, 8), inFlight(13, 1, 9))
		_, err = s.MoveOrder(ctx, pay(11, 7))
		require.NoError(t, err)
		_, err = s.MoveOrder(ctx, cancel(12, 8))
		require.NoError(t, err)
		runSQL(t, s, "UPDATE stock_units SET order_id = 99 WHERE voucher_id = 1 AND unit = 1")
		p, err = s.GateState(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, 4, p.Capacity, "2 left beside the unit of an order that is not there, 2 live")
		require.ElementsMatch(t, []service.Unit{unit(11, 1, 7), unit(13, 1, 9)}, p.Live)

		rows, err := s.OrdersByID(ctx, []service.ID{11, 12, 98})
		require.NoError(t, err)
		require.Len(t, rows, 2)
		require.Equal(t, service.Cancelled, rows[12].Status)
		many := make([]service.ID, 300)
		for i := range many {
			many[i] = service.ID(i + 1)
		}
		rows, err = s.OrdersByID(ctx, many)
		require.NoError(t, err)
		require.Len(t, rows, 3)
	})
}

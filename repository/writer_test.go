package repository

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

type outcomes = []service.WriteOutcome

func TestWriteBatch(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		voucher(t, s, 1, 10)
		voucher(t, s, 2, 10)
		require.Equal(t, outcomes{service.Wrote, service.Wrote, service.Wrote},
			write(t, s, inFlight(11, 1, 7), inFlight(12, 2, 7), inFlight(13, 1, 8)))
		require.Equal(t, 8, stockOf(t, s, 1))
		require.Equal(t, 9, stockOf(t, s, 2))
		o, err := s.Order(t.Context(), 11)
		require.NoError(t, err)
		require.Equal(t, service.Order{ID: 11, VoucherID: 1, UserID: 7, Status: service.Created, PriceCents: 990,
			CreatedAt: day, UpdatedAt: day}, o)
		has, err := s.HasOrder(t.Context(), 1, 7)
		require.NoError(t, err)
		require.True(t, has)

		none, err := s.WriteBatch(t.Context(), nil, day, nil)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

// The same message twice, in one batch and in two: one order, and the second is done.
func TestWriteBatchRepeated(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		voucher(t, s, 1, 10)
		require.Equal(t, outcomes{service.Wrote, service.Repeated}, write(t, s, inFlight(11, 1, 7), inFlight(11, 1, 7)))
		require.Equal(t, outcomes{service.Repeated, service.Wrote}, write(t, s, inFlight(11, 1, 7), inFlight(12, 1, 8)))
		_, err := s.MoveOrder(t.Context(), service.Move{Order: 11, From: service.Created, To: service.Paid, At: day})
		require.NoError(t, err)
		require.Equal(t, outcomes{service.Repeated}, write(t, s, inFlight(11, 1, 7)), "a paid order is done, too")
		sound(t, s, 1)
		require.Empty(t, dueReturns(t, s))
	})
}

// A row with the id is only "done" if it is the same order.
func TestWriteBatchForeign(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		voucher(t, s, 1, 10)
		voucher(t, s, 2, 10)
		require.Equal(t, outcomes{service.Wrote}, write(t, s, inFlight(11, 1, 7)))
		require.Equal(t, outcomes{service.Foreign, service.Foreign, service.NoVoucher, service.Wrote},
			write(t, s, inFlight(11, 1, 8), inFlight(11, 2, 7), inFlight(12, 3, 7), inFlight(13, 1, 8)))
		sound(t, s, 1)
		sound(t, s, 2)
		_, err := s.Order(t.Context(), 12)
		require.ErrorIs(t, err, service.ErrNotFound)
	})
}

// Redis admitted more than the database has: what fits is written, the rest fails and does not grow the gate.
func TestWriteBatchSoldOut(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		voucher(t, s, 1, 2)
		batch := []service.InFlight{inFlight(11, 1, 7), inFlight(12, 1, 8), inFlight(13, 1, 9)}
		results, err := s.WriteBatch(t.Context(), batch, day, nil)
		require.NoError(t, err)
		require.Equal(t, []service.WriteResult{{Outcome: service.Wrote}, {Outcome: service.Wrote},
			{Outcome: service.RefusedSoldOut, NoRestock: true}}, results)
		back, ok := results[2].Back(batch[2].Unit)
		require.True(t, ok)
		require.Equal(t, service.Back{Unit: batch[2].Unit, NoRestock: true}, back)
		_, ok = results[0].Back(batch[0].Unit)
		require.False(t, ok)
		sound(t, s, 1)

		// The worker dies before it tells Redis: whoever gets the message next learns the same.
		results, err = s.WriteBatch(t.Context(), batch[2:], day, nil)
		require.NoError(t, err)
		require.Equal(t, []service.WriteResult{{Outcome: service.AlreadyEnded, NoRestock: true}}, results)
		require.Equal(t, []service.DueReturn{{Back: back, At: day}}, dueReturns(t, s))
		require.NoError(t, s.ClearReturns(t.Context(), []service.ID{13}))
		require.Empty(t, dueReturns(t, s))
		o, err := s.Order(t.Context(), 13)
		require.NoError(t, err)
		require.Equal(t, service.Failed, o.Status)
	})
}

func TestWriteBatchAlreadyOrdered(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		voucher(t, s, 1, 10)
		require.Equal(t, outcomes{service.Wrote, service.RefusedAlready}, write(t, s, inFlight(11, 1, 7), inFlight(12, 1, 7)))
		require.Equal(t, outcomes{service.RefusedAlready, service.Wrote}, write(t, s, inFlight(13, 1, 7), inFlight(14, 1, 8)))
		require.Equal(t, outcomes{service.AlreadyEnded}, write(t, s, inFlight(13, 1, 7)))
		sound(t, s, 1)
		due := dueReturns(t, s)
		require.Len(t, due, 2)
		require.False(t, due[0].NoRestock)

		// After a cancellation the user may order again, under a new id.
		_, err := s.MoveOrder(t.Context(), service.Move{Order: 11, From: service.Created, To: service.Cancelled, GiveBack: true, At: day})
		require.NoError(t, err)
		require.Equal(t, outcomes{service.AlreadyEnded, service.Wrote}, write(t, s, inFlight(11, 1, 7), inFlight(15, 1, 7)))
		sound(t, s, 1)
	})
}

// Batches of every size fall into statements of few lengths.
func TestWriteBatchSizes(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		voucher(t, s, 1, 1000)
		next := service.ID(1000)
		for _, n := range []int{1, 3, 4, 5, 63, 65, 200, 256} {
			orders := make([]service.InFlight, n)
			for i := range orders {
				next++
				orders[i] = inFlight(next, 1, int64(next))
			}
			for _, o := range write(t, s, orders...) {
				require.Equal(t, service.Wrote, o)
			}
		}
		require.Equal(t, 1000-597, stockOf(t, s, 1))
		sound(t, s, 1)
	})
}

func TestPadded(t *testing.T) {
	require.Equal(t, []int{1, 2, 2, 2}, padded([]int{1, 2}))
	require.Equal(t, []int{1}, padded([]int{1}))
	require.Empty(t, padded([]int{}))
	require.Len(t, padded(make([]int, 65)), 256)
	require.Len(t, padded(make([]int, 300)), 300)
}

// A cancelled write leaves nothing behind.
func TestWriteBatchCancelled(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		voucher(t, s, 1, 10)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.WriteBatch(ctx, []service.InFlight{inFlight(11, 1, 7)}, day, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 10, stockOf(t, s, 1))
	})
}

// A failing statement at the end undoes the whole batch.
func TestWriteBatchRollsBack(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		voucher(t, s, 1, 1)
		runSQL(t, s, "DROP TABLE due_returns")
		_, err := s.WriteBatch(t.Context(), []service.InFlight{inFlight(11, 1, 7), inFlight(12, 1, 8)}, day, nil)
		require.Error(t, err)
		require.Equal(t, 1, stockOf(t, s, 1))
		_, err = s.Order(t.Context(), 11)
		require.ErrorIs(t, err, service.ErrNotFound)
	})
}

// Several workers with overlapping batches (claimed while the first owner still works), cancellations by
// tombstone and by the owner, and sync orders on the same vouchers: every order ends once and no unit is lost.
func TestWriteBatchConcurrently(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		const stock, orders = 40, 120
		voucher(t, s, 1, stock)
		voucher(t, s, 2, stock)
		all := make([]service.InFlight, orders)
		for i := range all {
			all[i] = inFlight(service.ID(1000+i), service.ID(1+i%2), int64(1+i))
		}
		ctx, at := t.Context(), day.Add(time.Second)
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(w)))
				for range 12 {
					from := r.IntN(orders - 20)
					batch := append([]service.InFlight(nil), all[from:from+20]...)
					r.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
					if _, err := s.WriteBatch(ctx, batch, day, nil); err != nil {
						t.Errorf("write: %v", err)
					}
				}
			})
		}
		wg.Go(func() {
			for i := 0; i < orders; i += 3 {
				row, inserted, err := s.Tombstone(ctx, all[i].Unit, service.Cancelled, "by the user", at)
				if err == nil && !inserted && row.Status == service.Created {
					_, err = s.MoveOrder(ctx, service.Move{Order: row.ID, From: service.Created, To: service.Cancelled, GiveBack: true, At: at})
				}
				if err != nil {
					t.Errorf("cancel: %v", err)
				}
			}
		})
		wg.Go(func() {
			for i := range 10 {
				err := s.InTx(ctx, service.TxOptions{Retry: true}, func(tx service.Tx) error {
					o := service.Order{ID: service.ID(5000 + i), VoucherID: 1, UserID: int64(9000 + i), Status: service.Created,
						CreatedAt: day, UpdatedAt: day}
					if err := tx.InsertOrder(ctx, o, true); err != nil {
						return err
					}
					ok, err := tx.TakeOne(ctx, 1, 0)
					if err == nil && !ok {
						err = service.ErrSoldOut
					}
					return err
				})
				if err != nil && !isSoldOut(err) {
					t.Errorf("sync order: %v", err)
				}
			}
		})
		wg.Wait()
		results, err := s.WriteBatch(ctx, all, day, nil)
		require.NoError(t, err)
		sound(t, s, 1)
		sound(t, s, 2)
		due := map[service.ID]bool{}
		for _, d := range dueReturns(t, s) {
			due[d.Order] = true
		}
		for i, r := range results {
			o, err := s.Order(ctx, all[i].Order)
			require.NoError(t, err)
			live := o.Status == service.Created
			require.Equal(t, live, r.Outcome == service.Wrote || r.Outcome == service.Repeated, "%v", o)
			require.Equal(t, !live, due[o.ID], "every ended order is to go back, and no other: %v", o)
		}
	})
}

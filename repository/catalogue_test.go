package repository

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

func TestVoucherComesBackAsItWas(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx := context.Background()
		shanghai := time.FixedZone("CST", 8*3600)
		at := time.Date(2026, 11, 11, 0, 0, 0, 123456789, shanghai)
		v := service.Voucher{ID: math.MaxInt64, Title: "双十一 ☕", Stock: 501, PriceCents: math.MaxInt64,
			BeginAt: at, EndAt: at.Add(time.Hour), CreatedAt: at}
		require.NoError(t, b.CreateVoucher(ctx, v))
		got, err := b.Voucher(ctx, v.ID)
		require.NoError(t, err)
		// S-60: the same instant, in UTC, cut (not rounded) to microseconds.
		v.BeginAt, v.EndAt, v.CreatedAt = stamp(v.BeginAt), stamp(v.EndAt), stamp(v.CreatedAt)
		require.Equal(t, v, got)
		require.Equal(t, time.UTC, got.BeginAt.Location())
		require.Equal(t, "2026-11-10T16:00:00.123456Z", got.BeginAt.Format(time.RFC3339Nano))
		require.Equal(t, service.Counts{Initial: 501, Left: 501}, b.counts(t, v.ID))
	})
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, none := context.Background(), service.ID(12345)
		_, err := b.Voucher(ctx, none)
		require.ErrorIs(t, err, service.ErrNotFound)
		_, err = b.Stock(ctx, none)
		require.ErrorIs(t, err, service.ErrNotFound)
		_, err = b.Order(ctx, none)
		require.ErrorIs(t, err, service.ErrNotFound)
		_, err = b.Counts(ctx, none)
		require.ErrorIs(t, err, service.ErrNotFound)
		require.ErrorIs(t, b.ResetVoucher(ctx, none, 1), service.ErrNotFound)
		list, err := b.Orders(ctx, none)
		require.NoError(t, err)
		require.Empty(t, list)
	})
}

func TestVouchersAreListedNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		want := []service.ID{b.voucher(t, 1), b.voucher(t, 0), b.voucher(t, 2)}
		list, err := b.Vouchers(context.Background(), 2)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, []service.ID{want[2], want[1]}, []service.ID{list[0].ID, list[1].ID})
	})
}

func TestOrdersAndTheirStates(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 10)
		occupies := map[service.Status]bool{service.Created: true, service.Paid: true}
		var want []service.Order
		for i, status := range []service.Status{service.Pending, service.Created, service.Paid, service.Cancelled, service.Failed} {
			o := b.order(t, v, int64(i+1))
			o.Status, o.CreatedAt, o.UpdatedAt = status, stamp(o.CreatedAt), stamp(o.UpdatedAt)
			b.tx(t, func(ctx context.Context, tx service.Tx) error { return tx.InsertOrder(ctx, o, false) })
			has, err := b.HasOrder(ctx, v, o.UserID)
			require.NoError(t, err)
			require.Equal(t, occupies[status], has, status)
			got, err := b.Order(ctx, o.ID)
			require.NoError(t, err)
			require.Equal(t, o, got)
			want = append(want, o)
		}
		got, err := b.Orders(ctx, v)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, service.Counts{Initial: 10, Left: 10, Orders: 2, Users: 2, InFlight: 1}, b.counts(t, v))

		o := b.order(t, v, 99)
		o.Status = "stolen"
		require.Error(t, b.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error { return tx.InsertOrder(ctx, o, false) }))
	})
}

func TestResetStartsAVoucherAnew(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v, other := context.Background(), b.voucher(t, 5), b.voucher(t, 5)
		for _, id := range []service.ID{v, other} {
			require.NoError(t, buy(ctx, b.Store, b.order(t, id, 1)))
			require.NoError(t, takeUnit(ctx, b.Store, b.order(t, id, 2)))
		}
		for _, stock := range []int{1200, 0, 3} {
			require.NoError(t, b.ResetVoucher(ctx, v, stock))
			require.Equal(t, service.Counts{Initial: stock, Left: stock}, b.counts(t, v))
		}
		require.Equal(t, service.Counts{Initial: 5, Left: 3, Orders: 2, Users: 2}, b.counts(t, other))
		require.NoError(t, buy(ctx, b.Store, b.order(t, v, 1)), "the user may order again")
	})
}

package service_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

func TestVouchers_Validate(t *testing.T) {
	s, begin := newShop(t), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	good := service.NewVoucher{Title: "phone", Stock: 1, PriceCents: 1, BeginAt: begin, EndAt: begin.Add(time.Hour)}
	for says, change := range map[string]func(*service.NewVoucher){
		"title":                       func(n *service.NewVoucher) { n.Title = "  " },
		"1 to 200 characters":         func(n *service.NewVoucher) { n.Title = strings.Repeat("手", 201) },
		"title must":                  func(n *service.NewVoucher) { n.Title = "\xff" },
		"stock":                       func(n *service.NewVoucher) { n.Stock = -1 },
		"stock must be 0 to 1000000":  func(n *service.NewVoucher) { n.Stock = service.MaxStock + 1 },
		"price_cents":                 func(n *service.NewVoucher) { n.PriceCents = -1 },
		"begin_at must be before":     func(n *service.NewVoucher) { n.EndAt = begin },
		"must be before end_at":       func(n *service.NewVoucher) { n.EndAt = begin.Add(-1) },
		"years 1970 to 9998":          func(n *service.NewVoucher) { n.BeginAt = time.Time{} },
		"end_at must lie in the year": func(n *service.NewVoucher) { n.EndAt = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
		"at must be before":           func(n *service.NewVoucher) { n.EndAt = begin.Add(time.Nanosecond) }, // none is stored
	} {
		n := good
		change(&n)
		_, err := s.sales.Create(context.Background(), n)
		require.ErrorIs(t, err, service.ErrInvalid, says)
		require.ErrorContains(t, err, says)
	}
}

// S-62, and what comes out is what went in.
func TestVouchers_CreateAndRead(t *testing.T) {
	s, ctx := newShop(t), context.Background()
	begin := time.Date(2026, 1, 1, 8, 0, 0, 123456789, time.FixedZone("CST", 8*3600))
	made, err := s.sales.Create(ctx, service.NewVoucher{
		Title: "  双十一 \t", Stock: 0, PriceCents: 0, BeginAt: begin, EndAt: begin.Add(time.Hour),
	})
	require.NoError(t, err)
	require.Equal(t, "双十一", made.Title)
	v, stock, err := s.sales.Get(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, made, v)
	require.Equal(t, 0, v.Stock)
	require.Equal(t, 0, stock.Left)
	require.True(t, v.BeginAt.Equal(begin.Truncate(time.Microsecond)))
	p := s.open(stageOf(t, "conditional"))
	p.Now = func() time.Time { return begin.Add(time.Minute) }
	require.ErrorIs(t, p.buy(v.ID, 1), service.ErrSoldOut)
	require.Equal(t, service.Audit{VoucherID: v.ID}, s.audit(v.ID))

	later, err := s.sales.Create(ctx, service.NewVoucher{Title: "b", Stock: 1, BeginAt: begin, EndAt: begin.Add(time.Hour)})
	require.NoError(t, err)
	list, err := s.sales.List(ctx)
	require.NoError(t, err)
	require.Equal(t, []service.Voucher{later, made}, list, "the newest first")
	_, _, err = s.sales.Get(ctx, later.ID+1)
	require.ErrorIs(t, err, service.ErrNotFound)
}

func TestVouchers_OrdersAreTheirOwners(t *testing.T) {
	s, ctx := newShop(t), context.Background()
	v, p := s.voucher(5), s.open(stageOf(t, "conditional"))
	o, err := p.Place(ctx, p.stage, v, 7)
	require.NoError(t, err)
	got, err := s.sales.Order(ctx, o.ID, 7)
	require.NoError(t, err)
	require.Equal(t, o, got)
	require.EqualValues(t, 100, got.PriceCents)
	_, err = s.sales.Order(ctx, o.ID, 8)
	require.ErrorIs(t, err, service.ErrForbidden)
	_, err = s.sales.Order(ctx, o.ID+1, 7)
	require.ErrorIs(t, err, service.ErrNotFound)
}

func TestVouchers_Reset(t *testing.T) {
	s, ctx := newShop(t), context.Background()
	v, p := s.voucher(5), s.open(stageOf(t, "conditional"))
	require.NoError(t, p.buy(v, 7))
	orders, err := s.sales.Orders(ctx, v)
	require.NoError(t, err)
	require.Len(t, orders, 1)
	require.ErrorIs(t, s.sales.Reset(ctx, v, -1), service.ErrInvalid)
	require.ErrorIs(t, s.sales.Reset(ctx, v+1, 1), service.ErrNotFound)
	require.NoError(t, s.sales.Reset(ctx, v, 1))
	require.Equal(t, service.Audit{VoucherID: v, InitialStock: 1, StockLeft: 1}, s.audit(v))
	require.NoError(t, p.buy(v, 7), "the order is forgotten")
	require.ErrorIs(t, p.buy(v, 8), service.ErrSoldOut)
	_, err = s.sales.Orders(ctx, v+1)
	require.ErrorIs(t, err, service.ErrNotFound)
}

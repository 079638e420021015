package repository

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

func TestMain(m *testing.M) { os.Exit(backendtest.Main(m)) }

// bench is an empty database with a store on it, as one process has it.
type bench struct {
	*Store
	dsn string
	ids *IDs
}

// each runs the test on every kind of database there is.
func each(t *testing.T, test func(t *testing.T, b bench)) {
	t.Parallel()
	backendtest.EachDB(t, func(t *testing.T, dsn string) {
		t.Parallel()
		test(t, newBench(t, dsn, Options{}))
	})
}

// onMariaDB runs the test where there are row locks.
func onMariaDB(t *testing.T, test func(t *testing.T, b bench)) {
	t.Parallel()
	test(t, newBench(t, backendtest.MariaDB(t), Options{}))
}

func newBench(t testing.TB, dsn string, o Options) bench {
	t.Helper()
	_, err := Migrate(context.Background(), dsn)
	require.NoError(t, err)
	s := openStore(t, dsn, o)
	return bench{Store: s, dsn: dsn, ids: s.IDs(nil)}
}

// openStore opens the store once more, as another process would.
func openStore(t testing.TB, dsn string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), dsn, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func (b bench) id(t testing.TB) service.ID {
	t.Helper()
	id, err := b.ids.NextID(context.Background())
	require.NoError(t, err)
	return id
}

// voucher creates a voucher with this stock.
func (b bench) voucher(t testing.TB, stock int) service.ID {
	t.Helper()
	now := time.Now()
	v := service.Voucher{ID: b.id(t), Title: "coffee", Stock: stock, PriceCents: 990,
		BeginAt: now.Add(-time.Hour), EndAt: now.Add(time.Hour), CreatedAt: now}
	require.NoError(t, b.CreateVoucher(context.Background(), v))
	return v.ID
}

func (b bench) left(t testing.TB, voucher service.ID) int {
	t.Helper()
	st, err := b.Stock(context.Background(), voucher)
	require.NoError(t, err)
	return st.Left
}

func (b bench) counts(t testing.TB, voucher service.ID) service.Counts {
	t.Helper()
	c, err := b.Counts(context.Background(), voucher)
	require.NoError(t, err)
	return c
}

// order is a new order of the user.
func (b bench) order(t testing.TB, voucher service.ID, user int64) service.Order {
	t.Helper()
	now := time.Now()
	return service.Order{ID: b.id(t), VoucherID: voucher, UserID: user, Status: service.Created, PriceCents: 990,
		CreatedAt: now, UpdatedAt: now}
}

// tx runs fn in a write transaction that must succeed.
func (b bench) tx(t testing.TB, fn func(ctx context.Context, tx service.Tx) error) {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, b.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error { return fn(ctx, tx) }))
}

// buy is the conditional stage's transaction: insert, then take one where there is one.
func buy(ctx context.Context, s *Store, o service.Order) error {
	return s.InTx(ctx, service.TxOptions{Retry: true}, func(tx service.Tx) error {
		if err := tx.InsertOrder(ctx, o, true); err != nil {
			return err
		}
		ok, err := tx.TakeOne(ctx, o.VoucherID, 0)
		if err == nil && !ok {
			err = service.ErrSoldOut
		}
		return err
	})
}

// answers counts outcomes by what the caller would be told.
func answers(errs []error) (ok, soldOut, already int, rest []error) {
	for _, err := range errs {
		switch {
		case err == nil:
			ok++
		case errors.Is(err, service.ErrSoldOut):
			soldOut++
		case errors.Is(err, service.ErrAlreadyOrdered):
			already++
		default:
			rest = append(rest, err)
		}
	}
	return ok, soldOut, already, rest
}

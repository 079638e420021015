package repository

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"seckill/service"
)

// day is the clock of these tests.
var day = time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)

// onEachStore runs a test on an empty store of every engine.
func onEachStore(t *testing.T, test func(t *testing.T, s *Store)) {
	each(t, func(t *testing.T, b bench) { test(t, b.Store) })
}

func voucher(t testing.TB, s *Store, id service.ID, stock int) {
	require.NoError(t, s.CreateVoucher(t.Context(), service.Voucher{
		ID: id, Title: "v", Stock: stock, PriceCents: 990,
		BeginAt: day, EndAt: day.AddDate(0, 0, 1), CreatedAt: day,
	}))
}

func inFlight(order, voucher service.ID, user int64) service.InFlight {
	return service.InFlight{Unit: unit(order, voucher, user), At: day}
}

// write writes a batch and returns the outcomes alone.
func write(t testing.TB, s *Store, orders ...service.InFlight) []service.WriteOutcome {
	results, err := s.WriteBatch(t.Context(), orders, day, nil)
	require.NoError(t, err)
	require.Len(t, results, len(orders))
	out := make([]service.WriteOutcome, len(results))
	for i, r := range results {
		out[i] = r.Outcome
	}
	return out
}

func stockOf(t testing.TB, s *Store, id service.ID) int {
	c, err := s.Counts(t.Context(), id)
	require.NoError(t, err)
	require.GreaterOrEqual(t, c.Left, 0)
	return c.Left
}

// sound: no unit of the voucher is lost or sold twice.
func sound(t testing.TB, s *Store, id service.ID) {
	c, err := s.Counts(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, c.Initial, c.Left+c.Orders, "drift")
	require.Equal(t, c.Orders, c.Users, "duplicates")
}

func dueReturns(t testing.TB, s *Store) []service.DueReturn {
	list, err := s.DueReturns(t.Context(), day.AddDate(1, 0, 0), 1000)
	require.NoError(t, err)
	return list
}

// runSQL runs a statement behind the store's back.
func runSQL(t testing.TB, s *Store, query string, args ...any) {
	require.NoError(t, s.inGormTx(t.Context(), func(db *gorm.DB) error { return db.Exec(query, args...).Error }))
}

func isSoldOut(err error) bool { return errors.Is(err, service.ErrSoldOut) }

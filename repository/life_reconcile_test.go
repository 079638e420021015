package repository

import (
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

// The worker died after it had refused an order for want of stock. Whoever finds the order in flight follows what the
// transaction noted: the database never had the unit, so the gate must not get it.
func TestReconcileDoesNotRestockWhatNeverWas(t *testing.T) {
	onEachStore(t, func(t *testing.T, s *Store) {
		l := newLifeRun(t, 0, s, miniClient(t))
		runSQL(t, s, "UPDATE stock SET stock = 1 WHERE voucher_id = ?", int64(l.voucher))
		runSQL(t, s, "UPDATE vouchers SET stock = 1 WHERE id = ?", int64(l.voucher))
		require.NoError(t, admit(t, l.gate, l.voucher, true, 11, 7).Err)
		require.NoError(t, admit(t, l.gate, l.voucher, true, 12, 8).Err)
		require.Equal(t, 4, counters(t, l.gate, l.voucher).Stock)
		results, err := s.WriteBatch(t.Context(), []service.InFlight{inFlight(11, l.voucher, 7), inFlight(12, l.voucher, 8)}, day, nil)
		require.NoError(t, err)
		require.Equal(t, service.RefusedSoldOut, results[1].Outcome)

		found, err := l.keeper.Stale(t.Context())
		require.NoError(t, err)
		require.Len(t, found, 2)
		c := counters(t, l.gate, l.voucher)
		require.Equal(t, [3]int{4, 1, 0}, [3]int{c.Stock, c.Holders, c.InFlight})
		require.Empty(t, dueReturns(t, s))
	})
}

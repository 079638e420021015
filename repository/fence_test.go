package repository

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

func TestAFenceRefusesWhoCameBefore(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 10)
		in := func(fn func(service.Tx) error) error { return b.InTx(ctx, service.TxOptions{}, fn) }
		claim := func(f int64) error { return in(func(tx service.Tx) error { return tx.ClaimFence(ctx, v, f) }) }
		set := func(n int, f int64) error { return in(func(tx service.Tx) error { return tx.SetStock(ctx, v, n, f) }) }
		take := func(f int64) (ok bool, err error) {
			err = in(func(tx service.Tx) error { ok, err = tx.TakeOne(ctx, v, f); return err })
			return ok, err
		}
		require.ErrorIs(t, claim(0), service.ErrInvalid)
		require.ErrorIs(t, claim(-4), service.ErrInvalid)
		require.NoError(t, claim(7))
		require.ErrorIs(t, claim(7), service.ErrLockLost, "a token claims once")
		require.NoError(t, set(9, 7))
		require.NoError(t, set(9, 7), "the same value again")
		require.NoError(t, claim(8))
		require.ErrorIs(t, set(5, 7), service.ErrLockLost)
		_, err := take(7)
		require.ErrorIs(t, err, service.ErrLockLost)
		ok, err := take(8)
		require.NoError(t, err)
		require.True(t, ok)
		require.ErrorIs(t, claim(6), service.ErrLockLost)
		require.NoError(t, set(0, 8))
		ok, err = take(8)
		require.NoError(t, err, "the fence is right, there is just nothing left")
		require.False(t, ok)
		require.ErrorIs(t, in(func(tx service.Tx) error { return tx.ClaimFence(ctx, v+1, 9) }), service.ErrLockLost)
	})
}

// A reset for the next lab run must not let a holder from before it write.
func TestResetKeepsTheFence(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, v := context.Background(), b.voucher(t, 10)
		b.tx(t, func(ctx context.Context, tx service.Tx) error { return tx.ClaimFence(ctx, v, 7) })
		require.NoError(t, b.ResetVoucher(ctx, v, 4))
		err := b.InTx(ctx, service.TxOptions{}, func(tx service.Tx) error { return tx.ClaimFence(ctx, v, 6) })
		require.ErrorIs(t, err, service.ErrLockLost)
	})
}

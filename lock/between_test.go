package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/lock/locktest"
)

// A crash is not all that can come between two commands: a wait that ends there leaves the key without its expiry as
// well, in a process that lives.
func TestWaitThatEndsBetweenTwoCommandsLeavesTheLockTaken(t *testing.T) {
	locktest.NeedServer(t)
	rdb := locktest.Spawn(t, 1)[0].Client()
	defer rdb.Close()
	for kind, stuck := range map[string]bool{"setnx-expire": true, "hash": true, "expire": false, "lua": false} {
		ctx, leave := context.WithCancel(t.Context())
		holds := &lock.Holds{}
		holds.On(lock.HoldAcquireBetween, 0, 1, leave)
		l, err := lock.Open(kind, lock.Resources{Redis: rdb}, lock.Options{TTL: 50 * time.Millisecond, Holds: holds})
		require.NoError(t, err)
		held, err := l.Acquire(ctx, kind)
		if held != nil {
			require.False(t, stuck)
			require.NoError(t, held.Release(t.Context()))
		}
		leave()
		_, again := l.Acquire(t.Context(), kind)
		if stuck {
			require.Error(t, err, kind)
			require.ErrorIs(t, again, lock.ErrBusy, kind)
			left, err := rdb.PTTL(t.Context(), rdb.Keys(t.Context(), "*"+kind+"*").Val()[0]).Result()
			require.NoError(t, err)
			require.EqualValues(t, -1, left, "%s: the key never lapses", kind)
		} else {
			require.NoError(t, again, kind)
		}
		require.NoError(t, l.Close(context.Background()))
	}
}

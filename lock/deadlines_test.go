package lock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// leaseFor makes a lease of a lock that nobody can reach.
func leaseFor(t *testing.T, l *locker, ttl time.Duration) *Lease {
	lease, err := l.grantTo(t.Context(), "k", "lock:{k}", grant{held: true, sent: time.Now(), ttl: ttl}, nil)
	require.NoError(t, err)
	return lease
}

// Leases share one timer, and each ends at its own deadline all the same: one that comes later and ends sooner, one
// that was renewed meanwhile, and one that comes when the timer is off.
func TestEachLeaseEndsAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bg := newBackground()
		l := &locker{guarded: true, bg: bg, alg: &idea{}}
		began := time.Now()
		endsAfter := func(s *Lease, ttl time.Duration) {
			t.Helper()
			<-s.Context().Done()
			require.ErrorIs(t, context.Cause(s.Context()), ErrExpired)
			require.Equal(t, began.Add(ttl-drift(ttl)), time.Now())
		}
		slow, renewed, soon := leaseFor(t, l, time.Minute), leaseFor(t, l, 20*time.Second), leaseFor(t, l, 10*time.Second)
		given := leaseFor(t, l, 5*time.Second)
		require.NoError(t, context.Cause(given.Context()))
		given.own.leave(given)
		l.forget(given.own)
		endsAfter(soon, 10*time.Second)
		renewed.own.confirm(began, 40*time.Second, false)
		endsAfter(renewed, 40*time.Second)
		endsAfter(slow, time.Minute)
		began = time.Now()
		endsAfter(leaseFor(t, l, time.Second), time.Second)
		require.NoError(t, bg.close(t.Context()))
	})
}

// A lease that Close has ended leaves no timer that rings.
func TestCloseStopsTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bg := newBackground()
		s := leaseFor(t, &locker{guarded: true, bg: bg, alg: &idea{}}, time.Minute)
		require.NoError(t, bg.close(t.Context()))
		require.ErrorIs(t, context.Cause(s.Context()), ErrClosed)
		require.False(t, bg.deadlines.timer.Stop(), "it was stopped")
	})
}

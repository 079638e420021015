package lock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lease that Check has called lost stays lost: a renewal's answer that comes before the timer has had its turn does
// not bring it back.
func TestLostStaysLost(t *testing.T) {
	own := &ownership{l: &locker{guarded: true}, deadline: time.Now()}
	require.ErrorIs(t, own.check(), ErrExpired)
	own.confirm(time.Now(), time.Minute, false)
	require.ErrorIs(t, own.check(), ErrExpired)
}

// A share that is given back after the deadline is lost, also when the lease's own timer has not had its turn and other
// shares are left.
func TestAShareGivenBackTooLateIsLost(t *testing.T) {
	l := &locker{guarded: true, reentry: reentryLocal, bg: newBackground()}
	own := &ownership{l: l}
	inner, _ := newShare(t.Context(), own, nil), newShare(t.Context(), own, nil)
	own.deadline = time.Now()
	require.ErrorIs(t, inner.Release(t.Context()), ErrExpired)
}

// A lease that MaxHold ends says so, also when its last renewal did not move the deadline, because Redis counts whole
// milliseconds.
func TestMaxHoldIsTheCause(t *testing.T) {
	own := &ownership{l: &locker{}}
	now := time.Now()
	own.confirm(now, 30*time.Millisecond, false)
	maxAt := now.Add(30*time.Millisecond + time.Microsecond)
	again := now.Add(10*time.Millisecond + 500*time.Microsecond)
	ttl, clipped := clip(30*time.Millisecond, again, maxAt)
	own.confirm(again, ttl, clipped)
	time.Sleep(time.Until(maxAt))
	require.ErrorIs(t, own.check(), ErrMaxHold)
}

// fleeting is a lock whose leases end while Acquire makes them.
type fleeting struct{ idea }

func (*fleeting) keep(s *Lease) { s.own.end(ErrLost) }

// A lease that ends while Acquire makes it stays on no list.
func TestALeaseThatEndsAtOnceIsForgotten(t *testing.T) {
	bg := newBackground()
	lease := leaseFor(t, &locker{guarded: true, bg: bg, alg: &fleeting{}}, time.Minute)
	require.ErrorIs(t, lease.Check(), ErrLost)
	require.Empty(t, bg.live)
	require.NoError(t, bg.close(t.Context()))
}

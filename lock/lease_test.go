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

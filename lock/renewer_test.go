package lock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Leases that follow each other and are given back at once share one goroutine: to start one wakes a thread, which
// costs as much as the commands of the lease.
func TestShortLeasesShareTheRenewersGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bg := newBackground()
		r := newRenewer(Options{}.withDefaults(), bg, nil)
		for range 3 {
			own := &ownership{}
			r.add(own, grant{sent: time.Now()})
			r.remove(own)
			synctest.Wait()
			require.Equal(t, 1, goroutines(bg), "it waits for the next lease")
		}
		time.Sleep(r.o.TTL)
		synctest.Wait()
		require.Zero(t, goroutines(bg), "it ends when none has come")
	})
}

func goroutines(bg *background) int {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	return bg.n
}

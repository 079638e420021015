package lock

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// deadlines is the timer that ends the overdue leases of a Client. It is one for all of them, because to start and stop
// one for each costs a tenth of what a lock costs above the bare commands. It is set for the earliest deadline that it
// has heard of. Renewals only move deadlines away: so it mostly rings too early, and then looks when the next one is.
type deadlines struct {
	mu    sync.Mutex
	timer *time.Timer
	rings time.Time // zero: it is off
}

// watch sees that b looks for overdue leases at until or before.
func (d *deadlines) watch(b *background, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.rings.IsZero() && !until.Before(d.rings):
		return
	case d.timer == nil:
		d.timer = time.AfterFunc(time.Until(until), b.endOverdue)
	default:
		d.timer.Reset(time.Until(until))
	}
	d.rings = until
}

// rang notes that the timer is off.
func (d *deadlines) rang() {
	d.mu.Lock()
	d.rings = time.Time{}
	d.mu.Unlock()
}

// stop turns the timer off, when no lease is live any more.
func (d *deadlines) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
}

// endOverdue ends the leases whose deadline has passed, on the timer's own goroutine, so that they end even when a
// renewal is stuck.
func (b *background) endOverdue() {
	b.deadlines.rang()
	b.mu.Lock()
	live := slices.Collect(maps.Keys(b.live))
	b.mu.Unlock()
	for _, o := range live {
		if until := o.endIfOverdue(); !until.IsZero() {
			b.deadlines.watch(b, until)
		}
	}
}

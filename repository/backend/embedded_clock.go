package backend

import (
	"time"

	"github.com/alicebob/miniredis/v2"
)

// coarseAbove is the number of keys from which on exact expiry costs more than the commands themselves.
const coarseAbove = 300

// Bounds of one step of the coarse clock.
const (
	leastStep = time.Millisecond
	mostStep  = 50 * time.Millisecond
)

// embeddedClock makes the TTLs of one miniredis run, which by itself it does not do.
//
// miniredis's ClockTTL makes every access to a database first take the time that passed off all TTLs, under the
// server's own lock: a key is gone exactly when its TTL is over and never a moment earlier. But that walks over all
// keys, several times per command. So from coarseAbove keys on the clock that miniredis looks at is moved in steps:
// the walk is made once per step, and a key may go early by at most two steps. A step is five times as long as the
// walk takes (1 ms to 50 ms).
type embeddedClock struct {
	redis *miniredis.Miniredis
	check time.Duration // how often the keys are counted
	stop  chan struct{}
	done  chan struct{}
}

func startClock(m *miniredis.Miniredis, check time.Duration) *embeddedClock {
	m.ClockTTL(true)
	c := &embeddedClock{redis: m, check: check, stop: make(chan struct{}), done: make(chan struct{})}
	go c.run()
	return c
}

func (c *embeddedClock) close() {
	close(c.stop)
	<-c.done
}

func (c *embeddedClock) run() {
	defer close(c.done)
	for c.sleep(c.check) {
		if len(c.redis.DB(0).Keys()) > coarseAbove {
			c.runCoarse() // for good: miniredis can't be given its own clock back without a jump
			return
		}
	}
}

func (c *embeddedClock) runCoarse() {
	step, now := leastStep, time.Now()
	for {
		// Never further than two steps, also when this goroutine was kept from running: a key that was set just
		// before would lose all of it. The clock catches up with the following steps.
		now = now.Add(min(time.Since(now), 2*step))
		c.redis.SetTime(now)
		began := time.Now()
		c.redis.DB(0) // walks over the keys
		step = min(max(5*time.Since(began), leastStep), mostStep)
		if !c.sleep(step) {
			return
		}
	}
}

// sleep tells whether to go on.
func (c *embeddedClock) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.stop:
		return false
	}
}

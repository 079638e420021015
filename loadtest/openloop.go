package loadtest

import (
	"context"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// maxLate is how late a request of an open load may begin. A machine that can't keep the rate up shows it as dropped
// requests, and not as a lower rate that nobody asked for.
const maxLate = 100 * ms

// openLoop paces an attack at a constant rate. A click whose turn comes while all workers wait for answers is dropped:
// sending it later would let slow servers choose how much load they get.
type openLoop struct {
	ctx     context.Context
	pacer   vegeta.ConstantPacer
	workers int
	clicks  *targeter
	dropped func()

	turn uint64 // clicks that had their turn
	mu   sync.Mutex
	busy int // workers that have a click
}

// Pace waits for the next click's turn and for nothing else: until a worker is free at a turn it goes on dropping.
func (o *openLoop) Pace(elapsed time.Duration, _ uint64) (time.Duration, bool) {
	began := time.Now().Add(-elapsed)
	o.clicks.handOver()
	for o.ctx.Err() == nil && o.clicks.waiting() > 0 {
		now := time.Since(began)
		wait, _ := o.pacer.Pace(now, o.turn)
		if wait > 0 {
			if pause(o.ctx, wait) != nil {
				break
			}
			now = time.Since(began)
		}
		due := time.Duration(float64(o.turn+1) * float64(o.pacer.Per) / float64(o.pacer.Freq))
		o.turn++
		if now-due <= maxLate && o.take() {
			o.clicks.reserve()
			return 0, false
		}
		o.clicks.drop()
		o.dropped()
	}
	return 0, true
}

// Rate implements vegeta.Pacer.
func (o *openLoop) Rate(at time.Duration) float64 { return o.pacer.Rate(at) }

// take finds a free worker.
func (o *openLoop) take() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy == o.workers {
		return false
	}
	o.busy++
	return true
}

// free notes that a worker's click was answered.
func (o *openLoop) free() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy--
}

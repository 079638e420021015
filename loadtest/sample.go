package loadtest

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	sampleEvery = 100 * ms
	// sampleTimeout bounds one look at the counts: a server that stands still must not end the series.
	sampleTimeout = 500 * ms
	// sampleShare: between two looks passes at least so many times what the last one took, so that looking stays a small
	// part of the load.
	sampleShare = 10
	maxSamples  = 200
)

// Sample is the state of a sale at one moment of its row. All counts are totals since the first click.
type Sample struct {
	AtMS      float64 `json:"at_ms"`      // since the load began
	StockLeft int     `json:"stock_left"` // the stock column
	Orders    int     `json:"orders"`     // created and paid
	InFlight  int     `json:"in_flight"`  // accepted and not yet written
	Accepted  int     `json:"accepted"`   // answers, as clients counted them
	Rejected  int     `json:"rejected"`
	// RejectedBy is the same by reason.
	RejectedBy Rejected `json:"rejected_by"`
	Errors     int      `json:"errors"` // with requests that got no answer
	Dropped    int      `json:"dropped"`
	Processes  []int    `json:"processes"` // accepted, by process
	// LatencyMS is the mean of the answers since the sample before; without any, that one's.
	LatencyMS float64 `json:"latency_ms"`
	// Stale: no server answered in time, so stock, orders and in flight are those of the sample before.
	Stale bool `json:"stale,omitempty"`
}

// Phases of a row that runs, in order.
const (
	PhaseStarting = "starting" // the servers start
	PhaseWarmup   = "warmup"   // a sale that does not count, where one was asked for
	PhaseRunning  = "running"  // users click; samples come
	PhaseDraining = "draining" // orders in flight are waited for and all orders counted; one last sample comes
)

// Moment is what Runner.Watch is told: the beginning of a phase, or a sample within one.
type Moment struct {
	Attempt int     `json:"attempt"` // from 1; a further one begins with PhaseStarting, and the samples begin again
	Phase   string  `json:"phase"`
	Sample  *Sample `json:"sample,omitempty"`
}

// counter adds answers up while the load runs. Safe for concurrent use.
type counter struct {
	mu     sync.Mutex
	now    Sample
	fresh  int           // answers since the last look
	waited time.Duration // theirs together
}

func newCounter(processes int) *counter {
	return &counter{now: Sample{Processes: make([]int, processes)}}
}

func (c *counter) add(o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh++
	c.waited += o.latency
	switch o.answer {
	case accepted:
		c.now.Accepted++
		c.now.Processes[o.process]++
	case failed, unknown:
		c.now.Errors++
	default:
		c.now.Rejected++
		c.now.RejectedBy.add(o.answer)
	}
}

func (c *counter) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Dropped++
}

func (c *counter) read() Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh > 0 {
		c.now.LatencyMS = milliseconds(c.waited) / float64(c.fresh)
		c.fresh, c.waited = 0, 0
	}
	s := c.now
	s.Processes = slices.Clone(s.Processes)
	return s
}

// sampler records the series of one row.
type sampler struct {
	began   time.Time
	counter *counter
	look    func(context.Context) (audit, error)
	each    func(Sample)

	last   audit
	series series
	done   chan struct{}
	cancel context.CancelFunc
}

// newSampler starts sampling. stop has to be called.
func newSampler(ctx context.Context, stock int, c *counter, look func(context.Context) (audit, error), each func(Sample)) *sampler {
	ctx, cancel := context.WithCancel(ctx)
	s := &sampler{
		began: time.Now(), counter: c, look: look, each: each, last: audit{InitialStock: stock, StockLeft: stock},
		done: make(chan struct{}), cancel: cancel,
	}
	s.record(false)
	go s.run(ctx)
	return s
}

func (s *sampler) run(ctx context.Context) {
	defer close(s.done)
	wait := sampleEvery
	for pause(ctx, wait) == nil {
		asked := time.Now()
		now, err := s.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			s.last = now
		}
		s.record(err != nil)
		wait = max(sampleEvery, sampleShare*time.Since(asked))
	}
}

func (s *sampler) ask(ctx context.Context) (audit, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	return s.look(ctx)
}

// record takes a sample with the last counts of stock and orders.
func (s *sampler) record(stale bool) {
	now := s.counter.read()
	now.AtMS = milliseconds(time.Since(s.began))
	now.StockLeft, now.Orders, now.InFlight, now.Stale = s.last.StockLeft, s.last.Orders, s.last.InFlight, stale
	s.series.add(now)
	s.each(now)
}

// stop ends the sampling and waits for it.
func (s *sampler) stop() {
	s.cancel()
	<-s.done
}

// finish adds the counts of the drained row as the last sample. Call it after stop.
func (s *sampler) finish(end audit) {
	s.last = end
	s.record(false)
}

// series keeps at most maxSamples samples, evenly spread over the row: when it is full, every second one goes, and
// from then on only every second one comes in.
type series struct {
	kept   []Sample
	stride int
	seen   int
	newest Sample
}

func (s *series) add(one Sample) {
	s.stride = max(s.stride, 1)
	s.newest = one
	if s.seen%s.stride == 0 {
		if len(s.kept) == maxSamples {
			s.kept = halved(s.kept)
			s.stride *= 2
		}
		s.kept = append(s.kept, one)
	}
	s.seen++
}

func halved(all []Sample) []Sample {
	var half []Sample
	for i := 0; i < len(all); i += 2 {
		half = append(half, all[i])
	}
	return half
}

// all are the samples kept, always with the newest.
func (s *series) all() []Sample {
	if n := len(s.kept); n > 0 && s.kept[n-1].AtMS == s.newest.AtMS {
		return s.kept
	}
	return append(slices.Clone(s.kept), s.newest)
}

package repository

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/service"
)

// An id is 41 bits of milliseconds since epoch, 10 bits of worker number and 12 bits of sequence.
const (
	workerBits = 10
	seqBits    = 12
	maxWorkers = 1 << workerBits
	maxSeq     = 1<<seqBits - 1
	maxMS      = 1<<41 - 1
)

// epoch is where the milliseconds of an id start; 41 bits reach to 2093.
var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	// leaseMillis is for how far ahead a worker number is leased. It is renewed when half of it is used up; the
	// other half is how long ids go on without the database.
	leaseMillis = 300_000
	// renewPatience bounds a renewal while the present lease still holds.
	renewPatience = 250 * time.Millisecond
)

// IDs mints time-ordered ids. It implements service.IDSource, starts no goroutine and is safe for concurrent use.
//
// What is leased is not a number for some time of day but an interval of the id space: the owner of a worker number
// may mint ids up to the millisecond until_ms, and the next owner starts after it. So two owners never mint the same
// id, even when their clocks disagree or jump. Within one process ids only grow: when the clock steps back, they go
// on from the last millisecond.
type IDs struct {
	store *Store
	now   func() time.Time

	mu      sync.Mutex
	lease   workerLease
	lastMS  int64 // millisecond of the last id
	seq     int64 // sequence of the last id
	retryMS int64 // no renewal before this millisecond
}

var _ service.IDSource = (*IDs)(nil)

// IDs returns a source of ids on a worker number of its own, leased at the first NextID. now is the clock; nil is
// time.Now.
func (s *Store) IDs(now func() time.Time) *IDs {
	if now == nil {
		now = time.Now
	}
	return &IDs{store: s, now: now}
}

// NextID mints an id that is greater than all before it from this source. It asks the database only when the lease
// of the worker number has to be renewed, every few minutes, and goes on for minutes when the database is away.
func (g *IDs) NextID(ctx context.Context) (service.ID, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ms, seq := g.next()
	owner := g.lease.owner
	if err := g.cover(ctx, ms); err != nil {
		return 0, fmt.Errorf("mint an id: %w", err)
	}
	if g.lease.owner != owner && ms == g.lastMS {
		ms, seq = ms+1, 0 // the new worker number may be lower than the one of the last id
	}
	if ms > maxMS {
		return 0, errors.New("mint an id: the clock is beyond the year 2093")
	}
	g.lastMS, g.seq = ms, seq
	return service.ID(ms<<(workerBits+seqBits) | int64(g.lease.worker)<<seqBits | seq), nil
}

// next is the place after the last id: now, or, when the clock has not moved on or went back, the next sequence
// number, running into the next millisecond when those are used up.
func (g *IDs) next() (ms, seq int64) {
	now := g.now().Sub(epoch).Milliseconds()
	switch {
	case now > g.lastMS:
		return now, 0
	case g.seq < maxSeq:
		return g.lastMS, g.seq + 1
	}
	return g.lastMS + 1, 0
}

// cover makes sure that the lease reaches to ms. While the present lease does, a renewal is tried for a short time
// and not at every call, and its failure is no failure of the id.
func (g *IDs) cover(ctx context.Context, ms int64) error {
	covered := g.lease.held && ms < g.lease.until // and not its last one: NextID may go one further
	if covered && (ms < g.lease.until-leaseMillis/2 || ms < g.retryMS) {
		return nil
	}
	if covered {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), renewPatience)
		defer cancel()
	}
	renewed, err := g.store.leaseWorker(ctx, g.lease, ms)
	if err != nil && covered {
		g.retryMS = ms + time.Second.Milliseconds()
		return nil
	}
	if err == nil {
		g.lease = renewed
	}
	return err
}

// Close gives the worker number back, so that another process can have it at once. NextID leases anew afterwards.
func (g *IDs) Close(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.lease.held {
		return nil
	}
	err := g.store.releaseWorker(ctx, g.lease, g.lastMS)
	g.lease = workerLease{}
	return err
}

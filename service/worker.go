package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/lock"
)

// Hold points of a worker, between every two of its steps. HoldCritical and HoldCommit are reached too: before the
// write and, where the store has it, inside of its transaction.
const (
	HoldWorkerRead      = "worker-read"      // messages were delivered to this worker; nothing is written
	HoldWorkerCommitted = "worker-committed" // the batch stands in the database; nothing is acknowledged
	HoldWorkerReturned  = "worker-returned"  // refused orders' units are back; their messages are still there
	HoldWorkerAcked     = "worker-acked"     // the batch is acknowledged
	HoldWorkerBuried    = "worker-buried"    // the message is a dead letter; its order is not ended yet
)

// WorkerOptions say how a worker works. The zero value is usable.
type WorkerOptions struct {
	// Batch is how many orders one transaction writes at most. Default 200.
	Batch int
	// Block is how long one read waits for new orders, which is also how long Stop waits for an idle worker.
	// Default 500 ms.
	Block time.Duration
	// ClaimIdle is how long a message must have been left alone by its worker before another one takes it over.
	// Taking over from a worker that is alive but slow is safe, only wasteful. Default 3 s.
	ClaimIdle time.Duration
	// ClaimEvery is how often a worker looks for such messages, and tries its own failed ones again. Default 1 s.
	ClaimEvery time.Duration
	// MaxDeliveries is how often an order that fails alone, while the database answers, is tried before it becomes
	// a dead letter. Default 5.
	MaxDeliveries int64
	// WriteWithin bounds one transaction. Default 10 s.
	WriteWithin time.Duration
	// Work is how long every order computes before it is written; the orders of a batch do it at the same time.
	// Default 0.
	Work time.Duration
	// Holds are the hold points of a lab run or a test. Default nil: off.
	Holds *lock.Holds
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Log gets what goes wrong. Default slog.Default().
	Log *slog.Logger
}

func (o *WorkerOptions) setDefaults() {
	for _, d := range []struct {
		to *time.Duration
		by time.Duration
	}{
		{&o.Block, 500 * time.Millisecond}, {&o.ClaimIdle, 3 * time.Second}, {&o.ClaimEvery, time.Second},
		{&o.WriteWithin, 10 * time.Second},
	} {
		if *d.to <= 0 {
			*d.to = d.by
		}
	}
	if o.Batch <= 0 {
		o.Batch = 200
	}
	if o.MaxDeliveries <= 0 {
		o.MaxDeliveries = 5
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
}

// Worker writes accepted orders from the stream to the database, in batches, until it is told to stop. Nothing is
// acknowledged that was not written, and nothing is lost when the process dies: another worker takes its messages over,
// and writing an order twice leaves one row.
type Worker struct {
	queue   Queue
	writer  BatchWriter
	store   LifeStore
	returns *Returns
	opt     WorkerOptions
}

// NewWorker makes a worker; Run starts it. queue must be its own: a consumer with a name that no other has.
func NewWorker(queue Queue, writer BatchWriter, returns *Returns, o WorkerOptions) *Worker {
	o.setDefaults()
	return &Worker{queue: queue, writer: writer, store: returns.Store, returns: returns, opt: o}
}

// Run works until ctx ends, one goroutine for each partition of the stream. Then it reads no more, finishes the batch
// in hand and leaves the consumer group. A batch that the database does not take in that time stays unacknowledged.
func (w *Worker) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for p := range w.queue.Partitions() {
		wg.Go(func() { (&lane{Worker: w, partition: p}).run(ctx) })
	}
	wg.Wait()
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	// Consumers of dead processes are forgotten too, once they are surely dead and have nothing left.
	if err := w.queue.Leave(leave, time.Hour); err != nil {
		w.opt.Log.Warn("the worker could not leave its group", "error", err)
	}
}

// lane is a worker's work on one partition. It is one goroutine's.
type lane struct {
	*Worker
	partition int
	swept     time.Time        // when the last sweep began
	failures  map[string]int64 // failed attempts by message id, of orders that failed alone
	pauses    int              // pauses in a row
}

// run alternates between what was left over and what is new. After a failure it looks at the leftovers first, so it
// takes nothing new on while it can't finish what it has.
func (l *lane) run(ctx context.Context) {
	l.failures = map[string]int64{}
	for ctx.Err() == nil {
		err := l.sweep(ctx)
		if err == nil {
			err = l.fresh(ctx)
		}
		if err != nil && ctx.Err() == nil {
			l.opt.Log.Warn("the worker can't go on for now", "partition", l.partition, "error", err)
			l.swept = time.Time{}
			l.pause(ctx)
			continue
		}
		l.pauses = 0
	}
}

// fresh reads new messages and writes them.
func (l *lane) fresh(ctx context.Context) error {
	entries, err := l.queue.Read(ctx, l.partition, l.opt.Batch, l.opt.Block)
	if err != nil {
		return err
	}
	return l.process(ctx, entries)
}

// sweep deals with leftovers now and then, and at the start: messages that were delivered to this worker and are not
// acknowledged, because their write failed or the reply that carried them was lost, and messages of dead workers.
func (l *lane) sweep(ctx context.Context) error {
	now := l.opt.Now()
	if !l.swept.IsZero() && now.Sub(l.swept) < l.opt.ClaimEvery {
		return nil
	}
	for after := "0"; ctx.Err() == nil; {
		entries, err := l.queue.Own(ctx, l.partition, l.opt.Batch, after)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		if err := l.process(ctx, entries); err != nil {
			return err
		}
		after = entries[len(entries)-1].ID
	}
	for ctx.Err() == nil {
		entries, err := l.queue.Claim(ctx, l.partition, l.opt.Batch, l.opt.ClaimIdle)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		if err := l.process(ctx, entries); err != nil {
			return err
		}
	}
	l.swept = now
	return nil
}

// pause backs off and tells whether the worker may go on. Pauses grow to about a second and are never exact: the
// workers of all processes lose the database at the same moment and should not come back as one.
func (l *lane) pause(ctx context.Context) bool {
	d := 20*time.Millisecond + 32*backoff(l.pauses)
	l.pauses++
	return sleep(ctx, d)
}

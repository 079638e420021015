package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"seckill/lock"
)

// DefaultPaymentTimeout is how long an order may stay unpaid.
const DefaultPaymentTimeout = 15 * time.Minute

// jobLimit is how much one run of a job takes on; the next run takes the rest.
const jobLimit = 500

// Duty is a job that runs again and again, in one process of many at a time.
type Duty struct {
	Name string
	// Every is how long a process pauses after its turn. Runs begin at least half of it apart in all processes together,
	// and at most 1.5 times it plus what a run takes.
	Every time.Duration
	Run   func(context.Context) error
}

// Duties are the jobs that keep orders whole. unpaid is how long an order may stay unpaid; idempotency may be nil.
func Duties(life *Life, r *Reconciler, idempotency *Idempotency, unpaid time.Duration, log *slog.Logger) []Duty {
	list := []Duty{
		{Name: "unpaid", Every: time.Second, Run: func(ctx context.Context) error {
			return more(ctx, func() (int, error) { return life.CancelUnpaid(ctx, life.now().Add(-unpaid), jobLimit) })
		}},
		{Name: "returns", Every: time.Second, Run: func(ctx context.Context) error {
			// Younger ones are being given back right now by whoever ended the order.
			return more(ctx, func() (int, error) { return life.Returns.BackDue(ctx, life.now().Add(-time.Second), jobLimit) })
		}},
		{Name: "reconcile", Every: time.Second, Run: func(ctx context.Context) error {
			found, err := r.Stale(ctx)
			for _, f := range found {
				log.Info("reconciled an order in flight", "kind", f.Kind, "order", f.Order, "voucher", f.Voucher, "why", f.Text)
			}
			return err
		}},
	}
	if idempotency != nil {
		list = append(list, Duty{Name: "idempotency-keys", Every: time.Minute, Run: func(ctx context.Context) error {
			_, err := idempotency.Forget(ctx)
			return err
		}})
	}
	return list
}

// more repeats a run while it finds as much as it takes on.
func more(ctx context.Context, run func() (int, error)) error {
	for ctx.Err() == nil {
		if n, err := run(); err != nil || n < jobLimit {
			return err
		}
	}
	return ctx.Err()
}

// Janitor runs duties under a lock of this project, so that each runs in one process of all that have a janitor. Its
// fields are set before Run.
type Janitor struct {
	Duties []Duty
	// Locker is a renewed lock (watchdog) with Wait 0: who does not get it lets the other one work. When its holder
	// dies, its TTL is how long the duty pauses.
	Locker lock.Locker
	// Log gets what goes wrong. Default slog.Default().
	Log *slog.Logger
}

// JobLockTTL is a good TTL for Janitor's lock: short, because a duty is needed again within seconds of a crash, and
// long against a renewal that is late.
const JobLockTTL = 2 * time.Second

// Run works until ctx ends and every duty in hand has ended.
func (j *Janitor) Run(ctx context.Context) {
	log := j.Log
	if log == nil {
		log = slog.Default()
	}
	var wg sync.WaitGroup
	for _, d := range j.Duties {
		wg.Go(func() {
			for ok := true; ok; ok = sleep(ctx, d.Every) {
				if err := j.once(ctx, d); err != nil && ctx.Err() == nil {
					log.Warn("a job failed and will run again", "job", d.Name, "error", err)
				}
			}
		})
	}
	wg.Wait()
}

// once runs the duty when no other process does. The run ends with the lock: somebody else may run it from then on.
func (j *Janitor) once(ctx context.Context, d Duty) error {
	lease, err := j.Locker.Acquire(ctx, "job:"+d.Name)
	if errors.Is(err, lock.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	run, cancel := withCancelOf(lease.Context(), ctx)
	defer cancel()
	err = d.Run(run)
	// The rest of the period is spent with the lock, so that the other processes' runs do not add to this one's.
	if err == nil {
		sleep(run, d.Every/2)
	}
	return errors.Join(err, lease.Release(ctx))
}

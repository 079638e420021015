package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"seckill/lock"
	"seckill/repository"
	"seckill/router"
	"seckill/service"
)

// lifeFlags are the settings of what happens to orders besides their placing.
type lifeFlags struct {
	partitions int
	workers    *switchFlag
	jobs       *switchFlag
	batch      int
	claimIdle  time.Duration
	payWithin  time.Duration
}

func (l *lifeFlags) bind(f *pflag.FlagSet) {
	f.IntVar(&l.partitions, "partitions", 1, "hash slots that vouchers are spread over; more than 1 only for Redis Cluster, the same everywhere")
	l.workers = onOff(f, "workers", "write accepted orders from the stream in this process too; auto: on")
	l.jobs = onOff(f, "jobs", "take turns with other processes at the jobs: unpaid orders, due returns, reconcile; auto: on")
	l.bindWorker(f)
	f.DurationVar(&l.payWithin, "pay-within", service.DefaultPaymentTimeout, "how long an order may stay unpaid")
}

func (l *lifeFlags) bindWorker(f *pflag.FlagSet) {
	f.IntVar(&l.batch, "batch", 200, "orders that a worker writes in one transaction at most")
	f.DurationVar(&l.claimIdle, "claim-idle", 3*time.Second, "how long a dead worker's messages lie before another takes them over")
}

func (l *lifeFlags) validate() error {
	if l.partitions < 1 || l.partitions > 1024 || l.batch < 1 || l.batch > 1000 || l.claimIdle <= 0 || l.payWithin <= 0 {
		return usage("--partitions must be 1 to 1024, --batch 1 to 1000, --claim-idle and --pay-within positive")
	}
	return nil
}

func isOn(s *switchFlag) bool { return s == nil || s.on == nil || *s.on }

// life is an order's life, wired: admission before its placing, workers and jobs after it.
type life struct {
	flags      *lifeFlags
	store      *repository.Store
	gate       *repository.Gate
	holds      *lock.Holds
	log        *slog.Logger
	returns    *service.Returns
	reconciler *service.Reconciler
	preheater  *service.Preheater
	soldOut    *service.SoldOut
	intake     *service.Intake
	orders     *service.Life
	keys       *service.Idempotency
}

func newLife(l *lifeFlags, store *repository.Store, rdb redis.UniversalClient, ids service.IDSource, holds *lock.Holds, log *slog.Logger) *life {
	gate := repository.NewGate(rdb, repository.GateOptions{Partitions: l.partitions})
	returns := &service.Returns{Store: store, Gate: gate, Holds: holds}
	reconciler := &service.Reconciler{Store: store, Gate: gate, Returns: returns, Queue: repository.NewStream(gate)}
	preheater := &service.Preheater{Store: store, Gate: gate, Reconciler: reconciler}
	soldOut := &service.SoldOut{}
	return &life{
		flags: l, store: store, gate: gate, holds: holds, log: log,
		returns: returns, reconciler: reconciler, preheater: preheater, soldOut: soldOut,
		intake: &service.Intake{
			Groups: &service.Groups{Gate: gate}, Preheater: preheater, SoldOut: soldOut, Returns: returns,
		},
		orders: &service.Life{Store: store, Gate: gate, Returns: returns},
		keys:   &service.Idempotency{Store: store, IDs: ids},
	}
}

// serve gives the handlers what they need of an order's life.
func (l *life) serve(o *router.Options) {
	o.Placer.Intake = l.intake
	o.Vouchers.Gate = l.gate
	o.Life, o.Preheater, o.Idempotency = l.orders, l.preheater, l.keys
	o.Queue = repository.NewStream(l.gate)
}

// worker makes a worker with a consumer of its own.
func (l *life) worker(work time.Duration) *service.Worker {
	return service.NewWorker(repository.NewStream(l.gate), l.store, l.returns, service.WorkerOptions{
		Batch: l.flags.batch, ClaimIdle: l.flags.claimIdle, Work: work, Holds: l.holds, Log: l.log,
	})
}

// janitor makes the jobs under their lock, which is a watchdog of its own with a short TTL.
func (l *life) janitor(r lock.Resources) (*service.Janitor, lock.Opened, error) {
	opened, err := lock.Open("watchdog", r, lock.Options{TTL: service.JobLockTTL})
	if err != nil {
		return nil, opened, err
	}
	return &service.Janitor{
		Duties: service.Duties(l.orders, l.reconciler, l.keys, l.flags.payWithin, l.log), Locker: opened, Log: l.log,
	}, opened, nil
}

// background are goroutines that run beside the handlers until they are stopped.
type background struct {
	cancel context.CancelFunc
	ctx    context.Context
	wg     sync.WaitGroup
}

func newBackground() *background {
	ctx, cancel := context.WithCancel(context.Background())
	return &background{ctx: ctx, cancel: cancel}
}

func (b *background) run(f func(context.Context)) { b.wg.Go(func() { f(b.ctx) }) }

// Close stops them and waits until ctx ends: a worker finishes the batch it has in hand.
func (b *background) Close(ctx context.Context) error {
	b.cancel()
	done := make(chan struct{})
	go func() { b.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("workers and jobs did not end in time: %w", ctx.Err())
	}
}

// startLife starts what runs beside the handlers. work is how long an order computes before a worker writes it.
func (a *app) startLife(l *life, r lock.Resources, work time.Duration) error {
	janitor, opened, err := l.janitor(r)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, opened.Close)
	b := newBackground()
	a.closers = append(a.closers, b.Close)
	b.run(func(ctx context.Context) { _ = l.soldOut.Watch(ctx, l.gate) }) // it ends with ctx and for no other reason
	if isOn(l.flags.workers) {
		b.run(l.worker(work).Run)
	}
	if isOn(l.flags.jobs) {
		b.run(janitor.Run)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
	"seckill/repository"
	"seckill/router"
	"seckill/service"
)

// closeLimit bounds the closing of one thing when a server ends.
const closeLimit = 5 * time.Second

// app is one server's parts, wired.
type app struct {
	handler http.Handler
	stage   service.Stage
	closers []func(context.Context) error // in the order of opening
}

// openApp connects to running engines and wires a server. Close it, also after an error.
func openApp(ctx context.Context, s *serveFlags, at addresses, log *slog.Logger, say func(event)) (*app, error) {
	a := &app{}
	var err error
	if a.stage, err = s.chosen(); err != nil {
		return a, err
	}
	p, err := a.openParts(ctx, s, at, say)
	if err != nil {
		return a, err
	}
	if _, err := p.locks.of(a.stage); err != nil { // a stage that can't work is refused now, not at the first order
		return a, err
	}
	o := p.options(a.stage, s, log)
	if o.Engines, err = inUse(ctx, p.store, p.rdb); err != nil {
		return a, err
	}
	if err := a.access(&o, s, p.locks, p.rdb); err != nil {
		return a, err
	}
	l := newLife(&s.life, p.store, p.rdb, p.ids, p.holds, log)
	l.serve(&o)
	if err := a.startLife(l, lock.Resources{Redis: p.rdb}, s.work); err != nil {
		return a, err
	}
	if err := a.page(ctx, &o, s, at); err != nil {
		return a, err
	}
	a.handler, err = router.New(o)
	return a, err
}

// parts are what the handlers work with: the engines, and what stands on them.
type parts struct {
	holds   *lock.Holds
	store   *repository.Store
	rdb     redis.UniversalClient
	metrics *router.Metrics
	spans   *service.Spans // nil outside of lab mode
	locks   *lockers
	ids     *repository.IDs
}

func (a *app) openParts(ctx context.Context, s *serveFlags, at addresses, say func(event)) (p parts, err error) {
	if p.holds, err = armHolds(s.holds, say); err != nil {
		return p, usage("%w", err)
	}
	if p.store, err = a.openStore(ctx, at, s.maxConns); err != nil {
		return p, err
	}
	var nodes []redis.UniversalClient
	if p.rdb, nodes, err = a.openRedis(ctx, at); err != nil {
		return p, err
	}
	p.metrics = openMetrics(p.store, p.rdb, s.life.partitions)
	options := lock.Options{Holds: p.holds, NodeTimeout: s.nodeTimeout, LockRange: s.lockRange, Observer: p.metrics.Observer()}
	if s.labMode() {
		p.spans = service.NewSpans(s.process, service.DefaultSpans)
		options.Observer = lock.Observers(p.metrics.Observer(), p.spans.Observer())
	}
	p.locks = &lockers{
		base: lock.Resources{Redis: p.rdb, Nodes: nodes}, options: options, db: at.db, lockConns: s.lockConns,
	}
	p.ids = p.store.IDs(nil)
	a.closers = append(a.closers, p.locks.Close, p.ids.Close)
	return p, nil
}

// options are the handlers' without what depends on the mode.
func (p parts) options(stage service.Stage, s *serveFlags, log *slog.Logger) router.Options {
	return router.Options{
		Placer: &service.Placer{
			Store: p.store, IDs: p.ids, Locker: p.locks.of, Work: s.work, Nested: s.nested, Holds: p.holds,
		},
		Vouchers: &service.Vouchers{Catalogue: p.store, Lab: p.store, IDs: p.ids},
		Stage:    stage, Ready: ready(p.store, p.rdb), Lab: s.labMode(), Spans: p.spans, Metrics: p.metrics,
		MaxInFlight: s.maxInflight, Log: log,
	}
}

// page gives the page the sources that it shows, and in lab mode the laboratory. A server that is itself part of a run
// has none.
func (a *app) page(ctx context.Context, o *router.Options, s *serveFlags, at addresses) error {
	o.Sources = markedSources
	if !s.labMode() || s.parentPipe {
		return nil
	}
	l, err := newLab(ctx, at, &s.engineFlags)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, l.Close)
	o.Runs = l
	return nil
}

// openMetrics makes the metrics of everything that a server works with.
func openMetrics(store *repository.Store, rdb redis.UniversalClient, partitions int) *router.Metrics {
	m := router.NewMetrics()
	m.Register(repository.RedisPool(rdb))
	m.Register(store.Pools()...)
	m.CountVouchers(store)
	m.CountQueue(repository.NewStream(repository.NewGate(rdb, repository.GateOptions{Partitions: partitions})))
	return m
}

// access gives a lab the /sell lesson, and everything else its tokens.
func (a *app) access(o *router.Options, s *serveFlags, locks *lockers, rdb redis.UniversalClient) error {
	if !o.Lab {
		signer, err := router.NewSigner(s.secret)
		if err != nil {
			return usage("--token-secret: %w", err)
		}
		o.Signer = signer
		return nil
	}
	o.Sell = &service.Sell{Stock: repository.NewRedis(rdb)}
	for i, id := range []lockID{{"mutex", time.Minute, 0}, {"token", 0, 10 * time.Second}, {"watchdog", time.Minute, 0}} {
		l, err := locks.get(id)
		if err != nil {
			return err
		}
		o.Sell.Locks[i] = l
	}
	return nil
}

func (a *app) openStore(ctx context.Context, at addresses, conns int) (*repository.Store, error) {
	store, err := repository.Open(ctx, at.db, repository.Options{MaxConns: conns})
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	a.closers = append(a.closers, func(context.Context) error { return store.Close() })
	return store, nil
}

func (a *app) openRedis(ctx context.Context, at addresses) (redis.UniversalClient, []redis.UniversalClient, error) {
	rdb, err := openRedis(at.redis)
	if err != nil {
		return nil, nil, err
	}
	a.closers = append(a.closers, func(context.Context) error { return rdb.Close() })
	if err := pingRedis(ctx, rdb); err != nil {
		return nil, nil, err
	}
	nodes, err := openNodes(at.nodes)
	a.closers = append(a.closers, func(context.Context) error { closeAll(nodes); return nil })
	return rdb, nodes, err
}

// inUse are the engines that a server works on.
func inUse(ctx context.Context, store *repository.Store, rdb redis.UniversalClient) (*router.Engines, error) {
	r, err := repository.NewRedis(rdb).Engine(ctx)
	if err != nil {
		return nil, fmt.Errorf("redis does not answer: %w", err)
	}
	return &router.Engines{Redis: router.EngineInfo(r), DB: router.EngineInfo(store.Engine())}, nil
}

func ready(store *repository.Store, rdb redis.UniversalClient) func(context.Context) error {
	return func(ctx context.Context) error { return errors.Join(store.Ping(ctx), pingRedis(ctx, rdb)) }
}

// Close closes in the reverse order of opening.
func (a *app) Close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		errs = append(errs, a.closers[i](ctx))
		cancel()
	}
	return errors.Join(errs...)
}

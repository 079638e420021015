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
	stage, err := s.chosen()
	if err != nil {
		return a, err
	}
	a.stage = stage
	holds, err := armHolds(s.holds, say)
	if err != nil {
		return a, usage("%w", err)
	}
	store, err := a.openStore(ctx, at, s.maxConns)
	if err != nil {
		return a, err
	}
	rdb, nodes, err := a.openRedis(ctx, at)
	if err != nil {
		return a, err
	}
	metrics := openMetrics(store, rdb, s.life.partitions)
	var spans *service.Spans
	options := lock.Options{Holds: holds, NodeTimeout: s.nodeTimeout, LockRange: s.lockRange, Observer: metrics.Observer()}
	if s.labMode() {
		spans = service.NewSpans(s.process, service.DefaultSpans)
		options.Observer = lock.Observers(metrics.Observer(), spans.Observer())
	}
	locks := &lockers{
		base: lock.Resources{Redis: rdb, Nodes: nodes}, options: options, db: at.db, lockConns: s.lockConns,
	}
	a.closers = append(a.closers, locks.Close)
	if _, err := locks.of(stage); err != nil { // a stage that can't work is refused now, not at the first order
		return a, err
	}
	ids := store.IDs(nil)
	a.closers = append(a.closers, ids.Close)
	o := router.Options{
		Placer: &service.Placer{
			Store: store, IDs: ids, Locker: locks.of, Work: s.work, Nested: s.nested, Holds: holds,
		},
		Vouchers: &service.Vouchers{Catalogue: store, Lab: store, IDs: ids},
		Stage:    stage, Ready: ready(store, rdb), Lab: s.labMode(), Spans: spans, Metrics: metrics,
		MaxInFlight: s.maxInflight, Log: log,
	}
	if o.Engines, err = inUse(ctx, store, rdb); err != nil {
		return a, err
	}
	if err := a.access(&o, s, locks, rdb); err != nil {
		return a, err
	}
	l := newLife(&s.life, store, rdb, ids, holds, log)
	l.serve(&o)
	if err := a.startLife(l, lock.Resources{Redis: rdb}, s.work); err != nil {
		return a, err
	}
	if err := a.page(ctx, &o, s, at); err != nil {
		return a, err
	}
	a.handler, err = router.New(o)
	return a, err
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

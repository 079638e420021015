package service_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/repository"
	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// shop is one sale on a real database (SQLite) and miniredis, with as many processes as a test opens.
type shop struct {
	t     *testing.T
	store *repository.Store
	ids   *repository.IDs
	mr    *miniredis.Miniredis
	sales *service.Vouchers
}

func newShop(t *testing.T) *shop {
	return newShopOn(t, backendtest.MigratedSQLite(t, repository.Migrate))
}

func newShopOn(t *testing.T, dsn string) *shop {
	store, err := repository.Open(context.Background(), dsn, repository.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s := &shop{t: t, store: store, ids: store.IDs(nil), mr: miniredis.RunT(t)}
	s.sales = &service.Vouchers{Catalogue: store, Lab: store, IDs: s.ids}
	return s
}

// process is one process's way of placing orders: it has a mutex table and a Redis client of its own.
type process struct {
	*service.Placer
	stage service.Stage
	holds *lock.Holds
	// lost gets one entry for every lost lease.
	lost chan error
}

// open starts a process for the stage; adjust may change it first.
func (s *shop) open(stage service.Stage, observe ...func(*lock.Options)) *process {
	rdb := redis.NewClient(&redis.Options{Addr: s.mr.Addr(), DialerRetries: 1, MaxRetries: 1})
	p := &process{stage: stage, holds: &lock.Holds{}, lost: make(chan error, 100)}
	options := lock.Options{TTL: stage.TTL, Wait: stage.Wait, NodeTimeout: time.Minute, Holds: p.holds, Observer: lock.Observer{
		Lost: func(e lock.Event) { p.lost <- e.Err },
	}}
	for _, f := range observe {
		f(&options)
	}
	opened, err := lock.Open(stage.Lock, lock.Resources{Redis: rdb, Nodes: []redis.UniversalClient{rdb}}, options)
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		require.NoError(s.t, opened.Close(context.Background()))
		require.NoError(s.t, rdb.Close())
	})
	p.Placer = &service.Placer{
		Store: s.store, IDs: s.ids, Holds: p.holds,
		Locker: func(service.Stage) (lock.Locker, error) { return opened, nil },
	}
	if stage.Path != service.PathSync {
		s.admit(p, rdb)
	}
	return p
}

// admit gives the process the gate and stream paths, with a worker that ends with the test.
func (s *shop) admit(p *process, rdb redis.UniversalClient) {
	c := (&sale{t: s.t, gate: repository.NewGate(rdb, repository.GateOptions{}), store: s.store, ids: s.ids}).process()
	p.Intake = c.placer.Intake
	s.sales = &service.Vouchers{Catalogue: s.store, Lab: s.store, IDs: s.ids, Gate: c.gate}
	ctx, cancel := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { _ = p.Intake.SoldOut.Watch(ctx, c.gate) })
	s.t.Cleanup(func() { cancel(); background.Wait() })
	c.work(nil)
}

func (s *shop) voucher(stock int) service.ID {
	now := time.Now()
	v, err := s.sales.Create(context.Background(), service.NewVoucher{
		Title: "phone", Stock: stock, PriceCents: 100, BeginAt: now.Add(-time.Hour), EndAt: now.Add(time.Hour),
	})
	require.NoError(s.t, err)
	return v.ID
}

// audit counts once nothing is in flight any more; the gate's side is left to its own tests.
func (s *shop) audit(voucher service.ID) service.Audit {
	var a service.Audit
	require.Eventually(s.t, func() (done bool) {
		var err error
		a, err = s.sales.Audit(context.Background(), voucher)
		return err != nil || a.InFlight == 0
	}, 10*time.Second, time.Millisecond)
	a.Gate = nil
	return a
}

// buy places one order and returns its error.
func (p *process) buy(voucher service.ID, user int64) error {
	_, err := p.Place(context.Background(), p.stage, voucher, user)
	return err
}

// start is buy in the background.
func (p *process) start(voucher service.ID, user int64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- p.buy(voucher, user) }()
	return done
}

// holdFirst stops the first order that comes to the point. It returns a channel that closes when it has come, and a
// function that lets it go on.
func (p *process) holdFirst(point string) (reached <-chan struct{}, resume func()) {
	come, goOn := make(chan struct{}), make(chan struct{})
	p.holds.On(point, 0, 1, func() { close(come); <-goOn })
	return come, sync.OnceFunc(func() { close(goOn) })
}

// meet makes n orders wait for each other at the point.
func meet(point string, n int, processes ...*process) {
	var all sync.WaitGroup
	all.Add(n)
	for _, p := range processes {
		p.holds.On(point, 0, n/len(processes), func() { all.Done(); all.Wait() })
	}
}

func stageOf(t *testing.T, name string, change ...func(*service.Stage)) service.Stage {
	st, err := service.StageByName(name)
	require.NoError(t, err)
	for _, f := range change {
		f(&st)
	}
	return st
}

// onSQLite are the stages that can run on SQLite.
func onSQLite() (out []service.Stage) {
	for _, st := range service.Ladder() {
		if st.Claims.For(service.SQLite, "single").NA == "" {
			out = append(out, st)
		}
	}
	return out
}

// onPaths are those on the paths given.
func onPaths(paths ...string) []service.Stage {
	return slices.DeleteFunc(onSQLite(), func(st service.Stage) bool { return !slices.Contains(paths, st.Path) })
}

func eachStage(t *testing.T, stages []service.Stage, f func(t *testing.T, s *shop, st service.Stage)) {
	s := newShop(t)
	for _, st := range stages {
		t.Run(st.Name, func(t *testing.T) {
			inner := *s
			inner.t = t
			f(t, &inner, st)
		})
	}
}

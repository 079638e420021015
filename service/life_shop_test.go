package service_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/repository"
	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// sale is one sale on the gate and stream paths with everything real: a database, a Redis, and keys of its own.
type sale struct {
	t      *testing.T
	rdb    *redis.Client
	gate   *repository.Gate
	store  *repository.Store
	ids    *repository.IDs
	shop   *service.Vouchers
	prefix string // of the keys in Redis
}

// eachEngine runs the test on the embedded engines and on the real servers.
func eachEngine(t *testing.T, test func(t *testing.T, s *sale)) {
	t.Run("embedded", func(t *testing.T) {
		test(t, newSale(t, backendtest.EmbeddedRedis(t, 1).URLs[0], backendtest.SQLite(t)))
	})
	t.Run("servers", func(t *testing.T) { test(t, newSale(t, backendtest.Redis(t), backendtest.MariaDB(t))) })
}

func newSale(t *testing.T, redisURL, dsn string) *sale {
	ctx := context.Background()
	_, err := repository.Migrate(ctx, dsn)
	require.NoError(t, err)
	store, err := repository.Open(ctx, dsn, repository.Options{})
	require.NoError(t, err)
	o, err := redis.ParseURL(redisURL)
	require.NoError(t, err)
	rdb := redis.NewClient(o)
	s := &sale{t: t, rdb: rdb, store: store, ids: store.IDs(nil)}
	s.prefix = "t" + rand.Text()
	s.gate = repository.NewGate(rdb, repository.GateOptions{Prefix: s.prefix})
	s.shop = &service.Vouchers{Catalogue: store, Lab: store, IDs: s.ids, Gate: s.gate}
	t.Cleanup(func() {
		require.NoError(t, rdb.Close())
		require.NoError(t, store.Close())
	})
	return s
}

// counter is one process of the sale, with the parts a test may replace before it places orders.
type counter struct {
	*sale
	placer  *service.Placer
	returns *service.Returns
	life    *service.Life
	rec     *service.Reconciler
	heat    *service.Preheater
	holds   *lock.Holds
}

func (s *sale) process() *counter {
	holds := &lock.Holds{}
	returns := &service.Returns{Store: s.store, Gate: s.gate, Holds: holds}
	rec := &service.Reconciler{Store: s.store, Gate: s.gate, Returns: returns, Queue: repository.NewStream(s.gate), Grace: time.Millisecond}
	heat := &service.Preheater{Store: s.store, Gate: s.gate, Reconciler: rec}
	return &counter{
		sale: s, returns: returns, rec: rec, heat: heat, holds: holds,
		life: &service.Life{Store: s.store, Gate: s.gate, Returns: returns},
		placer: &service.Placer{Store: s.store, IDs: s.ids, Holds: holds, Intake: &service.Intake{
			Groups: &service.Groups{Gate: s.gate}, Preheater: heat, SoldOut: &service.SoldOut{}, Returns: returns,
		}},
	}
}

// options make a worker that does not dawdle.
func (c *counter) options() service.WorkerOptions {
	return service.WorkerOptions{
		Block: 10 * time.Millisecond, ClaimIdle: 50 * time.Millisecond, ClaimEvery: 20 * time.Millisecond,
		Holds: c.holds, Log: slog.New(slog.DiscardHandler),
	}
}

// work runs a worker until stop is called, which the end of the test does too.
func (c *counter) work(writer service.BatchWriter, change ...func(*service.WorkerOptions)) (stop func()) {
	o := c.options()
	for _, f := range change {
		f(&o)
	}
	if writer == nil {
		writer = c.store
	}
	w := service.NewWorker(repository.NewStream(c.gate), writer, c.returns, o)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	c.t.Cleanup(stop)
	return stop
}

func (s *sale) voucher(stock int) service.ID {
	now := time.Now()
	return s.voucherAt(stock, now.Add(-time.Hour), now.Add(time.Hour))
}

func (s *sale) voucherAt(stock int, begin, end time.Time) service.ID {
	v, err := s.shop.Create(s.t.Context(), service.NewVoucher{Title: "phone", Stock: stock, PriceCents: 100, BeginAt: begin, EndAt: end})
	require.NoError(s.t, err)
	return v.ID
}

// buy places one order on the path.
func (c *counter) buy(path string, voucher service.ID, user int64) (service.Order, error) {
	return c.buyFor(c.t.Context(), path, voucher, user)
}

func (c *counter) buyFor(ctx context.Context, path string, voucher service.ID, user int64) (service.Order, error) {
	stage := service.Stage{Name: path, Parts: service.Parts{
		Lock: "none", LockSpan: service.SpanAround, OnLoss: service.LossIgnore, StockUpdate: service.UpdateConditional,
		Unique: true, Path: path,
	}}
	return c.placer.Place(ctx, stage, voucher, user)
}

func (s *sale) audit(voucher service.ID) service.Audit {
	a, err := s.shop.Audit(s.t.Context(), voucher)
	require.NoError(s.t, err)
	return a
}

func (s *sale) counters(voucher service.ID) service.GateCounters {
	c, err := s.gate.Counters(s.t.Context(), voucher)
	require.NoError(s.t, err)
	return c
}

func (s *sale) depth() service.QueueDepth {
	d, err := repository.NewStream(s.gate).Depth(s.t.Context())
	require.NoError(s.t, err)
	return d
}

// settled waits until nothing is in flight, and requires that the books are in order with that many orders.
func (s *sale) settled(voucher service.ID, orders int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { a := s.audit(voucher); return a.InFlight == 0 && s.depth().Messages == 0 && a.Drift == 0 },
		20*time.Second, 10*time.Millisecond, "in flight or drifting: %+v", s.audit(voucher))
	a := s.audit(voucher)
	require.Equal(s.t, orders, a.Orders, "%+v", a)
	require.Zero(s.t, a.Oversold+a.Duplicates, "%+v", a)
}

func (s *sale) status(id service.ID) service.Status {
	o, err := s.store.Order(s.t.Context(), id)
	require.NoError(s.t, err)
	return o.Status
}

// failing is a writer that fails while broken says so, before it writes.
type failing struct {
	service.BatchWriter
	calls  atomic.Int64
	broken func(orders []service.InFlight) error
}

func (f *failing) WriteBatch(ctx context.Context, orders []service.InFlight, now time.Time, hold func()) ([]service.WriteResult, error) {
	f.calls.Add(1)
	if err := f.broken(orders); err != nil {
		return nil, err
	}
	return f.BatchWriter.WriteBatch(ctx, orders, now, hold)
}

var paths = []string{service.PathGate, service.PathStream}

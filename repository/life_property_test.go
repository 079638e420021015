package repository

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// lifeRun drives one voucher's orders through both stores in a random sequence in which every process may die between
// any two of its steps, and Redis may be flushed.
type lifeRun struct {
	t        *testing.T
	r        *rand.Rand
	store    *Store
	rdb      *redis.Client
	gate     *Gate
	streams  []*Stream
	returns  *service.Returns
	life     *service.Life
	keeper   *service.Reconciler
	voucher  service.ID
	next     service.ID
	accepted map[service.ID]int64 // order -> user, of orders that no flush has lost
}

func newLifeRun(t *testing.T, seed uint64, store *Store, rdb *redis.Client) *lifeRun {
	now := func() time.Time { return day.Add(time.Hour) }
	l := &lifeRun{t: t, r: rand.New(rand.NewPCG(seed, 2)), store: store, rdb: rdb, gate: NewGate(rdb, GateOptions{}),
		voucher: service.ID(seed + 1), next: service.ID((seed + 1) * 100_000), accepted: map[service.ID]int64{}}
	l.streams = []*Stream{NewStream(l.gate), NewStream(l.gate)}
	l.returns = &service.Returns{Store: store, Gate: l.gate, Now: now}
	l.life = &service.Life{Store: store, Gate: l.gate, Returns: l.returns, Now: now}
	l.keeper = &service.Reconciler{Store: store, Gate: l.gate, Returns: l.returns, Queue: l.streams[0], Grace: time.Nanosecond}
	now2 := time.Now()
	require.NoError(t, store.CreateVoucher(t.Context(), service.Voucher{ID: l.voucher, Title: "v", Stock: 6, PriceCents: 990,
		BeginAt: now2.Add(-time.Hour), EndAt: now2.Add(time.Hour), CreatedAt: day}))
	l.preheat()
	return l
}

// dies tells whether the process dies here.
func (l *lifeRun) dies() bool { return l.r.IntN(4) == 0 }

func (l *lifeRun) preheat() {
	state, err := l.store.GateState(l.t.Context(), l.voucher)
	require.NoError(l.t, err)
	_, err = l.gate.Preheat(l.t.Context(), state)
	require.NoError(l.t, err)
}

func (l *lifeRun) admit() {
	asks := make([]service.Ask, 1+l.r.IntN(4))
	for i := range asks {
		l.next++
		asks[i] = ask(l.next, 1+l.r.Int64N(9))
	}
	answers, err := l.gate.Admit(l.t.Context(), l.voucher, true, asks)
	require.NoError(l.t, err)
	for i, a := range answers {
		if a.Err == nil {
			l.accepted[asks[i].Order] = asks[i].User
		}
	}
}

// work is what a worker does with one batch.
func (l *lifeRun) work(s *Stream, dies func() bool) int {
	ctx := l.t.Context()
	read := func() ([]service.Entry, error) { return s.Read(ctx, 0, 1+l.r.IntN(5), 0) }
	if l.r.IntN(2) == 0 {
		read = func() ([]service.Entry, error) { return s.Claim(ctx, 0, 5, 0) }
	}
	entries, err := read()
	require.NoError(l.t, err)
	if len(entries) == 0 || dies() {
		return len(entries)
	}
	orders := make([]service.InFlight, len(entries))
	for i, e := range entries {
		orders[i] = e.InFlight
	}
	results, err := l.store.WriteBatch(ctx, orders, day, nil)
	require.NoError(l.t, err)
	l.settle(s, entries, results, dies)
	return len(entries)
}

func (l *lifeRun) settle(s *Stream, entries []service.Entry, results []service.WriteResult, dies func() bool) {
	ctx := l.t.Context()
	for i, e := range entries {
		if dies() {
			return
		}
		back, ends := results[i].Back(e.Unit)
		if !ends {
			require.Contains(l.t, []service.WriteOutcome{service.Wrote, service.Repeated}, results[i].Outcome)
			require.NoError(l.t, s.Finish(ctx, 0, entries[i:i+1]))
			continue
		}
		_, err := l.gate.Return(ctx, []service.Back{back})
		require.NoError(l.t, err)
		if dies() {
			return
		}
		require.NoError(l.t, l.store.ClearReturns(ctx, []service.ID{e.Order}))
		if dies() {
			return
		}
		require.NoError(l.t, s.Drop(ctx, 0, entries[i:i+1]))
	}
}

// end cancels or pays some order, by its owner, with or without the gate being told.
func (l *lifeRun) end() {
	order, user := l.some()
	if order == 0 {
		return
	}
	var err error
	switch l.r.IntN(4) {
	case 0:
		_, err = l.life.Pay(l.t.Context(), order, user)
	case 1: // dies after the commit
		m := cancel(order, user)
		if _, err = l.store.MoveOrder(l.t.Context(), m); errors.Is(err, service.ErrNotFound) {
			_, _, err = l.store.Tombstone(l.t.Context(), unit(order, l.voucher, user), service.Cancelled, "by the user", day)
		}
	default:
		_, err = l.life.Cancel(l.t.Context(), order, user)
	}
	if err != nil && !errors.Is(err, service.ErrInvalidState) && !errors.Is(err, service.ErrNotFound) {
		l.t.Fatal(err)
	}
}

func (l *lifeRun) some() (service.ID, int64) {
	if len(l.accepted) == 0 {
		return 0, 0
	}
	n := l.r.IntN(len(l.accepted))
	for id := (l.voucher) * 100_000; ; id++ {
		if user, ok := l.accepted[id]; ok {
			if n == 0 {
				return id, user
			}
			n--
		}
	}
}

// shrink takes a unit away behind the gate's back, so that it admits more than the database has.
func (l *lifeRun) shrink() {
	if stockOf(l.t, l.store, l.voucher) > 0 {
		runSQL(l.t, l.store, "UPDATE stock SET stock = stock - 1 WHERE voucher_id = ?", int64(l.voucher))
		runSQL(l.t, l.store, "UPDATE vouchers SET stock = stock - 1 WHERE id = ?", int64(l.voucher))
	}
}

// flush loses all of Redis, also orders in flight: those without a row are forgotten.
func (l *lifeRun) flush() {
	require.NoError(l.t, l.rdb.FlushAll(l.t.Context()).Err())
	for order := range l.accepted {
		if _, err := l.store.Order(l.t.Context(), order); errors.Is(err, service.ErrNotFound) {
			delete(l.accepted, order)
		}
	}
	l.preheat()
}

func (l *lifeRun) step() {
	switch n := l.r.IntN(40); {
	case n < 12:
		l.admit()
	case n < 24:
		l.work(l.streams[l.r.IntN(2)], l.dies)
	case n < 34:
		l.end()
	case n < 36:
		l.preheat()
	case n < 37:
		l.shrink()
	case n < 38:
		l.flush()
	default:
		_, err := l.returns.BackDue(l.t.Context(), day.AddDate(1, 0, 0), 100)
		require.NoError(l.t, err)
	}
}

// converge is what the workers and the jobs do when nobody dies any more.
func (l *lifeRun) converge() {
	ctx, never := l.t.Context(), func() bool { return false }
	for range 200 {
		if d, err := l.streams[0].Depth(ctx); err == nil && d.Messages == 0 {
			break
		}
		l.work(l.streams[0], never)
	}
	jobs := []func() error{
		func() error { _, err := l.returns.BackDue(ctx, day.AddDate(1, 0, 0), 1000); return err },
		func() error { _, err := l.keeper.Stale(ctx); return err },
	}
	l.r.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	for _, job := range jobs {
		require.NoError(l.t, job())
	}
	_, err := l.keeper.Voucher(ctx, l.voucher, true)
	require.NoError(l.t, err)
}

func (l *lifeRun) check() {
	ctx := l.t.Context()
	sound(l.t, l.store, l.voucher)
	require.Empty(l.t, dueReturns(l.t, l.store))
	d, err := l.streams[0].Depth(ctx)
	require.NoError(l.t, err)
	require.Zero(l.t, d)
	state, err := l.store.GateState(ctx, l.voucher)
	require.NoError(l.t, err)
	holders, err := l.gate.Holders(ctx, l.voucher)
	require.NoError(l.t, err)
	want := map[int64]service.ID{}
	for _, u := range state.Live {
		want[u.User] = u.Order
	}
	require.Equal(l.t, want, holders)
	c := counters(l.t, l.gate, l.voucher)
	require.Equal(l.t, stockOf(l.t, l.store, l.voucher), c.Stock)
	require.Zero(l.t, c.InFlight)
	require.Equal(l.t, c.Admitted, len(state.Live)+c.Returned, "admitted = orders + in flight + returned")
	for order := range l.accepted {
		_, err := l.store.Order(ctx, order)
		require.NoError(l.t, err, "order %s was accepted and is lost", order)
	}
	again, err := l.keeper.Voucher(ctx, l.voucher, false)
	require.NoError(l.t, err)
	require.Empty(l.t, again.Findings)
}

// Whatever dies between whichever two steps, the jobs bring both stores to the same state: no order lost, none twice,
// no unit lost or sold twice.
func TestLifeConverges(t *testing.T) {
	for name, servers := range map[string]struct {
		db    func(testing.TB) string
		redis func(testing.TB) *redis.Client
	}{
		"sqlite and miniredis":     {backendtest.SQLite, miniClient},
		"mariadb and redis-server": {backendtest.MariaDB, realClient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, rdb := newBench(t, servers.db(t), Options{}).Store, servers.redis(t)
			for seed := range uint64(12) {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					l := newLifeRun(t, seed, store, rdb)
					for range 60 {
						l.step()
						c := counters(t, l.gate, l.voucher)
						require.GreaterOrEqual(t, c.Stock, 0)
						require.Equal(t, c.Admitted, c.Holders+c.Returned)
					}
					l.converge()
					l.check()
				})
			}
		})
	}
}

package repository

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

func TestAdmitSellsExactlyTheStock(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 5)
		for i := range 5 {
			require.NoError(t, admit(t, g, 1, false, service.ID(100+i), int64(1+i)).Err)
		}
		require.ErrorIs(t, admit(t, g, 1, false, 106, 6).Err, service.ErrSoldOut)
		c := counters(t, g, 1)
		require.Equal(t, [5]int{0, 5, 0, 5, 5}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
	})
}

// A double click is one unit, in one call and in two, and the answer names the first order.
func TestAdmitOneUnitPerUser(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 5)
		a, err := g.Admit(t.Context(), 1, false, []service.Ask{ask(11, 7), ask(12, 7), ask(13, 8)})
		require.NoError(t, err)
		require.NoError(t, a[0].Err)
		require.ErrorIs(t, a[1].Err, service.ErrAlreadyOrdered)
		require.Equal(t, service.ID(11), a[1].Existing)
		require.NoError(t, a[2].Err)

		again := admit(t, g, 1, false, 14, 7)
		require.ErrorIs(t, again.Err, service.ErrAlreadyOrdered)
		require.Equal(t, service.ID(11), again.Existing)
		require.Equal(t, 3, counters(t, g, 1).Stock)
	})
}

// A lost reply is asked for again: same answer, nothing taken or enqueued twice, also when stock has run out since.
func TestAdmitRepeatedGivesTheFirstAnswer(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 2)
		asks := []service.Ask{ask(11, 7), ask(12, 8)}
		for range 3 {
			a, err := g.Admit(t.Context(), 1, true, asks)
			require.NoError(t, err)
			require.NoError(t, a[0].Err)
			require.NoError(t, a[1].Err)
		}
		require.Equal(t, 0, counters(t, g, 1).Stock)
		require.Equal(t, int64(2), rdb.XLen(t.Context(), g.keys.stream(0)).Val())
	})
}

// Outside of the window, and without a gate, no counter moves.
func TestAdmitRefusesBeforeAnyCounterMoves(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := NewGate(rdb, GateOptions{})
		require.ErrorIs(t, admit(t, g, 1, true, 11, 7).Err, service.ErrNotPreheated)
		require.Empty(t, dump(t, rdb))

		now := time.Now()
		early := service.Preheat{Voucher: 1, Capacity: 5, BeginAt: now.Add(time.Hour), EndAt: now.Add(2 * time.Hour)}
		late := service.Preheat{Voucher: 2, Capacity: 5, BeginAt: now.Add(-2 * time.Hour), EndAt: now.Add(-time.Hour)}
		for _, p := range []service.Preheat{early, late} {
			_, err := g.Preheat(t.Context(), p)
			require.NoError(t, err)
		}
		before := dump(t, rdb)
		require.ErrorIs(t, admit(t, g, 1, true, 11, 7).Err, service.ErrNotStarted)
		require.ErrorIs(t, admit(t, g, 2, true, 12, 7).Err, service.ErrEnded)
		require.Equal(t, before, dump(t, rdb))
	})
}

// Instants are instants: a window given in another zone is the same window.
func TestPreheatTimeZones(t *testing.T) {
	g := NewGate(miniClient(t), GateOptions{})
	shanghai := time.FixedZone("CST", 8*3600)
	p := open(1, 1)
	p.BeginAt, p.EndAt = p.BeginAt.In(shanghai), p.EndAt.In(shanghai)
	_, err := g.Preheat(t.Context(), p)
	require.NoError(t, err)
	c := counters(t, g, 1)
	require.True(t, c.BeginAt.Equal(p.BeginAt.Truncate(time.Millisecond)))
	require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
}

func TestAdmitBoundsTheCall(t *testing.T) {
	g := preheated(t, miniClient(t), 1, 1000)
	asks := make([]service.Ask, service.MaxAdmit+1)
	for i := range asks {
		asks[i] = ask(service.ID(i+1), int64(i+1))
	}
	_, err := g.Admit(t.Context(), 1, false, asks)
	require.ErrorIs(t, err, service.ErrInvalid)
	a, err := g.Admit(t.Context(), 1, true, asks[:service.MaxAdmit])
	require.NoError(t, err)
	require.Len(t, a, service.MaxAdmit)
	none, err := g.Admit(t.Context(), 1, false, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestReturnGivesBackOnce(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 2)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		require.NoError(t, admit(t, g, 1, false, 12, 8).Err)
		back := []service.Back{{Unit: unit(11, 1, 7)}, {Unit: unit(99, 1, 8)}, {Unit: unit(98, 3, 9)}}

		given, err := g.Return(t.Context(), back)
		require.NoError(t, err)
		require.Equal(t, []bool{true, false, false}, given, "only the order that holds the unit gives it back")
		given, err = g.Return(t.Context(), back)
		require.NoError(t, err)
		require.Equal(t, []bool{false, false, false}, given)
		c := counters(t, g, 1)
		require.Equal(t, [5]int{1, 2, 1, 1, 1}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})

		require.NoError(t, admit(t, g, 1, false, 13, 7).Err, "the user may order again")
	})
}

// The database had no unit for the order: the gate's stock was too high by it, and stays down.
func TestReturnWithoutRestock(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 2)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		back := []service.Back{{Unit: unit(11, 1, 7), NoRestock: true}}
		for range 2 {
			_, err := g.Return(t.Context(), back)
			require.NoError(t, err)
		}
		c := counters(t, g, 1)
		require.Equal(t, [5]int{1, 1, 1, 0, 0}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
	})
}

func TestDoneSettlesOnce(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 2)
		_, err := g.Preheat(t.Context(), open(2, 2))
		require.NoError(t, err)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		require.NoError(t, admit(t, g, 2, false, 12, 7).Err)
		for range 2 {
			require.NoError(t, g.Done(t.Context(), []service.Unit{unit(11, 1, 7), unit(12, 2, 7), unit(13, 2, 7)}))
		}
		for _, v := range []service.ID{1, 2} {
			c := counters(t, g, v)
			require.Equal(t, [5]int{1, 1, 0, 0, 1}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
		}
		// A cancelled order goes back after it was done, too.
		given, err := g.Return(t.Context(), []service.Back{{Unit: unit(11, 1, 7)}})
		require.NoError(t, err)
		require.True(t, given[0])
		c := counters(t, g, 1)
		require.Equal(t, [5]int{2, 1, 1, 0, 0}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
	})
}

func TestFindInFlight(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := NewGate(rdb, GateOptions{Partitions: 3})
		for v := range service.ID(3) {
			_, err := g.Preheat(t.Context(), open(v+1, 2))
			require.NoError(t, err)
			require.NoError(t, admit(t, g, v+1, false, 10+v, 7).Err)
		}
		f, found, err := g.FindInFlight(t.Context(), 12)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, unit(12, 3, 7), f.Unit)
		require.WithinDuration(t, time.Now(), f.At, time.Minute)
		_, found, err = g.FindInFlight(t.Context(), 99)
		require.NoError(t, err)
		require.False(t, found)

		of, err := g.InFlightOf(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, []service.Unit{unit(11, 2, 7)}, units(of))
		all, err := g.InFlightBefore(t.Context(), -time.Hour, 100)
		require.NoError(t, err)
		require.Len(t, all, 3)
		some, err := g.InFlightBefore(t.Context(), -time.Hour, 2)
		require.NoError(t, err)
		require.Len(t, some, 2)
		old, err := g.InFlightBefore(t.Context(), time.Hour, 100)
		require.NoError(t, err)
		require.Empty(t, old)
	})
}

func units(list []service.InFlight) []service.Unit {
	out := make([]service.Unit, len(list))
	for i, f := range list {
		out[i] = f.Unit
	}
	return out
}

// SCRIPT FLUSH costs a round trip and fails nothing.
func TestScriptFlush(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 2)
		require.NoError(t, rdb.ScriptFlush(t.Context()).Err())
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		require.NoError(t, rdb.ScriptFlush(t.Context()).Err())
		require.NoError(t, g.Done(t.Context(), []service.Unit{unit(11, 1, 7)}))
	})
}

// All keys of every script share one slot; a cluster refuses a script whose keys do not.
func TestClusterSlots(t *testing.T) {
	o, err := redis.ParseClusterURL(backendtest.RedisCluster(t, 3).URL)
	require.NoError(t, err)
	rdb := redis.NewClusterClient(o)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	g := NewGate(rdb, GateOptions{Partitions: 3})
	s := NewStream(g)
	for v := service.ID(1); v <= 3; v++ {
		made, err := g.Preheat(t.Context(), open(v, 5, unit(500+v, v, 99)))
		require.NoError(t, err)
		require.True(t, made)
		require.NoError(t, admit(t, g, v, true, 10+v, 7).Err)
		require.NoError(t, admit(t, g, v, true, 20+v, 8).Err)
		p := g.keys.partition(v)
		entries, err := s.Read(t.Context(), p, 10, 0)
		require.NoError(t, err)
		require.Len(t, entries, 2)
		require.NoError(t, s.Finish(t.Context(), p, entries[:1]))
		require.NoError(t, s.Bury(t.Context(), entries[1], "test"))
	}
	_, found, err := g.FindInFlight(t.Context(), 23)
	require.NoError(t, err)
	require.True(t, found)
	given, err := g.Return(t.Context(), []service.Back{{Unit: unit(21, 1, 8)}, {Unit: unit(22, 2, 8)}, {Unit: unit(23, 3, 8)}})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, true}, given)
	d, err := s.Depth(t.Context())
	require.NoError(t, err)
	require.Equal(t, service.QueueDepth{Dead: 3}, d)
	_, err = g.Adopt(t.Context(), unit(31, 1, 9))
	require.NoError(t, err)
	set, err := g.SetStock(t.Context(), 1, counters(t, g, 1), 5)
	require.NoError(t, err)
	require.True(t, set)
	require.NoError(t, s.Leave(t.Context(), time.Hour))
	require.NoError(t, g.Forget(t.Context(), 1))
}

func TestWatchReturns(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 2)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		w := startWatch(t, g)
		require.True(t, <-w.states)
		_, err := g.Return(t.Context(), []service.Back{{Unit: unit(11, 1, 7)}})
		require.NoError(t, err)
		require.Equal(t, service.ID(1), <-w.returned)
		w.cancel()
		require.ErrorIs(t, <-w.ended, context.Canceled)
		require.False(t, <-w.states)
	})
}

// A broken subscription is told, and comes up again: in between, messages may have been missed.
func TestWatchReturnsTellsOfABreak(t *testing.T) {
	rdb := realClient(t)
	g := preheated(t, rdb, 1, 2)
	w := startWatch(t, g)
	require.True(t, <-w.states)
	require.NoError(t, rdb.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	require.False(t, <-w.states)
	require.True(t, <-w.states)
	w.cancel()
	require.ErrorIs(t, <-w.ended, context.Canceled)
}

type watching struct {
	states   chan bool
	returned chan service.ID
	ended    chan error
	cancel   context.CancelFunc
}

func startWatch(t *testing.T, g *Gate) watching {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w := watching{make(chan bool, 100), make(chan service.ID, 100), make(chan error, 1), cancel}
	go func() {
		w.ended <- g.WatchReturns(ctx, func(up bool) { w.states <- up }, func(v service.ID) { w.returned <- v })
	}()
	return w
}

// 16 goroutines admit, settle and give back; whatever the interleaving, the counters fit and never go below 0.
func TestGateConcurrently(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		const stock, workers, rounds = 20, 16, 60
		g := preheated(t, rdb, 1, stock)
		ctx := t.Context()
		var ids, sold, held atomic.Int64
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for r := range rounds {
					order, user := service.ID(ids.Add(1)), int64(1+w*rounds+r)
					a, err := g.Admit(ctx, 1, false, []service.Ask{ask(order, user)})
					if err != nil || a[0].Err != nil {
						continue
					}
					if n := held.Add(1); n > stock {
						t.Errorf("%d units held of %d", n, stock)
					}
					sold.Add(1)
					if r%3 != 0 {
						_ = g.Done(ctx, []service.Unit{unit(order, 1, user)})
					}
					held.Add(-1)
					_, _ = g.Return(ctx, []service.Back{{Unit: unit(order, 1, user)}})
				}
			})
		}
		wg.Wait()
		c := counters(t, g, 1)
		require.Positive(t, sold.Load())
		require.Equal(t, [5]int{stock, int(sold.Load()), int(sold.Load()), 0, 0},
			[5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
	})
}

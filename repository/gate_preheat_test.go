package repository

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/service"
)

func TestPreheatIsIdempotent(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 5)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		before := dump(t, rdb)
		again := open(1, 500, unit(90, 1, 90))
		c := counters(t, g, 1)
		again.BeginAt, again.EndAt = c.BeginAt, c.EndAt
		made, err := g.Preheat(t.Context(), again)
		require.NoError(t, err)
		require.False(t, made)
		require.Equal(t, before, dump(t, rdb), "a second preheat adds neither stock nor users")

		moved := again
		moved.EndAt = moved.EndAt.AddDate(0, 0, 1)
		_, err = g.Preheat(t.Context(), moved)
		require.NoError(t, err)
		c2 := counters(t, g, 1)
		require.Equal(t, c.EndAt.AddDate(0, 0, 1), c2.EndAt, "the window is refreshed")
		require.Equal(t, c.Stock, c2.Stock)
	})
}

// Live orders of the database hold units and bar their users.
func TestPreheatCountsLiveOrders(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := NewGate(rdb, GateOptions{})
		const n = 2*loadChunk + 7 // several chunks
		live := make([]service.Unit, n)
		for i := range live {
			live[i] = unit(service.ID(1000+i), 1, int64(1+i))
		}
		made, err := g.Preheat(t.Context(), open(1, n+2, live...))
		require.NoError(t, err)
		require.True(t, made)
		c := counters(t, g, 1)
		require.Equal(t, [5]int{2, n, 0, 0, n}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
		a := admit(t, g, 1, false, 9999, 5)
		require.ErrorIs(t, a.Err, service.ErrAlreadyOrdered)
		require.Equal(t, service.ID(1004), a.Existing)
		require.Len(t, rdb.Keys(t.Context(), "*").Val(), 2, "the load is gone")
		require.Equal(t, int64(-1), rdb.TTL(t.Context(), g.keys.users(1)).Val().Nanoseconds(), "the users hash never expires")
	})
}

// The gate is lost while orders are in flight: they keep their units.
func TestPreheatCountsOrdersInFlight(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 5)
		_, err := g.Preheat(t.Context(), open(2, 5))
		require.NoError(t, err)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		require.NoError(t, admit(t, g, 1, false, 12, 8).Err)
		require.NoError(t, admit(t, g, 2, false, 13, 9).Err)
		require.NoError(t, rdb.Del(t.Context(), g.keys.gate(1), g.keys.users(1)).Err())

		// 11 is written already (its Done has not come), 12 is not.
		made, err := g.Preheat(t.Context(), open(1, 5, unit(11, 1, 7)))
		require.NoError(t, err)
		require.True(t, made)
		c := counters(t, g, 1)
		require.Equal(t, [5]int{3, 2, 0, 2, 2}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
		require.NoError(t, g.Done(t.Context(), []service.Unit{unit(11, 1, 7)}))
		given, err := g.Return(t.Context(), []service.Back{{Unit: unit(12, 1, 8)}})
		require.NoError(t, err)
		require.True(t, given[0])
		c = counters(t, g, 1)
		require.Equal(t, [5]int{4, 2, 1, 0, 1}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
	})
}

// After a flush nothing is oversold: the gate comes back from the database, and stale calls change nothing.
func TestPreheatAfterFlush(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 3)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		require.NoError(t, rdb.FlushAll(t.Context()).Err())
		require.ErrorIs(t, admit(t, g, 1, false, 12, 8).Err, service.ErrNotPreheated)

		made, err := g.Preheat(t.Context(), open(1, 3)) // 11 is not written yet
		require.NoError(t, err)
		require.True(t, made)
		require.NoError(t, g.Done(t.Context(), []service.Unit{unit(11, 1, 7)}))
		require.Equal(t, 0, counters(t, g, 1).InFlight, "an order from before the flush is not settled into -1")

		// Reconcile finds 11 in the database and adopts it, once.
		for i := range 2 {
			adopted, err := g.Adopt(t.Context(), unit(11, 1, 7))
			require.NoError(t, err)
			require.Equal(t, i == 0, adopted)
		}
		c := counters(t, g, 1)
		require.Equal(t, [5]int{2, 1, 0, 0, 1}, [5]int{c.Stock, c.Admitted, c.Returned, c.InFlight, c.Holders})
		adopted, err := g.Adopt(t.Context(), unit(11, 5, 7))
		require.NoError(t, err)
		require.False(t, adopted, "there is no gate")
	})
}

func TestAdoptNeverGoesBelowZero(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 1)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		adopted, err := g.Adopt(t.Context(), unit(12, 1, 8))
		require.NoError(t, err)
		require.True(t, adopted)
		c := counters(t, g, 1)
		require.Equal(t, [3]int{0, 2, 2}, [3]int{c.Stock, c.Admitted, c.Holders})
	})
}

func TestSetStockOnlyWhenNothingMoved(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 5)
		require.NoError(t, admit(t, g, 1, false, 11, 7).Err)
		seen := counters(t, g, 1)
		require.NoError(t, admit(t, g, 1, false, 12, 8).Err)
		set, err := g.SetStock(t.Context(), 1, seen, 9)
		require.NoError(t, err)
		require.False(t, set)
		require.Equal(t, 3, counters(t, g, 1).Stock)

		set, err = g.SetStock(t.Context(), 1, counters(t, g, 1), 9)
		require.NoError(t, err)
		require.True(t, set)
		require.Equal(t, 7, counters(t, g, 1).Stock, "capacity less holders")
		set, err = g.SetStock(t.Context(), 1, counters(t, g, 1), 1)
		require.NoError(t, err)
		require.True(t, set)
		require.Equal(t, 0, counters(t, g, 1).Stock)
		set, err = g.SetStock(t.Context(), 2, service.GateCounters{}, 1)
		require.NoError(t, err)
		require.False(t, set, "there is no gate")
	})
}

func TestHoldersAndForget(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		g := preheated(t, rdb, 1, 5)
		_, err := g.Preheat(t.Context(), open(2, 5))
		require.NoError(t, err)
		require.NoError(t, admit(t, g, 1, true, 11, 7).Err)
		require.NoError(t, admit(t, g, 2, true, 12, 8).Err)
		h, err := g.Holders(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, map[int64]service.ID{7: 11}, h)

		require.NoError(t, g.Forget(t.Context(), 1))
		require.False(t, counters(t, g, 1).Preheated)
		require.Equal(t, 1, counters(t, g, 2).InFlight)
		entries, err := NewStream(g).Read(t.Context(), 0, 10, 0)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, service.ID(12), entries[0].Order)
		_, found, err := g.FindInFlight(t.Context(), 11)
		require.NoError(t, err)
		require.False(t, found)
	})
}

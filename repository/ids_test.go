package repository

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// clock is a clock that tests move, in both directions.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: epoch.Add(1000 * time.Hour)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func next(t require.TestingT, g *IDs) service.ID {
	id, err := g.NextID(context.Background())
	require.NoError(t, err)
	return id
}

// parts takes an id apart.
func parts(id service.ID) (ms, worker, seq int64) {
	return int64(id) >> 22, int64(id) >> 12 & 1023, int64(id) & 4095
}

func TestAnIDIsTimeWorkerSequence(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		c := newClock()
		first, second := b.IDs(c.now), b.IDs(c.now)
		var got [][3]int64
		for _, g := range []*IDs{first, first, second} {
			ms, worker, seq := parts(next(t, g))
			got = append(got, [3]int64{ms, worker, seq})
		}
		ms := (1000 * time.Hour).Milliseconds()
		require.Equal(t, [][3]int64{{ms, 0, 0}, {ms, 0, 1}, {ms, 1, 0}}, got)
	})
}

func TestIDsGrowWhenTheClockStepsBackOrStandsStill(t *testing.T) {
	b, c := newBench(t, backendtest.SQLite(t), Options{}), newClock()
	g := b.IDs(c.now)
	last := next(t, g)
	for i := range 3 * maxSeq { // runs through more sequence numbers than a millisecond has
		if i == 10 {
			c.step(-time.Hour)
		}
		id := next(t, g)
		require.Greater(t, id, last)
		last = id
	}
	ms, _, _ := parts(last)
	require.Equal(t, (1000*time.Hour).Milliseconds()+2, ms, "and time runs no faster than it must")
}

// Many processes, one database, clocks that jump: no id twice, and each process's ids grow.
func TestIDsAreUniqueWhateverTheClocksDo(t *testing.T) {
	dsn := backendtest.SQLite(t)
	b := newBench(t, dsn, Options{})
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, b.writer.Exec("DELETE FROM workers").Error)
		seen := map[service.ID]bool{}
		clocks := []*clock{newClock(), newClock(), newClock()}
		sources := []*IDs{b.IDs(clocks[0].now), b.IDs(clocks[1].now), b.IDs(clocks[2].now)}
		last := make([]service.ID, len(sources))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(sources)-1).Draw(t, "process")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				clocks[i].step(time.Duration(rapid.Int64Range(-2*leaseMillis, 3*leaseMillis).Draw(t, "jump")) * time.Millisecond)
			case 1:
				require.NoError(t, sources[i].Close(context.Background()))
			case 2: // the process dies without a word and another starts
				sources[i], last[i] = b.IDs(clocks[i].now), 0
			default:
				id := next(t, sources[i])
				require.False(t, seen[id], "id %d twice", id)
				require.Greater(t, id, last[i])
				seen[id], last[i] = true, id
			}
		}
	})
}

// A number whose lease ran out goes to the next process, and its first owner takes another one.
func TestAnExpiredWorkerNumberIsLeasedAgain(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		c := newClock()
		first, second := b.IDs(c.now), b.IDs(c.now)
		before := next(t, first)
		c.step((leaseMillis + 1) * time.Millisecond)
		_, worker, _ := parts(next(t, second))
		require.Zero(t, worker, "the expired number is used before a new one")
		after := next(t, first)
		_, worker, _ = parts(after)
		require.EqualValues(t, 1, worker)
		require.Greater(t, after, before)

		require.NoError(t, second.Close(context.Background()))
		c.step(time.Millisecond)
		_, worker, _ = parts(next(t, b.IDs(c.now)))
		require.Zero(t, worker, "a number that was given back is free at once")
	})
}

func TestWorkerNumbersRunOut(t *testing.T) {
	b, c := newBench(t, backendtest.SQLite(t), Options{}), newClock()
	until := c.now().Add(time.Minute).Sub(epoch).Milliseconds()
	rows := make([]workerRow, maxWorkers)
	for i := range rows {
		rows[i] = workerRow{Worker: i, Owner: "somebody", UntilMs: until}
	}
	require.NoError(t, b.writer.CreateInBatches(rows, 500).Error)
	g := b.IDs(c.now)
	_, err := g.NextID(context.Background())
	require.ErrorIs(t, err, ErrNoWorker)
	c.step(2 * time.Minute)
	next(t, g)
}

// Processes that start at the same moment get numbers of their own.
func TestWorkerNumbersUnderARace(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		var wg sync.WaitGroup
		ids := make([]service.ID, 24)
		stores := []*Store{b.Store, openStore(t, b.dsn, Options{}), openStore(t, b.dsn, Options{})}
		for i := range ids {
			wg.Go(func() { ids[i] = next(t, stores[i%3].IDs(nil)) })
		}
		wg.Wait()
		workers := map[int64]bool{}
		for _, id := range ids {
			_, w, _ := parts(id)
			workers[w] = true
		}
		require.Len(t, workers, len(ids))
	})
}

// Ids go on while the database is away, for as long as the lease reaches, and not beyond it.
func TestIDsOutliveAnOutageOfTheDatabase(t *testing.T) {
	dsn, c := backendtest.SQLite(t), newClock()
	newBench(t, dsn, Options{})
	s, err := Open(context.Background(), dsn, Options{})
	require.NoError(t, err)
	g := s.IDs(c.now)
	next(t, g)
	require.NoError(t, s.Close())
	for range 4 {
		c.step(leaseMillis / 5 * time.Millisecond)
		next(t, g)
	}
	c.step(leaseMillis / 5 * time.Millisecond)
	_, err = g.NextID(context.Background())
	require.Error(t, err)
}

func BenchmarkNextID(b *testing.B) {
	g := newBench(b, backendtest.SQLite(b), Options{}).ids
	for b.Loop() {
		next(b, g)
	}
}

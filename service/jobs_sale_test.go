package service_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// turns notes in which process the duties run.
type turns struct {
	inside   sync.Map // duty -> *atomic.Int32: how many run it now
	overlaps atomic.Int32
	taken    [2]atomic.Int32 // sweeps of unpaid orders, by process
}

// watch wraps a process's duties, which take their turns quickly.
func (n *turns) watch(process int, duties []service.Duty) []service.Duty {
	for i, d := range duties {
		counter, _ := n.inside.LoadOrStore(d.Name, &atomic.Int32{})
		inside := counter.(*atomic.Int32)
		duties[i].Every = 4 * time.Millisecond
		duties[i].Run = func(ctx context.Context) error {
			if inside.Add(1) > 1 {
				n.overlaps.Add(1)
			}
			defer inside.Add(-1)
			if d.Name == "unpaid" {
				n.taken[process].Add(1)
			}
			return d.Run(ctx)
		}
	}
	return duties
}

// S-55: unpaid orders hold all of the stock. The jobs of two processes, under the project's own lock, return it once and
// in both stores, and never run beside each other.
func TestDuties_UnpaidStockComesBackOnceFromTwoProcesses(t *testing.T) {
	test := func(t *testing.T, redisURL, dsn string) {
		s := newSale(t, redisURL, dsn)
		v, seen := s.voucher(20), &turns{}
		buyer := s.process()
		for user := range int64(20) {
			_, err := buyer.buy(service.PathGate, v, user+1)
			require.NoError(t, err)
		}
		_, err := buyer.buy(service.PathGate, v, 99)
		require.ErrorIs(t, err, service.ErrSoldOut)

		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 2 {
			c := s.process()
			locker, _ := watchdogFor(t, redisURL, time.Minute)
			j := service.Janitor{Locker: locker, Log: slog.New(slog.DiscardHandler),
				Duties: seen.watch(i, service.Duties(c.life, c.rec, nil, time.Millisecond, slog.New(slog.DiscardHandler)))}
			all.Go(func() { j.Run(ctx) })
		}
		require.Eventually(t, func() bool { return s.counters(v).Stock == 20 }, time.Minute, time.Millisecond)
		s.settled(v, 0)
		require.Eventually(t, func() bool { return seen.taken[0].Load() > 2 && seen.taken[1].Load() > 2 }, time.Minute, time.Millisecond,
			"both processes take turns")
		stop()
		all.Wait()
		require.Zero(t, seen.overlaps.Load())
		require.Equal(t, 20, s.audit(v).StockLeft)
		require.Equal(t, 20, s.counters(v).Stock, "once")
		_, err = buyer.buy(service.PathGate, v, 1)
		require.NoError(t, err, "the user may order again")
	}
	t.Run("embedded", func(t *testing.T) { test(t, backendtest.EmbeddedRedis(t, 1).URLs[0], backendtest.SQLite(t)) })
	t.Run("servers", func(t *testing.T) { test(t, backendtest.RedisNodes(t, 1).URLs[0], backendtest.MariaDB(t)) })
}

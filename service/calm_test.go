package service_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
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

// traffic counts what a process sends: commands to Redis, attempts to connect, and writes where the test adds them.
type traffic struct{ sent atomic.Int64 }

func (c *traffic) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.sent.Add(1)
		return next(ctx, network, addr)
	}
}

func (c *traffic) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}

func (c *traffic) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.count(cmd)
		}
		return next(ctx, cmds)
	}
}

// count leaves out what a client says about itself on each new connection.
func (c *traffic) count(cmd redis.Cmder) {
	if name := cmd.Name(); name != "hello" && name != "client" {
		c.sent.Add(1)
	}
}

// calm waits until n more were sent and requires that this took its time. A loop that never waits sends them in a
// fraction of it; a busy machine only makes it longer.
func (c *traffic) calm(t *testing.T, n int64, least time.Duration) {
	t.Helper()
	from, began := c.sent.Load(), time.Now()
	require.Eventually(t, func() bool { return c.sent.Load() >= from+n }, time.Minute, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), least, "%d commands", n)
}

// counted is a process of the sale on a client of its own, whose traffic is counted. addr "": the sale's Redis.
func (s *sale) counted(addr string) (*counter, *traffic) {
	o := *s.rdb.Options()
	if addr != "" {
		o.Addr = addr
	}
	rdb, sent := redis.NewClient(&o), &traffic{}
	rdb.AddHook(sent)
	s.t.Cleanup(func() { require.NoError(s.t, rdb.Close()) })
	own := *s
	own.rdb, own.gate = rdb, repository.NewGate(rdb, repository.GateOptions{Prefix: s.prefix})
	return own.process(), sent
}

// slowly are the settings under which a worker that waits sends a few commands in 50 ms, and gives no order up.
func slowly(o *service.WorkerOptions) {
	o.Block, o.ClaimEvery, o.MaxDeliveries = 50*time.Millisecond, 50*time.Millisecond, 1_000_000
}

// S-50: a worker waits where there is nothing to do, and it waits where what there is can't be done: when the messages
// that it holds can't be written, for want of the database or for a reason of their own, and when the stream refuses
// every command.
func TestWorker_NeverSpins(t *testing.T) {
	for name, at := range map[string]struct {
		prepare  func(s *sale, c *counter, sent *traffic) service.BatchWriter
		commands int64
		least    time.Duration
	}{
		"nothing to do": {func(_ *sale, c *counter, _ *traffic) service.BatchWriter { return c.store }, 60, 300 * time.Millisecond},
		"no database": {func(s *sale, c *counter, sent *traffic) service.BatchWriter {
			away := errors.New("connection refused")
			s.process().enqueue(s.voucher(5), 5)
			c.returns.Store = awayStore{s.store, func() error { return away }}
			return &failing{BatchWriter: s.store, broken: func([]service.InFlight) error { sent.sent.Add(1); return away }}
		}, 14, 60 * time.Millisecond},
		"own messages that fail": {func(s *sale, _ *counter, _ *traffic) service.BatchWriter {
			s.process().enqueue(s.voucher(5), 5)
			return &failing{BatchWriter: s.store, broken: func([]service.InFlight) error { return errors.New("poison") }}
		}, 40, 60 * time.Millisecond},
		"no stream": {func(s *sale, c *counter, _ *traffic) service.BatchWriter {
			s.process().enqueue(s.voucher(1), 1)
			keys, err := s.rdb.Keys(s.t.Context(), s.prefix+":*stream").Result()
			require.NoError(s.t, err)
			require.Len(s.t, keys, 1)
			require.NoError(s.t, s.rdb.Set(s.t.Context(), keys[0], "not a stream", 0).Err())
			return c.store
		}, 10, 60 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *sale) {
				c, sent := s.counted("")
				c.work(at.prepare(s, c, sent), slowly)
				sent.calm(t, at.commands, at.least)
			})
		})
	}
}

// Without Redis, nothing that runs beside the handlers hammers at its address.
func TestBackground_DoesNotSpinWithoutRedis(t *testing.T) {
	s := newSale(t, backendtest.EmbeddedRedis(t, 1).URLs[0], backendtest.SQLite(t))
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := nobody.Addr().String()
	require.NoError(t, nobody.Close())
	c, sent := s.counted(addr)
	locks, err := lock.Open("watchdog", lock.Resources{Redis: c.rdb}, lock.Options{TTL: service.JobLockTTL})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, f := range []func(context.Context){
		func(ctx context.Context) { _ = (&service.SoldOut{}).Watch(ctx, c.gate) }, // it ends with ctx
		(&service.Janitor{Locker: locks, Log: slog.New(slog.DiscardHandler), Duties: []service.Duty{
			{Name: "test", Every: 50 * time.Millisecond, Run: func(context.Context) error { return nil }},
		}}).Run,
	} {
		all.Go(func() { f(ctx) })
	}
	c.work(nil, slowly)
	sent.calm(t, 20, 60*time.Millisecond)
	stop()
	all.Wait()
	require.NoError(t, locks.Close(context.Background()))
}

package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/repository"
	"seckill/service"
)

// enqueue accepts n orders without a worker and returns their ids.
func (c *counter) enqueue(v service.ID, n int) []service.ID {
	var ids []service.ID
	for user := range int64(n) {
		o, err := c.buy(service.PathStream, v, user+1)
		require.NoError(c.t, err)
		require.Equal(c.t, service.Pending, o.Status)
		ids = append(ids, o.ID)
	}
	return ids
}

// S-47: orders from before the first worker are written, in full batches; every process shows them meanwhile.
func TestWorker_WritesWhatWasThereBefore(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(450)
		ids := c.enqueue(v, 450)
		elsewhere := service.Vouchers{Catalogue: s.store, Gate: s.gate}
		o, err := elsewhere.Order(t.Context(), ids[3], 4)
		require.NoError(t, err)
		require.Equal(t, service.Pending, o.Status)
		require.EqualValues(t, 100, o.PriceCents)
		_, err = elsewhere.Order(t.Context(), ids[3], 5)
		require.ErrorIs(t, err, service.ErrForbidden)
		require.Equal(t, 450, s.audit(v).InFlight)
		require.EqualValues(t, 450, s.depth().Messages)

		writer := &failing{BatchWriter: s.store, broken: func([]service.InFlight) error { return nil }}
		c.work(writer)
		s.settled(v, 450)
		require.EqualValues(t, 3, writer.calls.Load(), "200, 200 and 50")
		require.Equal(t, service.Created, s.status(ids[3]))
	})
}

// S-46: the group and the stream vanish under a running worker; it makes them anew and goes on.
func TestWorker_HealsAMissingGroup(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(10)
		c.work(nil)
		_, err := c.buy(service.PathStream, v, 1)
		require.NoError(t, err)
		s.settled(v, 1)
		require.NoError(t, s.forgetEverything())
		for user := range int64(3) {
			_, err := c.buy(service.PathStream, v, user+2)
			require.NoError(t, err)
		}
		s.settled(v, 4)
	})
}

// S-48: a worker reads and dies; another one takes its messages over. S-29: what it had written is not written twice.
func TestWorker_TakesOverFromTheDead(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		for _, wrote := range []bool{false, true} {
			t.Run(fmt.Sprintf("wrote %v", wrote), func(t *testing.T) {
				c, v := s.process(), s.voucher(10)
				c.enqueue(v, 10)
				dead := repository.NewStream(s.gate)
				entries, err := dead.Read(t.Context(), 0, 10, 0)
				require.NoError(t, err)
				require.Len(t, entries, 10)
				if wrote {
					var orders []service.InFlight
					for _, e := range entries {
						orders = append(orders, e.InFlight)
					}
					_, err := s.store.WriteBatch(t.Context(), orders, time.Now(), nil)
					require.NoError(t, err)
				}
				stop := c.work(nil)
				s.settled(v, 10)
				stop()
			})
		}
	})
}

// S-39, S-40: while the database is away nothing is acknowledged and nothing is given up; then everything is written.
func TestWorker_WaitsForTheDatabase(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(20)
		c.enqueue(v, 20)
		away := errors.New("connection refused")
		back := make(chan struct{})
		broken := func() error {
			select {
			case <-back:
				return nil
			default:
				return away
			}
		}
		c.returns.Store = awayStore{s.store, broken}
		writer := &failing{BatchWriter: s.store, broken: func([]service.InFlight) error { return broken() }}
		c.work(writer, func(o *service.WorkerOptions) { o.MaxDeliveries = 2 })
		c.work(writer, func(o *service.WorkerOptions) { o.MaxDeliveries = 2 })
		require.Eventually(t, func() bool { return writer.calls.Load() > 12 }, 20*time.Second, time.Millisecond)
		d := s.depth()
		require.EqualValues(t, 20, d.Messages)
		require.Zero(t, d.Dead)
		require.Positive(t, d.Oldest)
		close(back)
		s.settled(v, 20)
	})
}

// awayStore answers nothing while the database is away.
type awayStore struct {
	service.LifeStore
	broken func() error
}

func (a awayStore) Order(ctx context.Context, id service.ID) (service.Order, error) {
	if err := a.broken(); err != nil {
		return service.Order{}, err
	}
	return a.LifeStore.Order(ctx, id)
}

// S-51: one poisonous order in a batch is found by halving, becomes a dead letter after its deliveries, and stops nobody.
// It can be replayed, which admits its user again.
func TestWorker_PoisonBecomesADeadLetter(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(100)
		ids := c.enqueue(v, 100)
		poison := ids[41]
		writer := &failing{BatchWriter: s.store, broken: func(orders []service.InFlight) error {
			for _, o := range orders {
				if o.Order == poison {
					if len(orders)%2 == 0 {
						panic("poison")
					}
					return errors.New("poison")
				}
			}
			return nil
		}}
		c.work(writer, func(o *service.WorkerOptions) { o.MaxDeliveries = 3 })
		s.settled(v, 99)
		require.EqualValues(t, 1, s.depth().Dead)
		require.Equal(t, service.Failed, s.status(poison))
		require.Equal(t, 1, s.counters(v).Stock, "its unit went back")

		replayer := &service.Replayer{Letters: s.gate, Intake: c.placer.Intake, IDs: s.ids}
		var replayed []service.ID
		require.NoError(t, replayer.Each(t.Context(), 1, func(l service.DeadLetter) error {
			require.Equal(t, poison, l.Order)
			require.Contains(t, l.Reason, "not written in 3 tries: ")
			id, err := replayer.Replay(t.Context(), l)
			replayed = append(replayed, id)
			return err
		}))
		require.Len(t, replayed, 1)
		s.settled(v, 100)
		require.Equal(t, service.Created, s.status(replayed[0]))
		require.Zero(t, s.depth().Dead)
	})
}

// A replay is refused as any order would be, and the letter stays.
func TestReplay_Refused(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(1)
		ids := c.enqueue(v, 1)
		c.work(&failing{BatchWriter: s.store, broken: func(o []service.InFlight) error {
			if o[0].Order == ids[0] {
				return errors.New("poison")
			}
			return nil
		}}, func(o *service.WorkerOptions) { o.MaxDeliveries = 1 })
		s.settled(v, 0)
		_, err := c.buy(service.PathStream, v, 2) // somebody else takes the unit
		require.NoError(t, err)
		s.settled(v, 1)
		replayer := &service.Replayer{Letters: s.gate, Intake: c.placer.Intake, IDs: s.ids}
		require.ErrorIs(t, replayer.Each(t.Context(), 1, func(l service.DeadLetter) error {
			_, err := replayer.Replay(t.Context(), l)
			return err
		}), service.ErrSoldOut)
		require.EqualValues(t, 1, s.depth().Dead)
	})
}

// Messages that are no orders, name no voucher, or carry another order's id go to the dead letters; the rest flows.
func TestWorker_StrangeMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(5)
		ids := c.enqueue(v, 2)
		stream := s.prefix + ":{gate:0}:stream"
		for _, fields := range []map[string]any{
			{"order": "x", "voucher": v.String(), "user": "1", "ms": "1"},
			{"hello": "world"},
			{"order": "77", "voucher": "12345", "user": "9", "ms": "1"},
			{"order": ids[0].String(), "voucher": v.String(), "user": "99", "ms": "1"},
		} {
			require.NoError(t, s.rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: fields}).Err())
		}
		c.work(nil)
		s.settled(v, 2)
		require.EqualValues(t, 4, s.depth().Dead)
		letters, err := s.gate.ListDead(t.Context(), 0, 10, "")
		require.NoError(t, err)
		var reasons []string
		for _, l := range letters {
			reasons = append(reasons, strings.SplitAfter(l.Reason, ":")[0])
		}
		require.ElementsMatch(t, []string{"malformed:", "malformed:", "refused by the database:", "refused by the database:"}, reasons)
		require.Equal(t, service.Created, s.status(ids[0]), "the order whose id was borrowed is untouched")
	})
}

// A worker that is told to stop finishes the batch in hand, reads no more, and leaves its group.
func TestWorker_DrainsOnShutdown(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(20)
		c.enqueue(v, 20)
		reached, resume := make(chan struct{}), make(chan struct{})
		c.holds.On(service.HoldCommit, 0, 1, func() { close(reached); <-resume })
		stop := c.work(nil, func(o *service.WorkerOptions) { o.Batch = 7 })
		<-reached
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		close(resume)
		<-stopped
		a := s.audit(v)
		require.Contains(t, []int{7, 14}, a.Orders, "%+v", a) // the stop may come a moment after the first batch
		require.Equal(t, 20-a.Orders, a.InFlight)
		consumers, err := s.rdb.XInfoConsumers(t.Context(), s.prefix+":{gate:0}:stream", "writers").Result()
		require.NoError(t, err)
		require.Empty(t, consumers)
		c.work(nil)
		s.settled(v, 20)
	})
}

// S-54: two workers never share a consumer name; both work on one stream without doubling anything.
func TestWorker_TwoWorkers(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(300)
		require.NotEqual(t, repository.NewStream(s.gate).Consumer(), repository.NewStream(s.gate).Consumer())
		small := func(o *service.WorkerOptions) { o.Batch = 10 }
		c.work(nil, small)
		c.work(nil, small)
		c.enqueue(v, 300)
		s.settled(v, 300)
	})
}

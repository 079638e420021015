package service_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

// kinds are the kinds of the findings, each once.
func kinds(found []service.Finding) map[string]int {
	out := map[string]int{}
	for _, f := range found {
		out[f.Kind]++
	}
	return out
}

// repaired requires that the voucher shows exactly these findings, that a look alone changes nothing, that --fix
// repairs all of them, and that nothing is left.
func (c *counter) repaired(v service.ID, want map[string]int) {
	c.t.Helper()
	time.Sleep(2 * time.Millisecond) // the grace
	for range 2 {
		r, err := c.rec.Voucher(c.t.Context(), v, false)
		require.NoError(c.t, err)
		require.Equal(c.t, want, kinds(r.Findings), "%+v", r.Findings)
	}
	r, err := c.rec.Voucher(c.t.Context(), v, true)
	require.NoError(c.t, err)
	for _, f := range r.Findings {
		require.True(c.t, f.Fixed, "%+v", f)
		require.NotEmpty(c.t, f.Text)
	}
	r, err = c.rec.Voucher(c.t.Context(), v, true)
	require.NoError(c.t, err)
	require.Empty(c.t, r.Findings)
}

func TestReconcile_FindsAndRepairs(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, c *counter, v service.ID)
		want   map[string]int
		orders int
	}{
		"nothing": {func(*testing.T, *counter, service.ID) {}, map[string]int{}, 1},
		"admitted, and the process died": {func(t *testing.T, c *counter, v service.ID) {
			c.holds.On(service.HoldGateAdmitted, 0, 1, func() { panic("crash") })
			require.Panics(t, func() { _, _ = c.buy(service.PathGate, v, 2) })
		}, map[string]int{service.FindAbandoned: 1}, 1},
		"written, and the process died": {func(t *testing.T, c *counter, v service.ID) {
			c.holds.On(service.HoldGateWritten, 0, 1, func() { panic("crash") })
			require.Panics(t, func() { _, _ = c.buy(service.PathGate, v, 2) })
		}, map[string]int{service.FindUnsettled: 1}, 2},
		"cancelled, and the process died": {func(t *testing.T, c *counter, v service.ID) {
			o, err := c.buy(service.PathGate, v, 2)
			require.NoError(t, err)
			c.holds.On(service.HoldCancelCommitted, 0, 1, func() { panic("crash") })
			require.Panics(t, func() { _, _ = c.life.Cancel(t.Context(), o.ID, 2) })
		}, map[string]int{service.FindNotBack: 1}, 1},
		"sold past the gate": {func(t *testing.T, c *counter, v service.ID) {
			require.NoError(t, c.store.InTx(t.Context(), service.TxOptions{}, func(tx service.Tx) error {
				if _, err := tx.TakeOne(t.Context(), v, 0); err != nil {
					return err
				}
				now := time.Now()
				return tx.InsertOrder(t.Context(), service.Order{ID: 99, VoucherID: v, UserID: 2, Status: service.Created, CreatedAt: now, UpdatedAt: now}, true)
			}))
		}, map[string]int{service.FindUnknown: 1}, 2},
		"a wrong stock": {func(t *testing.T, c *counter, v service.ID) {
			_, err := c.gate.SetStock(t.Context(), v, c.counters(v), 5)
			require.NoError(t, err)
		}, map[string]int{service.FindStock: 1}, 1},
		"a unit for an order that never was": {func(t *testing.T, c *counter, v service.ID) {
			adopted, err := c.gate.Adopt(t.Context(), service.Unit{Order: 98, Voucher: v, User: 2})
			require.NoError(t, err)
			require.True(t, adopted)
		}, map[string]int{service.FindAbandoned: 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *sale) {
				p, v := s.process(), s.voucher(10)
				_, err := p.buy(service.PathGate, v, 1)
				require.NoError(t, err)
				c.damage(t, p, v)
				p.repaired(v, c.want)
				s.settled(v, c.orders)
				require.Equal(t, 10-c.orders, s.counters(v).Stock)
			})
		})
	}
}

// An order that waits in the stream is not abandoned, however long the database has been away.
func TestReconcile_LeavesQueuedOrdersAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(5)
		ids := c.enqueue(v, 3)
		c.holds.On(service.HoldGateAdmitted, 0, 1, func() { panic("crash") })
		require.Panics(t, func() { _, _ = c.buy(service.PathGate, v, 9) })
		time.Sleep(3 * time.Millisecond)
		found, err := c.rec.Stale(t.Context())
		require.NoError(t, err)
		require.Empty(t, found, "the abandoned one is younger than the queue, and has to wait for it")
		c.work(nil)
		require.Eventually(t, func() bool { return s.depth().Messages == 0 }, 10*time.Second, time.Millisecond)
		require.Eventually(t, func() bool { found, err = c.rec.Stale(t.Context()); return err != nil || len(found) > 0 },
			10*time.Second, time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, map[string]int{service.FindAbandoned: 1}, kinds(found))
		s.settled(v, 3)
		require.Equal(t, service.Created, s.status(ids[0]))
	})
}

// Reconciling during a sale, with --fix, changes nothing that is right.
func TestReconcile_DuringTheSale(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(100)
		c.rec.Grace = time.Minute
		c.work(nil, func(o *service.WorkerOptions) { o.Batch = 3 })
		var wg sync.WaitGroup
		for worker := range int64(4) {
			wg.Go(func() {
				for i := range int64(30) {
					user := worker*100 + i + 1
					o, err := c.buy(paths[i%2], v, user)
					if err != nil {
						require.ErrorIs(t, err, service.ErrSoldOut)
						continue
					}
					if i%3 == 0 {
						_, err = c.life.Cancel(t.Context(), o.ID, user)
						require.NoError(t, err)
					}
				}
			})
		}
		for range 3 {
			r, err := c.rec.Voucher(t.Context(), v, true)
			require.NoError(t, err)
			require.Empty(t, r.Findings)
		}
		wg.Wait()
		s.settled(v, 80)
	})
}

// S-36: preheating twice, during the sale, and after a flush with orders on their way never makes units.
func TestPreheat_CountsOrdersInFlight(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(5)
		made, err := c.heat.Preheat(t.Context(), v)
		require.NoError(t, err)
		require.True(t, made)
		c.enqueue(v, 2)
		made, err = c.heat.Preheat(t.Context(), v)
		require.NoError(t, err)
		require.False(t, made)
		require.Equal(t, 3, s.counters(v).Stock)

		require.NoError(t, s.rdb.Del(t.Context(), s.prefix+":{gate:0}:v:"+v.String()).Err()) // the gate alone is lost
		made, err = c.heat.Preheat(t.Context(), v)
		require.NoError(t, err)
		require.True(t, made)
		require.Equal(t, 3, s.counters(v).Stock, "two are in flight")
		_, err = c.heat.Preheat(t.Context(), 12345)
		require.ErrorIs(t, err, service.ErrNotFound)
		c.work(nil)
		s.settled(v, 2)
	})
}

// A gate that a thousand requests miss at once is made once.
func TestPreheat_IsShared(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *sale) {
		c, v := s.process(), s.voucher(5)
		var wg sync.WaitGroup
		made := make(chan bool, 50)
		for range 50 {
			wg.Go(func() {
				m, err := c.heat.Preheat(t.Context(), v)
				require.NoError(t, err)
				made <- m
			})
		}
		wg.Wait()
		require.Equal(t, 5, s.counters(v).Stock)
	})
}

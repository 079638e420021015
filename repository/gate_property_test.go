package repository

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"seckill/service"
)

// gateModel is what one voucher's gate must be: the simplest program that keeps the same rules in memory.
type gateModel struct {
	gate     *Gate
	made     bool
	capacity int // what the database can sell: left + live
	stock    int
	returned int
	holders  map[int64]service.ID
	inflight map[service.ID]int64
	live     map[service.ID]int64 // orders that stand in the database
	ended    []service.Unit       // for late and repeated calls
	next     service.ID
}

const modelVoucher = 1

func (m *gateModel) admit(t *rapid.T) {
	asks := make([]service.Ask, rapid.IntRange(1, 6).Draw(t, "asks"))
	for i := range asks {
		m.next++
		asks[i] = ask(m.next, rapid.Int64Range(1, 8).Draw(t, "user"))
	}
	got, err := m.gate.Admit(t.Context(), modelVoucher, rapid.Bool().Draw(t, "enqueue"), asks)
	require.NoError(t, err)
	for i, a := range asks {
		require.Equal(t, m.answer(a), got[i])
	}
	// Asked again after a lost reply, whoever was admitted still is.
	again, err := m.gate.Admit(t.Context(), modelVoucher, true, asks)
	require.NoError(t, err)
	for i := range asks {
		if got[i].Err == nil {
			require.NoError(t, again[i].Err)
		}
	}
}

func (m *gateModel) answer(a service.Ask) service.Admission {
	switch held, holds := m.holders[a.User]; {
	case !m.made:
		return service.Admission{Err: service.ErrNotPreheated}
	case holds:
		return service.Admission{Err: service.ErrAlreadyOrdered, Existing: held}
	case m.stock == 0:
		return service.Admission{Err: service.ErrSoldOut}
	}
	m.stock--
	m.holders[a.User] = a.Order
	m.inflight[a.Order] = a.User
	return service.Admission{}
}

// write is the database's part: the order stands, with or without the gate being told.
func (m *gateModel) write(t *rapid.T) {
	order, user, ok := pick(t, m.inflight)
	if !ok {
		return
	}
	m.live[order] = user
	for range rapid.IntRange(0, 2).Draw(t, "dones") { // 0: the process died before it told the gate
		require.NoError(t, m.gate.Done(t.Context(), []service.Unit{unit(order, modelVoucher, user)}))
		delete(m.inflight, order)
	}
}

// end is a cancellation, a failure, or either of them repeated or late.
func (m *gateModel) end(t *rapid.T) {
	from := m.inflight
	if rapid.Bool().Draw(t, "written") {
		from = m.live
	}
	order, user, ok := pick(t, from)
	if !ok {
		return
	}
	u := unit(order, modelVoucher, user)
	m.ended = append(m.ended, u)
	noRestock := m.live[order] == 0 && rapid.Bool().Draw(t, "no restock")
	delete(m.live, order)
	m.giveBack(t, service.Back{Unit: u, NoRestock: noRestock})
}

func (m *gateModel) repeat(t *rapid.T) {
	if len(m.ended) > 0 {
		m.giveBack(t, service.Back{Unit: rapid.SampledFrom(m.ended).Draw(t, "ended")})
	}
}

func (m *gateModel) giveBack(t *rapid.T, b service.Back) {
	given, err := m.gate.Return(t.Context(), []service.Back{b})
	require.NoError(t, err)
	delete(m.inflight, b.Order)
	holds := m.holders[b.User] == b.Order
	require.Equal(t, []bool{holds}, given)
	if !holds {
		return
	}
	delete(m.holders, b.User)
	if m.made {
		m.returned++
	}
	switch {
	case b.NoRestock:
		m.capacity-- // the database turned out to have one less
	case m.made:
		m.stock++
	}
}

// preheat is called at any time; lose makes it matter.
func (m *gateModel) preheat(t *rapid.T) {
	var live []service.Unit
	for order, user := range m.live {
		live = append(live, unit(order, modelVoucher, user))
	}
	made, err := m.gate.Preheat(t.Context(), open(modelVoucher, m.capacity, live...))
	require.NoError(t, err)
	require.Equal(t, !m.made, made)
	if !made {
		return
	}
	m.made, m.returned = true, 0
	m.holders = map[int64]service.ID{}
	for order, user := range m.inflight {
		m.holders[user] = order
	}
	for order, user := range m.live {
		m.holders[user] = order
	}
	m.stock = m.capacity - len(m.holders)
}

// lose drops the gate (an eviction, a mistaken DEL), but not the orders in flight.
func (m *gateModel) lose(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "lose") > 0 {
		return
	}
	require.NoError(t, m.gate.rdb.Del(t.Context(), m.gate.keys.gate(modelVoucher), m.gate.keys.users(modelVoucher)).Err())
	m.made, m.stock, m.returned = false, 0, 0
	m.holders = map[int64]service.ID{}
}

func (m *gateModel) check(t *rapid.T) {
	c, err := m.gate.Counters(t.Context(), modelVoucher)
	require.NoError(t, err)
	require.Equal(t, m.made, c.Preheated)
	of, err := m.gate.InFlightOf(t.Context(), modelVoucher)
	require.NoError(t, err)
	require.Len(t, of, len(m.inflight))
	holders, err := m.gate.Holders(t.Context(), modelVoucher)
	require.NoError(t, err)
	require.Equal(t, m.holders, holders)
	if !m.made {
		return
	}
	unwritten := 0
	for order := range m.inflight {
		if m.live[order] == 0 {
			unwritten++
		}
	}
	require.Equal(t, m.stock, c.Stock)
	require.GreaterOrEqual(t, c.Stock, 0)
	require.Equal(t, len(m.inflight), c.InFlight)
	require.Equal(t, c.Admitted, c.Holders+c.Returned)
	require.Equal(t, c.Admitted, len(m.live)+unwritten+c.Returned, "admitted = orders + in flight + returned")
	require.LessOrEqual(t, c.Stock+c.Holders, m.capacity, "never more than the database has")
}

func pick(t *rapid.T, from map[service.ID]int64) (service.ID, int64, bool) {
	if len(from) == 0 {
		return 0, 0, false
	}
	keys := make([]service.ID, 0, len(from))
	for id := service.ID(1); len(keys) < len(from); id++ { // in order, so that a failing run can be repeated
		if _, ok := from[id]; ok {
			keys = append(keys, id)
		}
	}
	id := rapid.SampledFrom(keys).Draw(t, "order")
	return id, from[id], true
}

// Random sequences of everything that can happen to a gate keep it equal to the model.
func TestGateProperties(t *testing.T) {
	onEachRedis(t, func(t *testing.T, rdb *redis.Client) {
		rapid.Check(t, func(t *rapid.T) {
			require.NoError(t, rdb.FlushAll(t.Context()).Err())
			m := &gateModel{
				gate: NewGate(rdb, GateOptions{}), capacity: rapid.IntRange(0, 6).Draw(t, "capacity"),
				holders: map[int64]service.ID{}, inflight: map[service.ID]int64{}, live: map[service.ID]int64{},
			}
			t.Repeat(map[string]func(*rapid.T){
				"admit": m.admit, "write": m.write, "end": m.end, "repeat": m.repeat,
				"preheat": m.preheat, "lose": m.lose, "": m.check,
			})
		})
	})
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/repository"
	"seckill/repository/backend/backendtest"
)

// zones are where the processes of TestTimeZones live.
var zones = []string{"UTC", "Asia/Shanghai", "America/Los_Angeles"}

// in sets the time zone of the processes that are started next.
func in(t *testing.T, zone string) {
	t.Helper()
	if _, err := time.LoadLocation(zone); err != nil {
		t.Skipf("this machine does not know time zones: %v", err)
	}
	t.Setenv("TZ", zone)
}

// S-60: processes in different time zones, on a database server in yet another one, decide alike whether a sale is on,
// on every path, and whether an order has been unpaid for too long.
func TestTimeZones(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) addresses{
		"embedded": func(t *testing.T) addresses {
			return addresses{redis: backendtest.EmbeddedRedis(t, 1).URLs[0], db: backendtest.SQLite(t)}
		},
		"servers": func(t *testing.T) addresses {
			return addresses{redis: backendtest.RedisNodes(t, 1).URLs[0], db: backendtest.OwnDB(t).DSN}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, "Pacific/Auckland")
			at := open(t)
			_, err := repository.Migrate(t.Context(), at.db)
			require.NoError(t, err)
			m := newMarket(t, at)
			var servers []*child
			for _, zone := range zones {
				in(t, zone)
				servers = append(servers, m.serve("conditional", "--pay-within=1h"))
			}
			for i, zone := range zones {
				m.sellAcross(servers[i], servers, zone)
			}
			last := servers[len(servers)-1]
			for i, zone := range zones {
				in(t, zone)
				m.unpaidIn(servers[len(zones)-1-i], zone)
			}
			m.converges(last, "orders of all zones")
		})
	}
}

// windows are sales around now, with the answer to an order. They are shorter than the time between any two zones.
var windows = []struct {
	begin, end time.Duration
	code       string // "": accepted
}{
	{-time.Hour, time.Hour, ""},
	{time.Hour, 2 * time.Hour, "not_started"},
	{-2 * time.Hour, -time.Hour, "ended"},
}

// sellAcross opens a sale of each window at one server and places orders at all of them, on every path.
func (m *market) sellAcross(at *child, servers []*child, zone string) {
	m.t.Helper()
	local, err := time.LoadLocation(zone)
	require.NoError(m.t, err)
	for _, w := range windows {
		var v struct {
			ID      string
			BeginAt time.Time `json:"begin_at"`
		}
		begin, end := time.Now().Add(w.begin).Truncate(time.Second), time.Now().Add(w.end)
		// What a client writes in its own zone is the same moment.
		require.Equal(m.t, http.StatusCreated, m.call(at, http.MethodPost, "/api/v1/vouchers", 0, map[string]any{
			"title": "phone", "stock": 100, "price_cents": 100, "begin_at": begin.In(local), "end_at": end.In(local),
		}, &v))
		require.True(m.t, begin.Equal(v.BeginAt), "%v became %v", begin, v.BeginAt)
		m.voucher = v.ID
		for i, server := range servers {
			for k, stage := range []string{"conditional", "gate", "stream"} {
				code := m.order(server, int64(10*i+k+1), stage)
				require.Equal(m.t, w.code, code, "a sale from %v to %v, opened in %s, on %s by the process in %s", w.begin, w.end, zone, stage, zones[i])
			}
		}
	}
}

// order places an order and returns the code of its refusal.
func (m *market) order(at *child, user int64, stage string) string {
	m.t.Helper()
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, at.url+"/api/v1/vouchers/"+m.voucher+"/orders?stage="+stage, http.NoBody)
	require.NoError(m.t, err)
	req.Header.Set("X-User-ID", fmt.Sprint(user))
	resp, err := m.client.Do(req)
	require.NoError(m.t, err)
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Error struct{ Code string }
	}
	require.NoError(m.t, json.NewDecoder(resp.Body).Decode(&answer))
	return answer.Error.Code
}

// unpaidIn buys at one server, and starts another in the zone that gives unpaid orders no time: it takes the order back.
func (m *market) unpaidIn(at *child, zone string) {
	m.t.Helper()
	m.open(at, 1)
	order, status := m.buy(at, 1)
	require.Equal(m.t, http.StatusCreated, status)
	state := func() string {
		var o struct{ Status string }
		require.Equal(m.t, http.StatusOK, m.call(at, http.MethodGet, "/api/v1/orders/"+order, 1, nil, &o))
		return o.Status
	}
	require.Equal(m.t, "created", state())
	m.mu.Lock()
	clear(m.accepted) // the order is to be taken back
	m.mu.Unlock()
	hasty := m.serve("conditional", "--pay-within=1ms")
	require.True(m.t, becomes(func() bool { return state() == "cancelled" }), "an order placed by a process elsewhere stays unpaid in %s", zone)
	hasty.stop()
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

// convergeIn is how long a sale may take to be in order again after a crash.
const convergeIn = 10 * time.Second

// market is one sale with real processes on real engines.
type market struct {
	t       *testing.T
	fleet   *fleet
	client  *http.Client
	voucher string

	mu       sync.Mutex
	accepted map[int64]string // user -> order that the user was promised
}

func newMarket(t *testing.T, at addresses) *market {
	f, err := newFleet(at)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	m := &market{t: t, fleet: f, client: &http.Client{Timeout: 20 * time.Second}, accepted: map[int64]string{}}
	t.Cleanup(m.client.CloseIdleConnections)
	return m
}

// serve starts a server; it ends with the test.
func (m *market) serve(stage string, extra ...string) *child {
	m.t.Helper()
	c := newChild("p")
	m.t.Cleanup(c.stop)
	args := append([]string{"serve", "--parent-pipe", "--lab", "--addr=127.0.0.1:0", "--stage=" + stage, "--log-level=warn"},
		m.fleet.engines.flags()...)
	require.NoError(m.t, c.start(m.t.Context(), m.fleet, append(args, extra...)))
	return c
}

// call returns the status, 0 when there was no answer, and decodes a JSON answer.
func (m *market) call(c *child, method, path string, user int64, body, into any) int {
	var reader io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		require.NoError(m.t, err)
		reader = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, c.url+path, reader)
	require.NoError(m.t, err)
	req.Header.Set("X-User-ID", strconv.FormatInt(user, 10))
	resp, err := m.client.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0
	}
	if into != nil && resp.StatusCode/100 == 2 {
		require.NoError(m.t, json.Unmarshal(answer, into), "%s", answer)
	}
	return resp.StatusCode
}

// open puts a voucher with that stock on sale.
func (m *market) open(c *child, stock int) {
	var v struct{ ID string }
	now := time.Now().UTC()
	require.Equal(m.t, http.StatusCreated, m.call(c, http.MethodPost, "/api/v1/vouchers", 0, map[string]any{
		"title": "phone", "stock": stock, "price_cents": 100, "begin_at": now.Add(-time.Hour), "end_at": now.Add(time.Hour),
	}, &v))
	m.voucher = v.ID
	require.Equal(m.t, http.StatusOK, m.call(c, http.MethodPost, "/api/v1/vouchers/"+v.ID+"/preheat", 0, nil, nil))
}

// buy places an order and remembers what the user was promised.
func (m *market) buy(c *child, user int64, query ...string) (order string, status int) {
	var placed placedOrder
	path := "/api/v1/vouchers/" + m.voucher + "/orders"
	for _, q := range query {
		path += "?" + q
	}
	status = m.call(c, http.MethodPost, path, user, nil, &placed)
	if status/100 == 2 {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.accepted[user] = placed.OrderID
	}
	return placed.OrderID, status
}

type placedOrder struct {
	OrderID string `json:"order_id"`
}

// cancel cancels an order; from then on nobody knows whether it exists, until an answer says so.
func (m *market) cancel(c *child, user int64, order string) {
	m.mu.Lock()
	delete(m.accepted, user)
	m.mu.Unlock()
	m.call(c, http.MethodPost, "/api/v1/orders/"+order+"/cancel", user, nil, nil)
}

// marketAudit is the audit's answer.
type marketAudit struct {
	service.Audit
	VoucherID string `json:"voucher_id"`
}

// converges waits until the books are in order: nothing in flight, no drift in either store. Then nobody was promised
// an order that is not there, and nobody has two.
func (m *market) converges(c *child, why string) marketAudit {
	m.t.Helper()
	began := time.Now()
	var a marketAudit
	clean := func() bool {
		a = marketAudit{}
		return m.call(c, http.MethodGet, "/api/v1/vouchers/"+m.voucher+"/audit", 0, nil, &a) == http.StatusOK &&
			a.InFlight == 0 && a.Drift == 0 && (a.Gate == nil || a.Gate.Drift == 0)
	}
	for !clean() {
		if time.Since(began) > convergeIn {
			m.t.Fatalf("%s: not in order after %v: %+v, gate %+v", why, convergeIn, a.Audit, a.Gate)
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.Zero(m.t, a.Oversold+a.Duplicates, "%s: %+v", why, a.Audit)
	var rows []struct {
		ID     string `json:"id"`
		User   string `json:"user_id"`
		Status string `json:"status"`
	}
	require.Equal(m.t, http.StatusOK, m.call(c, http.MethodGet, "/api/v1/vouchers/"+m.voucher+"/orders", 0, nil, &rows))
	live := map[string]string{}
	for _, r := range rows {
		if r.Status == string(service.Created) || r.Status == string(service.Paid) {
			live[r.User] = r.ID
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for user, order := range m.accepted {
		require.Equal(m.t, order, live[strconv.FormatInt(user, 10)], "%s: user %d was promised an order", why, user)
	}
	return a
}

package router

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/service"
)

// phones is the /sell stock in memory.
type phones struct {
	mu sync.Mutex
	n  *int
}

func (p *phones) SellStock(context.Context) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n == nil {
		return 0, service.ErrNotFound
	}
	return *p.n, nil
}

func (p *phones) SetSellStock(_ context.Context, n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n = &n
	return nil
}

func TestSell(t *testing.T) {
	mutex, err := lock.Open("mutex", lock.Resources{}, lock.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mutex.Close(context.Background())) })
	s := newShop(t, func(o *Options) {
		o.Sell = &service.Sell{Stock: &phones{}, Locks: [3]lock.Locker{mutex, mutex, mutex}}
	})
	s.do("GET", "/sell1", "").is(409, "sold_out")
	for _, target := range []string{"/sell1", "/sell2", "/sell3"} {
		require.JSONEq(t, `{"stock_left":2}`, s.do("POST", "/sell/reset?stock=2", "").is(200, "").Body)
		require.JSONEq(t, `{"stock_left":1}`, s.do("GET", target, "").is(200, "").Body)
		require.JSONEq(t, `{"stock_left":0}`, s.do("POST", target, "").is(200, "").Body)
		s.do("POST", target, "").is(409, "sold_out")
	}
	s.do("GET", "/sell/reset", "").is(400, "bad_request")
	s.do("GET", "/sell/reset?stock=-1", "").is(422, "invalid")
	s.do("GET", "/sell4", "").is(404, "not_found")

	held, err := mutex.Acquire(context.Background(), service.SellKey)
	require.NoError(t, err)
	require.Contains(t, s.do("GET", "/sell2", "").is(503, "busy").Body, "try again")
	require.NoError(t, held.Release(context.Background()))
}

func FuzzVoucherJSON(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", strings.Replace(voucherBody, "%s", "5", 1), strings.Replace(voucherBody, "%s", "-5", 1),
		`{"title":1}`, `{"stock":1e3}`, `{"begin_at":"2026-01-01T00:00:00+99:99"}`, "[[[[", `{"title":"\ud800"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		n, err := parseVoucher(strings.NewReader(body))
		if err != nil {
			status := statusOf(err)
			require.True(t, status == 400 || status == 422, "%d %v", status, err)
			return
		}
		if n.Validate() == nil {
			require.True(t, n.BeginAt.Before(n.EndAt))
			require.GreaterOrEqual(t, n.Stock, 0)
		}
	})
}

package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/service"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	require.Equal(t, 200, w.Code, "%s", body)
	return string(body)
}

func TestMetricsCountOrdersAndLeases(t *testing.T) {
	m := NewMetrics()
	m.Order("lua", "created", 20*time.Millisecond)
	m.Order("lua", "created", 20*time.Millisecond)
	m.Order("lua", "sold_out", time.Millisecond)
	o := m.Observer()
	o.Waited(lock.Event{Lock: "lua", Key: "voucher:1:user:987654321987", Wait: 3 * time.Second})
	o.Waited(lock.Event{Lock: "lua", Err: fmt.Errorf("%w: %w", lock.ErrBusy, context.Canceled)})
	o.Waited(lock.Event{Lock: "lua", Err: errors.New("dial tcp")})
	o.Renewed(lock.Event{Lock: "watchdog"})
	o.Renewed(lock.Event{Lock: "watchdog", Err: errors.New("no answer")})
	o.Released(lock.Event{Lock: "lua", Held: 40 * time.Millisecond})
	for _, err := range []error{lock.ErrExpired, lock.ErrMaxHold, lock.ErrClosed, lock.ErrLost, errors.New("?")} {
		o.Lost(lock.Event{Lock: "watchdog", Err: err})
	}

	got := scrape(t, m)
	for _, want := range []string{
		`seckill_orders_total{outcome="created",stage="lua"} 2`,
		`seckill_orders_total{outcome="sold_out",stage="lua"} 1`,
		`seckill_order_duration_seconds_sum{outcome="created",stage="lua"} 0.04`,
		`seckill_order_duration_seconds_bucket{outcome="created",stage="lua",le="0.025"} 2`,
		`seckill_lock_wait_seconds_sum{lock="lua",result="acquired"} 3`,
		`seckill_lock_wait_seconds_count{lock="lua",result="busy"} 1`,
		`seckill_lock_wait_seconds_count{lock="lua",result="error"} 1`,
		`seckill_lock_renewals_total{lock="watchdog",result="ok"} 1`,
		`seckill_lock_renewals_total{lock="watchdog",result="failed"} 1`,
		`seckill_lock_hold_seconds_sum{lock="lua"} 0.04`,
		"\ngo_goroutines ", "\nprocess_start_time_seconds ",
	} {
		require.Contains(t, got, want)
	}
	for _, cause := range lostCauses {
		require.Contains(t, got, `seckill_lock_lost_total{cause="`+cause+`"} 1`)
	}
	require.NotContains(t, got, "987654321987", "a user must not become a label")
}

type fakeCounts struct {
	counts map[service.ID]service.Counts
	limit  int
	reads  int
	err    error
}

func (f *fakeCounts) Vouchers(_ context.Context, limit int) ([]service.Voucher, error) {
	f.limit = limit
	f.reads++
	var list []service.Voucher
	for id := range f.counts {
		list = append(list, service.Voucher{ID: id})
	}
	return list, f.err
}

func (f *fakeCounts) Counts(_ context.Context, id service.ID) (service.Counts, error) {
	return f.counts[id], nil
}

func TestVoucherGaugesJudgeByOrders(t *testing.T) {
	m := NewMetrics()
	// 157 orders of 100 although the stock column never went below zero.
	from := &fakeCounts{counts: map[service.ID]service.Counts{9007199254740993: {Initial: 100, Left: 3, Orders: 157, Users: 150}}}
	m.CountVouchers(from)
	got := scrape(t, m)
	for _, want := range []string{
		`seckill_voucher_stock_left{voucher="9007199254740993"} 3`, `seckill_voucher_orders{voucher="9007199254740993"} 157`,
		`seckill_voucher_oversold{voucher="9007199254740993"} 57`, `seckill_voucher_duplicates{voucher="9007199254740993"} 7`,
		`seckill_voucher_drift{voucher="9007199254740993"} -60`,
	} {
		require.Contains(t, got, want)
	}
	require.Equal(t, gaugedVouchers, from.limit)
	scrape(t, m)
	require.Equal(t, 1, from.reads, "a second scrape within %v reads nothing", gaugeAge)
}

func TestVoucherGaugesVanishWhenTheyCannotBeRead(t *testing.T) {
	m := NewMetrics()
	m.CountVouchers(&fakeCounts{err: errors.New("no database")})
	got := scrape(t, m)
	require.False(t, strings.Contains(got, "seckill_voucher_"), "an unread number must not look like a fact")
	require.Contains(t, got, "go_goroutines", "the rest is still served")
}

type fakeDepth service.QueueDepth

func (f fakeDepth) Depth(context.Context) (service.QueueDepth, error) {
	return service.QueueDepth(f), nil
}

func TestQueueGauges(t *testing.T) {
	m := NewMetrics()
	m.CountQueue(fakeDepth{Messages: 42, Oldest: 1500 * time.Millisecond, Dead: 2})
	got := scrape(t, m)
	require.Contains(t, got, "seckill_stream_pending 42")
	require.Contains(t, got, "seckill_stream_age_seconds 1.5")
	require.Contains(t, got, "seckill_stream_dead 2")
}

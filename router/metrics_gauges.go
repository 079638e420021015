package router

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/service"
)

const (
	// gaugedVouchers bounds the series of a scrape: only the newest vouchers are counted.
	gaugedVouchers = 5
	// gaugeAge is how long a reading is served again, so that scrapes of several tools cost the database one count.
	gaugeAge = time.Second
	// gaugeTimeout bounds a reading; a database that is that slow has better things to do.
	gaugeTimeout = time.Second
)

// VoucherCounts is where the gauges of the newest vouchers come from.
type VoucherCounts interface {
	Vouchers(ctx context.Context, limit int) ([]service.Voucher, error)
	Counts(ctx context.Context, voucher service.ID) (service.Counts, error)
}

// CountVouchers shows stock and oversell of the newest vouchers, counted in the database when they are scraped, so
// that every process shows the same and none of them has to have sold anything.
func (m *Metrics) CountVouchers(from VoucherCounts) {
	gauges := []gauge[service.Counts]{
		{describe("seckill_voucher_stock_left", "The stock column of a voucher.", "voucher"), func(c service.Counts) float64 { return float64(c.Left) }},
		{describe("seckill_voucher_orders", "Orders that occupy stock (created and paid).", "voucher"), func(c service.Counts) float64 { return float64(c.Orders) }},
		{describe("seckill_voucher_oversold", "Orders beyond the initial stock.", "voucher"), func(c service.Counts) float64 { return float64(max(0, c.Orders-c.Initial)) }},
		{describe("seckill_voucher_duplicates", "Orders beyond one per user.", "voucher"), func(c service.Counts) float64 { return float64(c.Orders - c.Users) }},
		{describe("seckill_voucher_drift", "Initial stock less stock left less orders.", "voucher"), func(c service.Counts) float64 { return float64(c.Initial - c.Left - c.Orders) }},
	}
	m.Register(&reading[service.Counts]{gauges: gauges, read: func(ctx context.Context, show func(service.Counts, ...string)) error {
		vouchers, err := from.Vouchers(ctx, gaugedVouchers)
		if err != nil {
			return err
		}
		for _, v := range vouchers {
			counts, err := from.Counts(ctx, v.ID)
			if err != nil {
				return err
			}
			show(counts, v.ID.String())
		}
		return nil
	}})
}

// QueueDepths tells how much waits in the order stream.
type QueueDepths interface {
	Depth(ctx context.Context) (service.QueueDepth, error)
}

// CountQueue shows the depth and the age of the order stream, read when it is scraped.
func (m *Metrics) CountQueue(from QueueDepths) {
	gauges := []gauge[service.QueueDepth]{
		{describe("seckill_stream_pending", "Orders in the stream that are not written yet."), func(d service.QueueDepth) float64 { return float64(d.Messages) }},
		{describe("seckill_stream_age_seconds", "Age of the oldest order in the stream."), func(d service.QueueDepth) float64 { return d.Oldest.Seconds() }},
		{describe("seckill_stream_dead", "Messages that could not be written and were set aside."), func(d service.QueueDepth) float64 { return float64(d.Dead) }},
	}
	m.Register(&reading[service.QueueDepth]{gauges: gauges, read: func(ctx context.Context, show func(service.QueueDepth, ...string)) error {
		depth, err := from.Depth(ctx)
		if err == nil {
			show(depth)
		}
		return err
	}})
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// gauge shows one number of a T.
type gauge[T any] struct {
	desc  *prometheus.Desc
	value func(T) float64
}

// reading is a collector that reads its values when it is scraped, at most once in gaugeAge.
type reading[T any] struct {
	gauges []gauge[T]
	read   func(ctx context.Context, show func(value T, labels ...string)) error

	mu   sync.Mutex
	at   time.Time
	last []prometheus.Metric
}

func (r *reading[T]) Describe(out chan<- *prometheus.Desc) {
	for _, g := range r.gauges {
		out <- g.desc
	}
}

// Collect shows nothing but an error for what could not be read: an old number would look like a fact.
func (r *reading[T]) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) >= gaugeAge {
		r.refresh()
	}
	for _, m := range r.last {
		out <- m
	}
}

func (r *reading[T]) refresh() {
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
	defer cancel()
	r.last = nil
	err := r.read(ctx, func(value T, labels ...string) {
		for _, g := range r.gauges {
			r.last = append(r.last, prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(value), labels...))
		}
	})
	if err != nil {
		r.last = []prometheus.Metric{prometheus.NewInvalidMetric(r.gauges[0].desc, err)}
	}
	r.at = time.Now()
}

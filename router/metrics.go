package router

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"seckill/lock"
)

// Metrics are one process's Prometheus metrics. No user and no order is a label, and every label takes few values:
// stages, kinds of locks, the codes of router/errors.go, causes of a loss. Safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	orders    *prometheus.CounterVec
	orderTime *prometheus.HistogramVec
	lockWait  *prometheus.HistogramVec
	lockHold  *prometheus.HistogramVec
	lockLost  *prometheus.CounterVec
	renewals  *prometheus.CounterVec
}

// seconds are the buckets of all durations, from half a millisecond to half a minute.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// NewMetrics makes the metrics of a process, with those of the Go runtime and of the process itself.
func NewMetrics() *Metrics {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		orders:    counter("seckill_orders_total", "Answered order requests.", "stage", "outcome"),
		orderTime: histogram("seckill_order_duration_seconds", "Time to answer an order request.", "stage", "outcome"),
		lockWait:  histogram("seckill_lock_wait_seconds", "Time an acquire took.", "lock", "result"),
		lockHold:  histogram("seckill_lock_hold_seconds", "Time from a confirmed acquire to the call of release.", "lock"),
		lockLost:  counter("seckill_lock_lost_total", "Leases that ended without their owner's will.", "cause"),
		renewals:  counter("seckill_lock_renewals_total", "Renewals of leases.", "lock", "result"),
	}
	m.Register(m.orders, m.orderTime, m.lockWait, m.lockHold, m.lockLost, m.renewals,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, cause := range lostCauses {
		m.lockLost.WithLabelValues(cause) // shown as 0 before the first loss, so that an alert can see the step
	}
	return m
}

// Register adds collectors, such as those of connection pools. It panics when one is there already.
func (m *Metrics) Register(c ...prometheus.Collector) { m.registry.MustRegister(c...) }

// Handler answers a scrape. What can't be gathered is logged and left out; the rest is served.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	})
}

// Order counts one answered order request. outcome is created, pending, or the code of the refusal.
func (m *Metrics) Order(stage, outcome string, took time.Duration) {
	m.orders.WithLabelValues(stage, outcome).Inc()
	m.orderTime.WithLabelValues(stage, outcome).Observe(took.Seconds())
}

// Observer feeds the lock metrics.
func (m *Metrics) Observer() lock.Observer {
	return lock.Observer{
		Waited: func(e lock.Event) {
			m.lockWait.WithLabelValues(e.Lock, waitResult(e.Err)).Observe(e.Wait.Seconds())
		},
		Renewed: func(e lock.Event) {
			result := "ok"
			if e.Err != nil {
				result = "failed"
			}
			m.renewals.WithLabelValues(e.Lock, result).Inc()
		},
		Lost:     func(e lock.Event) { m.lockLost.WithLabelValues(lostCause(e.Err)).Inc() },
		Released: func(e lock.Event) { m.lockHold.WithLabelValues(e.Lock).Observe(e.Held.Seconds()) },
	}
}

func waitResult(err error) string {
	switch {
	case err == nil:
		return "acquired"
	case errors.Is(err, lock.ErrBusy):
		return "busy"
	}
	return "error"
}

// lostCauses are the values of the label cause.
var lostCauses = []string{"expired", "max_hold", "closed", "not_ours", "other"}

func lostCause(err error) string {
	switch {
	case errors.Is(err, lock.ErrExpired):
		return "expired"
	case errors.Is(err, lock.ErrMaxHold):
		return "max_hold"
	case errors.Is(err, lock.ErrClosed):
		return "closed"
	case errors.Is(err, lock.ErrLost): // Redis said so
		return "not_ours"
	}
	return "other"
}

package loadtest

import (
	"math"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// latencies estimates percentiles as vegeta does.
type latencies struct{ m vegeta.LatencyMetrics }

func (l *latencies) add(d time.Duration) { l.m.Add(d) }

// Percentiles of latencies, in milliseconds. All are 0 when nothing was measured.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func (l *latencies) percentiles() Percentiles {
	if l.m.Max == 0 {
		return Percentiles{}
	}
	// The digest interpolates and can pass the largest value by a hair.
	q := func(at float64) float64 { return milliseconds(min(l.m.Quantile(at), l.m.Max)) }
	return Percentiles{P50: q(0.5), P95: q(0.95), P99: q(0.99), Max: milliseconds(l.m.Max)}
}

// milliseconds rounds to a tenth.
func milliseconds(d time.Duration) float64 { return math.Round(float64(d)/1e5) / 10 }

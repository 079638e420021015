package loadtest

import (
	"maps"
	"math"
	"slices"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// latencies estimates percentiles as vegeta does.
type latencies struct {
	m       vegeta.LatencyMetrics
	buckets map[int]int
}

func (l *latencies) add(d time.Duration) {
	l.m.Add(d)
	if l.buckets == nil {
		l.buckets = map[int]int{}
	}
	l.buckets[bucketOf(d)]++
}

// Bucket counts the latencies up to its bound and above the bound of the one before. Bounds are powers of the fourth
// root of 2, so that a bucket is a fifth wider than the one before at any size.
type Bucket struct {
	LeMS float64 `json:"le_ms"`
	N    int     `json:"n"`
}

const bucketsPerDoubling = 4

// bucketOf is the number of the bucket; bucket 0 ends at 1 ms, and all that is quicker than a hundredth of that is in the
// first one.
func bucketOf(d time.Duration) int {
	inMS := max(float64(d)/1e6, 0.01)
	return int(math.Ceil(bucketsPerDoubling*math.Log2(inMS) - 1e-9))
}

func bucketEnd(n int) float64 {
	return math.Round(1000*math.Exp2(float64(n)/bucketsPerDoubling)) / 1000
}

// histogram lists the buckets that are not empty, in order.
func (l *latencies) histogram() []Bucket {
	list := []Bucket{}
	for _, n := range slices.Sorted(maps.Keys(l.buckets)) {
		list = append(list, Bucket{LeMS: bucketEnd(n), N: l.buckets[n]})
	}
	return list
}

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

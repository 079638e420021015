package loadtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// watcher keeps what Watch is told.
type watcher struct {
	mu      sync.Mutex
	phases  []string
	samples []Sample
	each    func(Moment)
}

func (w *watcher) watch(m Moment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Sample == nil {
		w.phases = append(w.phases, m.Phase)
	} else {
		w.samples = append(w.samples, *m.Sample)
	}
	if w.each != nil {
		w.each(m)
	}
}

func TestSeriesBeginsFullAndEndsWithTheTotals(t *testing.T) {
	w := &watcher{}
	r := Runner{Fleet: &shop{slow: 20 * ms}, Watch: w.watch}
	got, err := r.One(t.Context(), sale(Claim{}))
	require.NoError(t, err)
	require.Equal(t, []string{PhaseStarting, PhaseRunning, PhaseDraining}, w.phases)
	series := got.Row.Series
	require.Equal(t, w.samples, series)
	require.Greater(t, len(series), 2, "120 requests of 20 ms by 8 workers last 300 ms")
	first, last := series[0], series[len(series)-1]
	require.Equal(t, 20, first.StockLeft)
	require.Zero(t, first.Accepted+first.Rejected+first.Orders)
	require.Positive(t, last.LatencyMS)
	require.Equal(t, Sample{
		AtMS: last.AtMS, Orders: 20, Accepted: 20, Rejected: 100, RejectedBy: Rejected{SoldOut: 80, AlreadyOrdered: 20},
		Processes: last.Processes, LatencyMS: last.LatencyMS,
	}, last)
	require.Len(t, last.Processes, 2)
	require.Equal(t, 20, last.Processes[0]+last.Processes[1])
	for i, s := range series[1:] {
		require.GreaterOrEqual(t, s.AtMS, series[i].AtMS)
		require.GreaterOrEqual(t, s.Orders, series[i].Orders)
	}
	require.Len(t, got.Spans, 120)
}

func TestEveryAttemptIsAnnounced(t *testing.T) {
	w := &watcher{}
	last := 0
	w.each = func(m Moment) { last = m.Attempt }
	r := Runner{Fleet: &shop{}, Watch: w.watch}
	got, err := r.One(t.Context(), sale(Claim{Must: []string{Oversold}}))
	require.NoError(t, err)
	require.Equal(t, attempts, last)
	require.Len(t, w.phases, 3*attempts)
	require.Zero(t, got.Row.Series[0].Accepted, "the series is the last attempt's alone")
}

func TestCancelledRowStopsItsServers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &shop{slow: time.Minute}
	r := Runner{Fleet: s, Watch: func(m Moment) {
		if m.Phase == PhaseRunning {
			cancel()
		}
	}}
	_, err := r.One(ctx, sale(Claim{}))
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, s.stops.Load())
}

func TestServerThatDoesNotAnswerMakesStaleSamples(t *testing.T) {
	calls := make(chan struct{}, 1)
	samples := make(chan Sample, 3)
	look := func(context.Context) (audit, error) {
		select {
		case calls <- struct{}{}:
			return audit{StockLeft: 7, Orders: 3}, nil
		default:
			return audit{}, errors.New("no answer")
		}
	}
	s := newSampler(t.Context(), 10, newCounter(1), look, func(s Sample) {
		select {
		case samples <- s:
		default:
		}
	})
	first, second, third := <-samples, <-samples, <-samples
	s.stop()
	require.Equal(t, 10, first.StockLeft)
	require.Equal(t, 7, second.StockLeft)
	require.False(t, second.Stale)
	require.True(t, third.Stale)
	require.Equal(t, 3, third.Orders, "what was known before")
}

// However long a row lasts, its series stays small, in order, evenly spread, and has its first and its newest sample.
func TestSeriesIsThinned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(t, "samples")
		var s series
		for i := range n {
			s.add(Sample{AtMS: float64(i)})
		}
		all := s.all()
		require.LessOrEqual(t, len(all), maxSamples+1)
		require.GreaterOrEqual(t, len(all), min(n, maxSamples/2))
		require.Zero(t, all[0].AtMS)
		require.Equal(t, float64(n-1), all[len(all)-1].AtMS)
		for i := 2; i < len(all)-1; i++ {
			require.Equal(t, all[1].AtMS-all[0].AtMS, all[i].AtMS-all[i-1].AtMS)
		}
	})
}

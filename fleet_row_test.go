package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/loadtest"
	"seckill/service"
)

func request(t *testing.T, stage, scenario string) rowRequest {
	t.Helper()
	s, err := service.StageByName(stage)
	require.NoError(t, err)
	return rowRequest{stage: s, scenario: scenario, engine: service.SQLite, config: loadtest.Config{Seed: 1, Stock: 20, Users: 60}}
}

// One row by a call: what a page shows of it.
func TestRowByACall(t *testing.T) {
	at := testFleet(t).engines
	r := request(t, "mutex", "multi")
	var live []loadtest.Sample
	r.watch = func(m loadtest.Moment) {
		if m.Phase == loadtest.PhaseStarting {
			live = nil // a further attempt
		} else if m.Sample != nil {
			live = append(live, *m.Sample)
		}
	}
	got, err := runRow(t.Context(), at, r)
	require.NoError(t, err)
	require.True(t, got.Row.AsClaimed, got.Row.Verdict)
	require.Contains(t, got.Row.Outcome, loadtest.Oversold)
	require.Equal(t, got.Row.Series, live)
	last := live[len(live)-1]
	require.Equal(t, got.Row.Orders, last.Orders)
	require.Equal(t, got.Row.Accepted, last.Accepted)
	processes := map[string]bool{}
	for _, s := range got.Spans {
		require.Equal(t, "mutex", s.Lock)
		processes[s.Process] = true
	}
	require.Len(t, processes, 2)
}

func TestCancelledRowEndsItsChildren(t *testing.T) {
	f := testFleet(t)
	r := request(t, "conditional", "multi")
	long := time.Hour
	r.config.Work = &long
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.watch = func(m loadtest.Moment) {
		if m.Sample != nil {
			cancel()
		}
	}
	_, err := runRow(ctx, f.engines, r)
	require.ErrorIs(t, err, context.Canceled)
}

func TestRowThatCantBeRunIsRefused(t *testing.T) {
	_, err := runRow(t.Context(), addresses{}, request(t, "mutex", "sunshine"))
	require.ErrorIs(t, err, loadtest.ErrConfig)
	r := request(t, "mutex", "multi")
	r.config.Processes = 1
	_, err = runRow(t.Context(), addresses{}, r)
	require.ErrorIs(t, err, loadtest.ErrConfig)
}

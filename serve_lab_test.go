package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/loadtest"
	"seckill/router"
	"seckill/service"
)

// heldLab is a lab whose runs last until the test lets them go on: each receives from go_, then ends with its result.
func heldLab(t *testing.T) (l *lab, started <-chan rowRequest, finish chan<- loadtest.Result) {
	t.Helper()
	begun, end := make(chan rowRequest, labQueue+1), make(chan loadtest.Result)
	l = &lab{engine: service.SQLite, wake: make(chan struct{}, 1)}
	l.row = func(ctx context.Context, _ addresses, r rowRequest) (loadtest.Result, error) {
		begun <- r
		select {
		case result := <-end:
			return result, nil
		case <-ctx.Done():
			return loadtest.Result{}, fmt.Errorf("stopping servers: %w", ctx.Err())
		}
	}
	l.start(t.Context())
	t.Cleanup(func() { require.NoError(t, l.Close(context.Background())) })
	return l, begun, end
}

var mutexMulti = router.RunRequest{Stage: "mutex", Scenario: "multi"}

// ended waits for the run's last state as a browser does, and returns the states on the way.
func ended(t *testing.T, l *lab, id string) (last router.Run, states []string) {
	t.Helper()
	seen := router.Seen{}
	for {
		r, more, err := l.Follow(id, seen)
		require.NoError(t, err)
		states = append(states, r.Status)
		if more == nil {
			return r, states
		}
		seen = router.Seen{Attempt: r.Attempt, Samples: r.From + len(r.Samples)}
		<-more
	}
}

// oneOfEach is a run that is under way and one that waits behind it.
func oneOfEach(t *testing.T, l *lab, started <-chan rowRequest) (running, waiting router.Run) {
	t.Helper()
	running, err := l.Start(mutexMulti)
	require.NoError(t, err)
	<-started
	waiting, err = l.Start(mutexMulti)
	require.NoError(t, err)
	return running, waiting
}

func TestLab_OneAtATimeInTurn(t *testing.T) {
	l, started, finish := heldLab(t)
	first, err := l.Start(mutexMulti)
	require.NoError(t, err)
	<-started
	second, err := l.Start(router.RunRequest{Stage: "lua", Scenario: "slow"})
	require.NoError(t, err)
	require.Equal(t, 1, second.Place)
	third, err := l.Start(mutexMulti)
	require.NoError(t, err)
	require.Equal(t, 2, third.Place)
	require.Empty(t, started, "the second waits")
	finish <- loadtest.Result{Row: loadtest.Row{Verdict: "OVERSOLD 3", Status: "ran", Outcome: []string{"oversold"}, AsClaimed: true}}
	done, _ := ended(t, l, first.ID)
	require.Equal(t, router.RunDone, done.Status)
	require.Equal(t, "OVERSOLD 3", done.Verdict)
	require.Equal(t, "lua", (<-started).stage.Name)
	third, err = l.Get(third.ID)
	require.NoError(t, err)
	require.Equal(t, 1, third.Place, "it moved up")
	ids := []string{}
	for _, r := range l.List() {
		ids = append(ids, r.ID)
	}
	require.Equal(t, []string{third.ID, second.ID, first.ID}, ids, "the newest first")
}

func TestLab_Cancels(t *testing.T) {
	l, started, _ := heldLab(t)
	running, waiting := oneOfEach(t, l, started)
	for _, id := range []string{waiting.ID, running.ID} {
		_, err := l.Cancel(id)
		require.NoError(t, err)
		last, _ := ended(t, l, id)
		require.Equal(t, router.RunCancelled, last.Status)
		require.Empty(t, last.Problem)
		_, err = l.Cancel(id)
		require.ErrorIs(t, err, service.ErrInvalidState)
		require.ErrorIs(t, l.Report(io.Discard, id, "json"), service.ErrInvalidState)
	}
	require.Empty(t, started, "a run that was cancelled in the queue never starts")
}

func TestLab_QueueIsBounded(t *testing.T) {
	l, started, _ := heldLab(t)
	_, err := l.Start(mutexMulti)
	require.NoError(t, err)
	<-started
	for range labQueue {
		_, err := l.Start(mutexMulti)
		require.NoError(t, err)
	}
	_, err = l.Start(mutexMulti)
	require.ErrorIs(t, err, router.ErrQueueFull)
}

func TestLab_ForgetsTheOldest(t *testing.T) {
	l, started, finish := heldLab(t)
	var first string
	for i := range labKept + 1 {
		r, err := l.Start(mutexMulti)
		require.NoError(t, err)
		if i == 0 {
			first = r.ID
		}
		<-started
		finish <- loadtest.Result{}
		ended(t, l, r.ID)
	}
	require.Len(t, l.List(), labKept)
	_, err := l.Get(first)
	require.ErrorIs(t, err, service.ErrNotFound)
}

// A server that stops tells the followers at once: it waits for them.
func TestLab_IsInterruptedWhenItsServerStops(t *testing.T) {
	l, started, _ := heldLab(t)
	running, waiting := oneOfEach(t, l, started)
	l.stop()
	for _, id := range []string{running.ID, waiting.ID} {
		last, _ := ended(t, l, id)
		require.Equal(t, router.RunInterrupted, last.Status)
	}
	_, err := l.Start(mutexMulti)
	require.ErrorIs(t, err, service.ErrBusy)
}

// A follower gets every sample once, and those of a further attempt from its beginning.
func TestLab_SamplesAreFollowedOnce(t *testing.T) {
	l, started, finish := heldLab(t)
	r, err := l.Start(mutexMulti)
	require.NoError(t, err)
	watch := (<-started).watch
	sample := func(attempt, orders int) {
		watch(loadtest.Moment{Attempt: attempt, Phase: "running", Sample: &loadtest.Sample{Orders: orders}})
	}
	follow := func(seen router.Seen) (int, []int) {
		now, _, err := l.Follow(r.ID, seen)
		require.NoError(t, err)
		var orders []int
		for _, text := range now.Samples {
			var s loadtest.Sample
			require.NoError(t, json.Unmarshal(text, &s))
			orders = append(orders, s.Orders)
		}
		return now.From, orders
	}
	sample(1, 5)
	sample(1, 9)
	from, orders := follow(router.Seen{})
	require.Equal(t, []any{0, []int{5, 9}}, []any{from, orders})
	sample(1, 12)
	from, orders = follow(router.Seen{Attempt: 1, Samples: 2})
	require.Equal(t, []any{2, []int{12}}, []any{from, orders})
	sample(2, 1)
	from, orders = follow(router.Seen{Attempt: 1, Samples: 3})
	require.Equal(t, []any{0, []int{1}}, []any{from, orders}, "a new attempt begins anew")
	finish <- loadtest.Result{}
}

func TestLab_RefusesWhatCantBeRun(t *testing.T) {
	l, _, _ := heldLab(t)
	ms := func(n int64) *int64 { return &n }
	wrong := []string{"oversold", "sunshine"}
	for _, q := range []router.RunRequest{
		{}, {Stage: "mutex"}, {Stage: "mutex", Scenario: "sunshine"}, {Stage: "nobody", Scenario: "multi"},
		{Stage: "mutex", Scenario: "multi", Processes: 9}, {Stage: "mutex", Scenario: "multi", Processes: 1},
		{Stage: "mutex", Scenario: "multi", Processes: -1}, {Stage: "mutex", Scenario: "multi", Users: 5001},
		{Stage: "mutex", Scenario: "multi", Users: 5000, Clicks: 3}, {Stage: "mutex", Scenario: "multi", Stock: -5},
		{Stage: "mutex", Scenario: "multi", WorkMS: ms(2001)}, {Stage: "mutex", Scenario: "multi", WorkMS: ms(-1)},
		{Stage: "lua", Scenario: "multi", TTLMS: ms(0)}, {Stage: "lua", Scenario: "multi", TTLMS: ms(1 << 62)},
		{Stage: "mutex", Scenario: "multi", Workers: 100_000}, {Stage: "mutex", Scenario: "multi", Prediction: &wrong},
		{Stage: "redlock", Scenario: "multi"}, // without nodes
	} {
		_, err := l.Start(q)
		require.ErrorIs(t, err, service.ErrInvalid, "%+v", q)
	}
	require.Empty(t, l.List())
	info := l.Info()
	require.Len(t, info.Presets, len(service.Names()))
	require.Equal(t, 400, info.Presets["mutex"]["multi"].Users)
	require.NotEmpty(t, info.Presets["for-update"]["multi"].NA)
}

func TestLab_ReportsARun(t *testing.T) {
	l, started, finish := heldLab(t)
	r, err := l.Start(mutexMulti)
	require.NoError(t, err)
	<-started
	finish <- loadtest.Result{Row: loadtest.Row{Stage: "mutex", Scenario: "multi", Status: "ran", Verdict: "OVERSOLD 3", Outcome: []string{"oversold"}}}
	ended(t, l, r.ID)
	for _, format := range []string{"json", "markdown", "html"} {
		var text strings.Builder
		require.NoError(t, l.Report(&text, r.ID, format))
		require.Contains(t, text.String(), "OVERSOLD 3", format)
	}
}

// Each mark is a line of the stage's source, so that a mark can't outlive what it marks.
func TestSources_MarksAreThere(t *testing.T) {
	for _, s := range service.Ladder() {
		files, err := markedSources(s)
		require.NoError(t, err)
		marked := 0
		var all strings.Builder
		for _, f := range files {
			marked += len(f.Marks)
			all.WriteString(f.Text + "\n")
		}
		require.Positive(t, marked, s.Name)
		for _, mark := range marksOf(s) {
			require.Contains(t, all.String(), mark, s.Name)
		}
	}
}

package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"seckill/loadtest"
	"seckill/router"
	"seckill/service"
)

const (
	labQueue  = 8               // runs that may wait
	labKept   = 50              // runs that are remembered
	labTime   = 3 * time.Minute // one run
	labSpans  = 3000            // ownerships that a result shows
	labIDSize = 12
)

// lab runs stages for the page, one at a time. It implements router.Runs.
type lab struct {
	at     addresses
	env    loadtest.Env
	engine string // whose claims hold
	flags  []string
	row    func(context.Context, addresses, rowRequest) (loadtest.Result, error)
	wake   chan struct{}
	ended  sync.WaitGroup
	stop   context.CancelFunc

	mu     sync.Mutex
	runs   []*labRun // the oldest first
	closed bool
}

// labRun is one run. The lab's mutex guards it.
type labRun struct {
	view    router.Run
	ask     rowRequest
	samples []json.RawMessage // of the attempt
	changed chan struct{}     // closed, and replaced, when there is more to see
	cancel  context.CancelCauseFunc
	report  loadtest.Report
}

var (
	errCancelled = errors.New("cancelled")
	errLabTime   = fmt.Errorf("the run took longer than %v", labTime)
)

// newLab starts a lab on running engines. Until ctx ends it takes runs; then those that have not ended are interrupted.
// Close waits for the last one's servers.
func newLab(ctx context.Context, at addresses, e *engineFlags) (*lab, error) {
	env, engine, err := e.environment(ctx, at)
	if err != nil {
		return nil, err
	}
	l := &lab{at: at, env: env, engine: engine, flags: e.again(), row: runRow, wake: make(chan struct{}, 1)}
	l.start(ctx)
	return l, nil
}

func (l *lab) start(ctx context.Context) {
	ctx, l.stop = context.WithCancel(ctx)
	l.ended.Go(func() { l.work(ctx) })
}

// Close ends the lab and waits for the servers of the run that was under way.
func (l *lab) Close(context.Context) error {
	l.stop()
	l.ended.Wait()
	return nil
}

// work runs what is queued, in turn.
func (l *lab) work(ctx context.Context) {
	defer context.AfterFunc(ctx, l.interrupt)()
	for {
		r, runCtx, done := l.next(ctx)
		if r == nil {
			select {
			case <-l.wake:
				continue
			case <-ctx.Done():
				l.interrupt()
				return
			}
		}
		result, err := l.row(runCtx, l.at, r.ask)
		l.finish(r, result, cause(runCtx, err))
		done()
	}
}

// cause is why a run ended early, rather than what became of that inside.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// next starts the oldest run that waits; nil: none does.
func (l *lab) next(ctx context.Context) (*labRun, context.Context, func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.runs, func(r *labRun) bool { return r.view.Status == router.RunQueued })
	if i < 0 || ctx.Err() != nil {
		return nil, nil, nil
	}
	r := l.runs[i]
	timed, stopTimer := context.WithTimeoutCause(ctx, labTime, errLabTime)
	runCtx, cancel := context.WithCancelCause(timed)
	r.cancel = cancel
	r.view.Status, r.view.StartedAt = router.RunRunning, now()
	r.ask.watch = func(m loadtest.Moment) { l.watch(r, m) }
	l.tell(l.runs...) // those behind it move up
	return r, runCtx, func() { cancel(nil); stopTimer() }
}

func now() *time.Time {
	t := time.Now().UTC()
	return &t
}

// watch notes how a run goes on.
func (l *lab) watch(r *labRun, m loadtest.Moment) {
	var sample json.RawMessage
	if m.Sample != nil {
		sample, _ = json.Marshal(m.Sample) // numbers alone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Attempt != r.view.Attempt {
		r.samples = nil
	}
	r.view.Attempt, r.view.Phase = m.Attempt, m.Phase
	if sample != nil {
		r.samples = append(r.samples, sample)
	}
	l.tell(r)
}

// tell wakes the followers of runs.
func (l *lab) tell(runs ...*labRun) {
	for _, r := range runs {
		if !r.view.Ended() {
			close(r.changed)
			r.changed = make(chan struct{})
		}
	}
}

// end gives a run its last state and wakes its followers.
func (l *lab) end(r *labRun, status string) {
	if r.view.Ended() {
		return
	}
	r.view.Status, r.view.EndedAt = status, now()
	close(r.changed)
	l.tell(l.runs...)
}

// finish notes what became of a run.
func (l *lab) finish(r *labRun, got loadtest.Result, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.view.Ended() {
		return // interrupted meanwhile
	}
	switch {
	case errors.Is(err, errCancelled):
		l.end(r, router.RunCancelled)
	case errors.Is(err, context.Canceled):
		l.end(r, router.RunInterrupted)
	case err != nil:
		r.view.Problem = err.Error()
		l.end(r, router.RunFailed)
	default:
		l.judge(r, got)
		l.end(r, router.RunDone)
	}
}

// judge takes a result over.
func (l *lab) judge(r *labRun, got loadtest.Result) {
	started := *r.view.StartedAt
	c := r.ask.settings()
	c.Engines = l.flags
	r.report = c.Report(l.env, started, []loadtest.Row{got.Row})
	r.view.Verdict, r.view.VerdictChinese, r.view.RowStatus = got.Row.Verdict, got.Row.Chinese.Verdict, got.Row.Status
	r.view.Outcome, r.view.AsClaimed = got.Row.Outcome, got.Row.AsClaimed
	slices.SortFunc(got.Spans, func(a, b loadtest.Span) int { return int(a.AcquiredNS - b.AcquiredNS) })
	shown := got.Spans[:min(len(got.Spans), labSpans)]
	r.view.Result, _ = json.Marshal(struct { // a result is JSON by definition
		Row     loadtest.Row    `json:"row"`
		Verdict string          `json:"verdict_zh"`
		Note    string          `json:"note_zh"`
		Spans   []loadtest.Span `json:"spans"`
		LeftOff int             `json:"spans_left_off"`
	}{got.Row, got.Row.Chinese.Verdict, got.Row.Chinese.Note, shown, len(got.Spans) - len(shown)})
}

// interrupt ends every run, and those who follow one are told at once: the server waits for them.
func (l *lab) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, r := range l.runs {
		l.end(r, router.RunInterrupted)
	}
}

// Start implements router.Runs.
func (l *lab) Start(q router.RunRequest) (router.Run, error) {
	ask, plan, err := l.request(q)
	if err != nil {
		return router.Run{}, err
	}
	r := &labRun{ask: ask, changed: make(chan struct{}), view: router.Run{
		ID: strings.ToLower(rand.Text()[:labIDSize]), Status: router.RunQueued, Request: q, Plan: plan, QueuedAt: *now(),
	}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return router.Run{}, fmt.Errorf("%w: the server stops", service.ErrBusy)
	}
	if l.place(nil) > labQueue {
		return router.Run{}, router.ErrQueueFull
	}
	l.runs = append(l.runs, r)
	if i := slices.IndexFunc(l.runs, func(r *labRun) bool { return r.view.Ended() }); len(l.runs) > labKept && i >= 0 {
		l.runs = slices.Delete(l.runs, i, i+1)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return l.show(r), nil
}

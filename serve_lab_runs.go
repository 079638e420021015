package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"seckill/loadtest"
	"seckill/router"
	"seckill/service"
)

// labLimits keep a run from the page small: it shares the machine with the page's own server.
var labLimits = map[string]router.RunLimit{
	"processes": {Min: 1, Max: 8}, "stock": {Min: 1, Max: 5000}, "users": {Min: 1, Max: 5000}, "clicks": {Min: 1, Max: 10},
	"workers": {Min: 1, Max: 256}, "work_ms": {Min: 0, Max: 2000}, "ttl_ms": {Min: 10, Max: 60_000}, "requests": {Min: 1, Max: 10_000},
}

// request makes a row of what the page asks for.
func (l *lab) request(q router.RunRequest) (rowRequest, router.RunPlan, error) {
	stage, err := service.StageByName(q.Stage)
	if err != nil {
		return rowRequest{}, router.RunPlan{}, err
	}
	if err := withinLimits(q); err != nil {
		return rowRequest{}, router.RunPlan{}, err
	}
	if stage.Lock == "redlock" && len(l.at.nodes) == 0 {
		return rowRequest{}, router.RunPlan{}, refuse("redlock needs several Redis servers: serve --redlock-nodes")
	}
	r := rowRequest{stage: stage, scenario: q.Scenario, engine: l.engine, config: loadtest.Config{
		Processes: q.Processes, Stock: q.Stock, Users: q.Users, Clicks: q.Clicks, Workers: q.Workers,
		Work: duration(q.WorkMS), TTL: duration(q.TTLMS), Seed: uint64(time.Now().UnixNano()),
	}}
	plan, err := l.plan(r)
	if err == nil {
		err = plannedWithin(plan)
	}
	return r, plan, err
}

func duration(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := time.Duration(*ms) * time.Millisecond
	return &d
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", service.ErrInvalid, fmt.Sprintf(format, args...))
}

// withinLimits checks what was given. 0 stands for the preset, but for a time.
func withinLimits(q router.RunRequest) error {
	given := []struct {
		name  string
		value int64
		given bool
	}{
		{"processes", int64(q.Processes), q.Processes != 0}, {"stock", int64(q.Stock), q.Stock != 0},
		{"users", int64(q.Users), q.Users != 0}, {"clicks", int64(q.Clicks), q.Clicks != 0},
		{"workers", int64(q.Workers), q.Workers != 0}, {"work_ms", value(q.WorkMS), q.WorkMS != nil},
		{"ttl_ms", value(q.TTLMS), q.TTLMS != nil},
	}
	for _, g := range given {
		if at := labLimits[g.name]; g.given && (g.value < at.Min || g.value > at.Max) {
			return refuse("%s is %d, allowed are %d to %d", g.name, g.value, at.Min, at.Max)
		}
	}
	if q.Prediction == nil {
		return nil
	}
	for _, o := range *q.Prediction {
		if !slices.Contains(loadtest.Outcomes(), o) {
			return refuse("the prediction %q is none of %v", o, loadtest.Outcomes())
		}
	}
	if len(*q.Prediction) > len(loadtest.Outcomes()) {
		return refuse("a prediction names an outcome once")
	}
	return nil
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func plannedWithin(p router.RunPlan) error {
	if n, at := int64(p.Users)*int64(p.Clicks), labLimits["requests"]; n > at.Max {
		return refuse("%d users with %d clicks each are %d requests, allowed are %d", p.Users, p.Clicks, n, at.Max)
	}
	return nil
}

// plan fills the presets in.
func (l *lab) plan(r rowRequest) (router.RunPlan, error) {
	p, err := r.plan()
	if err != nil {
		return router.RunPlan{}, refuse("%v", err)
	}
	return router.RunPlan{
		Processes: p.Processes, Stock: p.Stock, Users: p.Users, Clicks: p.Clicks, Workers: p.Workers,
		WorkMS: milliseconds(p.Work), TTLMS: milliseconds(p.TTL),
		Must: append([]string{}, p.Claim.Must...), May: append([]string{}, p.Claim.May...), NA: p.Claim.NA, NAChinese: p.Claim.NAChinese,
	}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Info implements router.Runs.
func (l *lab) Info() router.RunsInfo {
	info := router.RunsInfo{
		Redis: l.env.Redis.Version, DB: l.env.DB.Version, Limits: labLimits, Queue: labQueue, MaxS: int(labTime.Seconds()),
		Presets: map[string]map[string]router.RunPlan{}, Scenes: service.Scenarios(), Outcomes: loadtest.Outcomes(),
	}
	for _, s := range service.Ladder() {
		in := map[string]router.RunPlan{}
		for _, scenario := range service.Scenarios() {
			if p, err := l.plan(rowRequest{stage: s, scenario: scenario, engine: l.engine}); err == nil {
				in[scenario] = p
			}
		}
		info.Presets[s.Name] = in
	}
	return info
}

// show is the run as others see it, without samples and result.
func (l *lab) show(r *labRun) router.Run {
	v := r.view
	v.Result = nil
	if v.Status == router.RunQueued {
		v.Place = l.place(r)
	}
	return v
}

// place is a run's place in the queue; that of the next one for nil.
func (l *lab) place(of *labRun) int {
	n := 1
	for _, r := range l.runs {
		if r == of {
			break
		}
		if r.view.Status == router.RunQueued {
			n++
		}
	}
	return n
}

// find needs the mutex.
func (l *lab) find(id string) (*labRun, error) {
	for _, r := range l.runs {
		if r.view.ID == id {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: run %q", service.ErrNotFound, id)
}

// List implements router.Runs.
func (l *lab) List() []router.Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []router.Run
	for _, r := range slices.Backward(l.runs) {
		all = append(all, l.show(r))
	}
	return all
}

// Get implements router.Runs.
func (l *lab) Get(id string) (router.Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := l.find(id)
	if err != nil {
		return router.Run{}, err
	}
	v := l.show(r)
	v.Result = r.view.Result
	return v, nil
}

// Follow implements router.Runs.
func (l *lab) Follow(id string, seen router.Seen) (router.Run, <-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := l.find(id)
	if err != nil {
		return router.Run{}, nil, err
	}
	v := l.show(r)
	if seen.Attempt == v.Attempt {
		v.From = min(seen.Samples, len(r.samples))
	}
	v.Samples = slices.Clone(r.samples[v.From:])
	if v.Ended() {
		v.Result = r.view.Result
		return v, nil, nil
	}
	return v, r.changed, nil
}

// Cancel implements router.Runs.
func (l *lab) Cancel(id string) (router.Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := l.find(id)
	switch {
	case err != nil:
		return router.Run{}, err
	case r.view.Ended():
		return router.Run{}, fmt.Errorf("%w: run %s is %s", service.ErrInvalidState, id, r.view.Status)
	case r.view.Status == router.RunQueued:
		l.end(r, router.RunCancelled)
	default:
		r.cancel(errCancelled)
	}
	return l.show(r), nil
}

// Report implements router.Runs.
func (l *lab) Report(w io.Writer, id, format string) error {
	l.mu.Lock()
	r, err := l.find(id)
	if err == nil && r.view.Status != router.RunDone {
		err = fmt.Errorf("%w: run %s is %s", service.ErrInvalidState, id, r.view.Status)
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return writeReport(w, r.report, format) // a report does not change any more
}

package loadtest

import (
	"context"
	"fmt"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// measurement is one attempt at a row.
type measurement struct {
	runner  *Runner
	plan    Plan
	attempt int
	api     *api
	voucher string
	facts   facts
}

// measure starts the servers, drives the load and gathers the facts.
func (r *Runner) measure(ctx context.Context, p Plan, attempt int) (facts, error) {
	m := &measurement{runner: r, plan: p, attempt: attempt, facts: facts{tally: newTally(p.Processes), deaths: map[int]string{}}}
	m.tell(PhaseStarting, nil)
	crew, err := r.Fleet.Start(ctx, p.spec())
	if err != nil {
		return facts{}, err
	}
	defer crew.Stop()
	client := newClient(ctx, 4, graceTime+max(p.Wait, 0)+p.Work)
	defer client.CloseIdleConnections()
	m.api = &api{crew: crew, client: client, stage: p.askedStage()}
	if err := m.warmUp(ctx); err != nil {
		return facts{}, err
	}
	if m.voucher, err = m.api.createVoucher(ctx, p); err != nil {
		return facts{}, fmt.Errorf("no voucher: %w", err)
	}
	if len(p.Targets) > 0 {
		if err := m.api.share(ctx, m.voucher); err != nil {
			return facts{}, err
		}
	}
	if err := m.run(ctx); err != nil {
		return facts{}, err
	}
	for i, how := range crew.Deaths() {
		if !mayDie(p, i) {
			m.facts.deaths[i] = how
		}
	}
	for i := range p.Processes {
		m.facts.said = append(m.facts.said, crew.Said(i))
	}
	return m.facts, ctx.Err()
}

func (p Plan) spec() Spec {
	return Spec{
		Stage: p.Stage.Name, Processes: p.Processes, Work: p.Work, TTL: p.TTL, Wait: p.Wait,
		Nested: p.Scenario.Nested, Holds: p.Holds,
	}
}

// askedStage is the stage that each request asks for: servers of our own run no other one.
func (p Plan) askedStage() string {
	if len(p.Targets) == 0 {
		return ""
	}
	return p.Stage.Name
}

func (m *measurement) targeter(voucher string) *targeter {
	crew := m.api.crew
	return &targeter{voucher: voucher, urls: crew.URLs(), dead: crew.Dead, stage: m.api.stage}
}

func (m *measurement) tell(phase string, s *Sample) {
	if m.runner.Watch != nil {
		m.runner.Watch(Moment{Attempt: m.attempt, Phase: phase, Sample: s})
	}
}

// run drives the load while a sampler looks on, waits for the end and gathers what the load left behind.
func (m *measurement) run(ctx context.Context) error {
	phase := PhaseRunning
	m.tell(phase, nil)
	count := newCounter(m.plan.Processes)
	look := func(ctx context.Context) (audit, error) { return m.api.glance(ctx, m.voucher) }
	s := newSampler(ctx, m.plan.Stock, count, look, func(now Sample) { m.tell(phase, &now) })
	err := m.load(ctx, count)
	s.stop()
	if err != nil {
		return err
	}
	phase = PhaseDraining
	m.tell(phase, nil)
	if err := m.gather(ctx); err != nil {
		m.facts.problem = err.Error()
	} else {
		s.finish(m.facts.audit)
	}
	m.facts.series = s.series.all()
	return nil
}

// load lets all users click.
func (m *measurement) load(ctx context.Context, count *counter) error {
	processes, err := hosts(m.api.crew.URLs())
	if err != nil {
		return err
	}
	keep, closeResults, err := m.runner.keep(m.plan)
	if err != nil {
		return err
	}
	t := m.targeter(m.voucher)
	t.left = clickPlan(m.plan)
	took := attack(ctx, m.plan, t, func(res *vegeta.Result) {
		o, readErr := readResult(res, processes)
		if readErr != nil {
			m.facts.problem = readErr.Error() // a request that can't be told whose it was spoils the count
			return
		}
		m.facts.tally.add(o, mayDie(m.plan, o.process))
		count.add(o)
		if keepErr := keep(res); keepErr != nil && err == nil {
			err = keepErr
		}
	}, count.drop)
	m.facts.dropped = count.read().Dropped
	m.facts.duration = took.Seconds()
	if closeErr := closeResults(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return ctx.Err()
}

// keep opens where the results of a row go.
func (r *Runner) keep(p Plan) (keep func(*vegeta.Result) error, closeAll func() error, err error) {
	if r.Results == nil {
		return func(*vegeta.Result) error { return nil }, func() error { return nil }, nil
	}
	w, err := r.Results(newRow(p))
	if err != nil {
		return nil, nil, fmt.Errorf("writing results: %w", err)
	}
	encode := vegeta.NewEncoder(w)
	return func(res *vegeta.Result) error { return encode(res) }, w.Close, nil
}

// stoppedProcess is the name of the process that the scenario stops, or empty.
func stoppedProcess(p Plan) string {
	if p.Scenario.Stops() {
		return "p1"
	}
	return ""
}

// gather waits for the work to drain and reads what it left behind.
func (m *measurement) gather(ctx context.Context) error {
	f := &m.facts
	left, err := m.api.drain(ctx, m.voucher)
	if err != nil {
		return err
	}
	f.audit, f.spans, f.written = left.audit, left.spans, left.written
	// What is planned has to happen under the load; the probe below can still reach a hold point.
	f.deaths, f.stopped = m.api.crew.Deaths(), m.api.crew.Stopped()
	if f.orders, err = m.api.orders(ctx, m.voucher); err != nil {
		return err
	}
	if m.plan.oneClock() {
		f.holders, f.foreign = maxHolders(f.spans), foreignReleases(f.spans, m.plan.Stage.LocalLock, stoppedProcess(m.plan))
	}
	if f.audit.StockLeft > 0 {
		f.probed = true
		f.stuck, err = m.api.stuck(ctx, m.plan, m.voucher, f.spans)
	}
	return err
}

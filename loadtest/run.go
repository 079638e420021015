package loadtest

import (
	"context"
	"fmt"
	"io"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// attempts is how often a row is run before a claimed outcome counts as not reproduced.
const attempts = 3

// Progress is told how a comparison goes on. Its methods are called one at a time.
type Progress interface {
	// Begin: row n (from 0) of total starts.
	Begin(n, total int, p Plan)
	// End: the row has its verdict.
	End(r Row, took time.Duration)
}

// Runner runs plans against fleets.
type Runner struct {
	Fleet Fleet
	// Progress is told about every row. Default: nobody is.
	Progress Progress
	// Results, when set, opens where the requests' results of a row are written to, in vegeta's encoding, so that
	// `vegeta report` and `vegeta plot` can read them.
	Results func(r Row) (io.WriteCloser, error)
}

// Run runs the plans one after the other. The error is about the measuring (a server that can't start, ctx); what a
// stage did wrong is in the rows. Rows that were finished are returned with an error, too.
func (r *Runner) Run(ctx context.Context, plans []Plan) ([]Row, error) {
	rows := []Row{}
	for n, p := range plans {
		if r.Progress != nil {
			r.Progress.Begin(n, len(plans), p)
		}
		began := time.Now()
		row, err := r.row(ctx, p)
		if err != nil {
			return rows, fmt.Errorf("%s in %s: %w", p.Stage.Name, p.Scenario.Name, err)
		}
		rows = append(rows, row)
		if r.Progress != nil {
			r.Progress.End(row, time.Since(began))
		}
	}
	return rows, nil
}

// row runs one plan, several times when nothing but a claimed fault is missing: a race may be lost by chance. Whatever
// appears that is not claimed ends it at once.
func (r *Runner) row(ctx context.Context, p Plan) (Row, error) {
	if p.Claim.NA != "" {
		return notApplicable(p), nil
	}
	for attempt := 1; ; attempt++ {
		f, err := r.measure(ctx, p)
		if err != nil {
			return Row{}, err
		}
		row := judge(p, f)
		missing := row.Status == StatusRan && !row.AsClaimed && len(p.Claim.Unclaimed(row.Outcome)) == 0
		again := missing || row.Status == StatusInvalid && noEvent(p, f) != ""
		if attempt > 1 {
			row.Note = addNote(row.Note, fmt.Sprintf("attempt %d", attempt))
		}
		if !again || attempt == attempts && !missing {
			return row, nil
		}
		if attempt == attempts {
			row.Status = StatusNotReproduced
			row.Verdict = fmt.Sprintf("NOT REPRODUCED: %v (%s)", p.Claim.Missing(row.Outcome), row.Verdict)
			return row, nil
		}
	}
}

func addNote(note, more string) string {
	if note == "" {
		return more
	}
	return note + "; " + more
}

// measure starts the servers, drives the load and gathers the facts.
func (r *Runner) measure(ctx context.Context, p Plan) (facts, error) {
	spec := Spec{
		Stage: p.Stage.Name, Processes: p.Processes, Work: p.Work, TTL: p.TTL, Wait: p.Wait,
		Nested: p.Scenario.Nested, Holds: p.Holds,
	}
	crew, err := r.Fleet.Start(ctx, spec)
	if err != nil {
		return facts{}, err
	}
	defer crew.Stop()
	client := newClient(ctx, 4, graceTime+max(p.Wait, 0)+p.Work)
	defer client.CloseIdleConnections()
	a := &api{crew: crew, client: client}
	voucher, err := a.createVoucher(ctx, p)
	if err != nil {
		return facts{}, fmt.Errorf("no voucher: %w", err)
	}
	f, err := r.load(ctx, p, crew, voucher)
	if err != nil {
		return facts{}, err
	}
	if err := gather(ctx, p, a, voucher, &f); err != nil {
		f.problem = err.Error()
	}
	for i, how := range crew.Deaths() {
		if !mayDie(p, i) {
			f.deaths[i] = how
		}
	}
	for i := range p.Processes {
		f.said = append(f.said, crew.Said(i))
	}
	return f, ctx.Err()
}

// load lets all users click.
func (r *Runner) load(ctx context.Context, p Plan, crew Crew, voucher string) (facts, error) {
	f := facts{tally: newTally(p.Processes), deaths: map[int]string{}}
	processes, err := hosts(crew.URLs())
	if err != nil {
		return f, err
	}
	keep, closeResults, err := r.keep(p)
	if err != nil {
		return f, err
	}
	t := &targeter{voucher: voucher, urls: crew.URLs(), dead: crew.Dead, left: clickPlan(p)}
	took := attack(ctx, p, t, func(res *vegeta.Result) {
		o, readErr := readResult(res, processes)
		if readErr != nil {
			f.problem = readErr.Error() // a request that can't be told whose it was spoils the count
			return
		}
		f.tally.add(o, mayDie(p, o.process))
		if keepErr := keep(res); keepErr != nil && err == nil {
			err = keepErr
		}
	})
	f.duration = took.Seconds()
	if closeErr := closeResults(); err == nil {
		err = closeErr
	}
	if err != nil {
		return f, fmt.Errorf("writing results: %w", err)
	}
	return f, ctx.Err()
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
func gather(ctx context.Context, p Plan, a *api, voucher string, f *facts) error {
	var spans []Span
	var err error
	if f.audit, spans, err = a.drain(ctx, voucher); err != nil {
		return err
	}
	// What is planned has to happen under the load; the probe below can still reach a hold point.
	f.deaths, f.stopped = a.crew.Deaths(), a.crew.Stopped()
	if f.orders, err = a.orders(ctx, voucher); err != nil {
		return err
	}
	f.holders, f.foreign = maxHolders(spans), foreignReleases(spans, p.Stage.LocalLock, stoppedProcess(p))
	if f.audit.StockLeft > 0 {
		f.probed = true
		f.stuck, err = a.stuck(ctx, p, voucher, spans)
	}
	return err
}

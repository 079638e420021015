package loadtest

import (
	"context"
	"fmt"
	"io"
	"time"
)

// attempts is how often a row is run, the first time and three repeats, before a claimed outcome counts as not reproduced.
const attempts = 4

// eventAttempts is how often a row is run before its scenario's event counts as missing. Where one request in a
// hundred gets in, chance decides whether it is at the process that the event is planned for.
const eventAttempts = 10

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
	// Watch, when set, is told how the row that runs goes on, about every 100 ms while users click. It is called one at a
	// time and must not block: the row's clock goes on.
	Watch func(Moment)
}

// Result is all that was measured of one row.
type Result struct {
	Row Row `json:"row"`
	// Spans tell who held the lock when, as far as living servers recorded it; in the last attempt.
	Spans []Span `json:"spans"`
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
		result, err := r.One(ctx, p)
		if err != nil {
			return rows, fmt.Errorf("%s in %s: %w", p.Stage.Name, p.Scenario.Name, err)
		}
		rows = append(rows, result.Row)
		if r.Progress != nil {
			r.Progress.End(result.Row, time.Since(began))
		}
	}
	return rows, nil
}

// One runs one plan, several times when nothing but a claimed fault is missing: a race may be lost by chance. Whatever
// appears that is not claimed ends it at once. When ctx ends, so do the load and the servers before One returns.
func (r *Runner) One(ctx context.Context, p Plan) (Result, error) {
	if p.Claim.NA != "" {
		return Result{Row: notApplicable(p), Spans: []Span{}}, nil
	}
	misses := 0
	for attempt := 1; ; attempt++ {
		f, err := r.measure(ctx, p, attempt)
		if err != nil {
			return Result{}, err
		}
		row := judge(p, f)
		if attempt > 1 {
			row.noted(say("attempt %d", "第 %d 次尝试", attempt))
		}
		uneventful := row.Status == StatusInvalid && !noEvent(p, f).empty()
		if uneventful && attempt < eventAttempts {
			continue
		}
		if row.Status == StatusRan && !row.AsClaimed && len(p.Claim.Unclaimed(row.Outcome)) == 0 {
			if misses++; misses < attempts {
				continue
			}
			missing := named(p.Claim.Missing(row.Outcome))
			row.ruled(StatusNotReproduced, say("NOT REPRODUCED: [%[1]s] (%[3]s)", "没有重现：%[2]s（%[4]s）",
				missing.en, missing.zh, row.Verdict, row.Chinese.Verdict))
		}
		return Result{Row: row, Spans: append([]Span{}, f.spans...)}, nil
	}
}

func addNote(note, more string) string {
	if note == "" || more == "" {
		return note + more
	}
	return note + "; " + more
}

package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// KitReport reads the results that the vegeta program wrote while it sent a kit, waits for orders in flight, asks the
// service for its audit and judges. The row has the form of compare's; with no order list and no lock spans to read it
// judges oversell, duplicates, undersell and drift alone. env is the program and its machine; the engines are the service's.
func KitReport(ctx context.Context, env Env, k Kit, results io.Reader) (Report, error) {
	f, err := k.results(results)
	if err != nil {
		return Report{}, err
	}
	if f.audit, err = k.drained(ctx); err != nil {
		f.problem = "there is no audit: " + err.Error()
	}
	env.Redis, env.DB = Engine{Kind: "address"}, Engine{Kind: "address"}
	return Report{Env: env, Rows: []Row{k.judge(f)}}, nil
}

// results adds the answers up.
func (k Kit) results(from io.Reader) (facts, error) {
	f := facts{tally: newTally(len(k.Targets))}
	processes, err := hosts(k.Targets)
	if err != nil {
		return f, err
	}
	var began, ended time.Time
	for next := vegeta.NewDecoder(from); ; {
		var r vegeta.Result
		if err := next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return f, fmt.Errorf("results of vegeta: %w", err)
		}
		if r.URL == "" && r.Error == vegeta.ErrNoTargets.Error() {
			continue // how vegeta notes that it has sent everything
		}
		o, err := readResult(&r, processes)
		if err != nil {
			return f, err
		}
		f.tally.add(o, false)
		if began.IsZero() || r.Timestamp.Before(began) {
			began = r.Timestamp
		}
		if r.End().After(ended) {
			ended = r.End()
		}
	}
	f.duration = ended.Sub(began).Seconds()
	return f, nil
}

func (k Kit) judge(f facts) Row {
	p := Plan{Stage: Stage{Name: k.Stage}, Scenario: Scenario{Name: "vegeta"}, Processes: len(k.Targets), Repeat: 1,
		Load: Load{Stock: k.InitialStock, Users: len(f.tally.told), Clicks: k.Clicks}}
	c := counted{
		orders:     f.audit.Orders,
		oversold:   max(0, f.audit.Orders-k.InitialStock),
		duplicates: f.audit.Orders - f.audit.Users,
		undersold:  max(0, min(k.InitialStock, len(f.tally.told))-f.audit.Orders),
		drift:      f.audit.Drift,
	}
	r := newRow(p)
	r.Commands = Commands{}
	r.measured(p, f, c)
	r.Judged = without(judged(p, f), func(o string) bool { return o == Unanswered || o == Stuck || o == ForeignRelease })
	r.Outcome = outcomes(p, f, c)
	r.noted(note(p, f))
	if reason := k.invalid(p, f); !reason.empty() {
		r.ruled(StatusInvalid, reason.after("INVALID: ", "无效："))
		return r
	}
	r.ruled(StatusRan, verdictText(r))
	r.AsClaimed = len(r.Outcome) == 0
	return r
}

// invalid is why the results say nothing about the service, or empty.
func (k Kit) invalid(p Plan, f facts) pair {
	switch {
	case f.problem != "":
		return quoted(f.problem)
	case f.audit.InitialStock != k.InitialStock:
		return say("the voucher has %d units, the kit was made for %d", "优惠券有 %d 件，而压测包是为 %d 件准备的", f.audit.InitialStock, k.InitialStock)
	case tooManyErrors(f.tally):
		return failures(f.tally)
	case f.audit.Orders == 0:
		return nothingSold
	}
	return idle(p, f)
}

// Summary is the row for a person, in a few lines.
func (r Row) Summary() string {
	refused := r.Rejected.SoldOut + r.Rejected.AlreadyOrdered + r.Rejected.Busy + r.Rejected.GaveUp + r.Rejected.Lost
	line := func(name string, n int, p Percentiles) string {
		return fmt.Sprintf("%-9s %d   (p50 %g ms, p95 %g ms, p99 %g ms, max %g ms)\n", name, n, p.P50, p.P95, p.P99, p.Max)
	}
	text := line("accepted", r.Accepted, r.Latency.Accepted) + line("rejected", refused, r.Latency.Rejected) +
		fmt.Sprintf("          sold_out %d, already_ordered %d, busy %d, gave_up %d, lost %d\n", r.Rejected.SoldOut,
			r.Rejected.AlreadyOrdered, r.Rejected.Busy, r.Rejected.GaveUp, r.Rejected.Lost) +
		fmt.Sprintf("errors    %d\n", r.Errors) +
		fmt.Sprintf("audit     stock %d, left %d, orders %d\n", r.InitialStock, r.StockLeft, r.Orders) +
		"verdict   " + r.Verdict
	if r.Note != "" {
		text += "   (" + r.Note + ")"
	}
	return text + "\n"
}

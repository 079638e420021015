package loadtest

import (
	"slices"
	"time"
)

// facts is what was measured of one row.
type facts struct {
	audit    audit
	orders   []orderRow
	spans    []Span
	series   []Sample
	tally    *tally
	stuck    bool
	probed   bool
	holders  int
	foreign  int
	deaths   map[int]string
	stopped  int
	dropped  int
	said     []string // the last line in each process's log
	problem  string   // why the measurement could not be finished
	duration float64
	written  time.Duration // from the last answer until no order was in flight any more
}

// Status of a row.
const (
	StatusRan           = "ran"
	StatusNA            = "n/a"            // the stage can't run there
	StatusInvalid       = "invalid"        // the measurement says nothing about the stage
	StatusNotReproduced = "not reproduced" // a claimed outcome did not appear, in several attempts
	StatusNotJudged     = "not judged"     // a claimed outcome could not have appeared
)

// maxErrorShare is the part of all requests that may fail without an answer of the business before a row that claims
// no errors says nothing any more.
const maxErrorShare = 0.01

// counted are the numbers that follow from the orders.
type counted struct{ orders, oversold, duplicates, undersold, drift, unanswered int }

// count applies the definitions. The stock column takes no part in oversold: with an absolute update it never goes
// below zero, however many were sold.
func count(p Plan, f facts) counted {
	rows := map[int64]int{}
	c := counted{}
	for _, o := range f.orders {
		if o.Status == "created" || o.Status == "paid" {
			rows[int64(o.UserID)]++
			c.orders++
		}
	}
	c.oversold = max(0, c.orders-p.Stock)
	c.duplicates = c.orders - len(rows)
	c.undersold = max(0, min(p.Stock, len(f.tally.told))-c.orders)
	if c.drift = p.Stock - f.audit.StockLeft - c.orders; c.drift == 0 {
		c.drift = f.audit.Drift // counters beside the table, such as those in Redis
	}
	c.unanswered = f.tally.unanswered(rows)
	return c
}

// judged lists what the row can say something about. Demand that does not exceed the stock can't oversell, and one
// click per user can't buy twice.
func judged(p Plan, f facts) []string {
	list := []string{Undersold, Drift, Unanswered, Stuck}
	if p.oneClock() {
		list = append(list, ForeignRelease)
	}
	if p.Clicks > 1 {
		list = append([]string{Duplicates}, list...)
	}
	if asked(p, f) > p.Stock {
		list = append([]string{Oversold}, list...)
	}
	return list
}

// asked is how many distinct users' requests were sent. It is the plan's number unless some were dropped.
func asked(p Plan, f facts) int {
	if f.dropped > 0 {
		return len(f.tally.told)
	}
	return p.Users
}

// outcomes names what happened, in the order of Outcomes.
func outcomes(p Plan, f facts, c counted) []string {
	happened := map[string]bool{
		Oversold: c.oversold > 0, Duplicates: c.duplicates > 0, Undersold: c.undersold > 0, Stuck: f.stuck,
		ForeignRelease: f.foreign > 0, Drift: c.drift != 0, Unanswered: c.unanswered > 0, Errors: tooManyErrors(f.tally),
	}
	could := append(judged(p, f), Errors)
	return without(Outcomes(), func(o string) bool { return !happened[o] || !slices.Contains(could, o) })
}

func tooManyErrors(t *tally) bool { return float64(t.errors) > maxErrorShare*float64(t.requests) }

// invalid is why the row says nothing about the stage, or empty.
func invalid(p Plan, f facts, c counted) pair {
	switch {
	case f.problem != "":
		return quoted(f.problem)
	case f.tally.requests+f.dropped != p.Users*p.Clicks:
		return say("%d of %d requests were sent", "只发出了 %d 个请求，应为 %d 个", f.tally.requests, p.Users*p.Clicks-f.dropped)
	case f.audit.Orders != c.orders || f.audit.InitialStock != p.Stock:
		return say("the audit counts %d orders of %d, the list has %d of %d", "审计为 %d 个订单、库存 %d，订单列表为 %d 个、库存 %d",
			f.audit.Orders, f.audit.InitialStock, c.orders, p.Stock)
	case !unplannedDeath(p, f).empty():
		return unplannedDeath(p, f)
	case !noEvent(p, f).empty():
		return noEvent(p, f)
	case !idle(p, f).empty():
		return idle(p, f)
	case tooManyErrors(f.tally) && !p.Claim.allows(Errors):
		return failures(f.tally)
	case c.orders == 0 && !slices.Contains(p.Claim.Must, Undersold) && !slices.Contains(p.Claim.Must, Stuck):
		return nothingSold
	}
	return pair{}
}

var nothingSold = pair{"nothing was sold", "一件也没有卖出"}

// failures tells how many requests failed, and how most of them did.
func failures(t *tally) pair {
	n := say("%d of %d requests failed: ", "%[2]d 个请求中有 %[1]d 个失败：", t.errors, t.requests)
	return t.worst().after(n.en, n.zh)
}

// noEvent tells which planned event of the scenario did not come, so that the row was run in other weather.
func noEvent(p Plan, f facts) pair {
	switch {
	case p.Scenario.Kills() && len(f.deaths) == 0:
		return pair{"the planned crash did not happen", "计划中的崩溃没有发生"}
	case p.Scenario.Stops() && f.stopped == 0:
		return pair{"the planned stop did not happen", "计划中的停顿没有发生"}
	}
	return pair{}
}

func unplannedDeath(p Plan, f facts) pair {
	for i := range p.Processes {
		if how, dead := f.deaths[i]; dead && !mayDie(p, i) {
			return say("process p%d died: %s", "进程 p%d 意外退出：%s", i+1, how)
		}
	}
	return pair{}
}

// mayDie tells whether the death of process i is part of the scenario.
func mayDie(p Plan, i int) bool { return i == 0 && p.Scenario.Kills() }

func idle(p Plan, f facts) pair {
	for i, n := range f.tally.served {
		if n == 0 && !mayDie(p, i) {
			return say("process p%d served nothing", "进程 p%d 没有处理任何请求", i+1)
		}
	}
	return pair{}
}

// worst is the most frequent error.
func (t *tally) worst() pair {
	name, most := "", 0
	for detail, n := range t.details {
		if n > most || n == most && detail < name {
			name, most = detail, n
		}
	}
	return say("%s (%d times)", "%s（%d 次）", name, most)
}

// judge turns a plan and its facts into a row of the report.
func judge(p Plan, f facts) Row {
	c := count(p, f)
	r := newRow(p)
	r.measured(p, f, c)
	r.Judged = judged(p, f)
	r.Outcome = list(outcomes(p, f, c))
	r.noted(note(p, f))
	if reason := invalid(p, f, c); !reason.empty() {
		r.ruled(StatusInvalid, reason.after("INVALID: ", "无效："))
		return r
	}
	r.ruled(StatusRan, verdictText(r))
	missing := p.Claim.Missing(r.Outcome)
	r.AsClaimed = p.Claim.Met(r.Outcome)
	if unjudged := without(missing, func(o string) bool { return o == Errors || slices.Contains(r.Judged, o) }); len(unjudged) > 0 {
		r.ruled(StatusNotJudged, named(unjudged).after("NOT JUDGED: ", "无法判断："))
	}
	return r
}

// named lists outcomes by the names that scripts know, and in Chinese.
func named(all []string) pair {
	var words []pair
	for _, o := range all {
		words = append(words, pair{o, outcomeNames[o].zh})
	}
	return joined(", ", "、", words...)
}

// verdictText is the row in a few words.
func verdictText(r Row) pair {
	if len(r.Outcome) == 0 {
		return pair{"ok", "守住"}
	}
	amount := map[string]int{
		Oversold: r.Oversold, Duplicates: r.Duplicates, Undersold: r.Undersold, ForeignRelease: r.ForeignReleases,
		Drift: r.Drift, Unanswered: r.Unanswered, Errors: r.Errors,
	}
	var words []pair
	for _, o := range r.Outcome {
		word := outcomeNames[o]
		if o != Stuck {
			word = say("%[1]s %[3]d", "%[2]s %[3]d", word.en, word.zh, amount[o])
		}
		words = append(words, word)
	}
	return joined(", ", "，", words...)
}

package loadtest

import (
	"math"
	"slices"
	"strings"
)

// Group sums up the repeats of one stage in one scenario. Its numbers come from the repeats that say something: n/a and
// invalid ones are only counted.
type Group struct {
	Stage     string `json:"stage"`
	Scenario  string `json:"scenario"`
	Runs      int    `json:"runs"`
	AsClaimed int    `json:"as_claimed"` // of the runs
	Invalid   int    `json:"invalid"`    // of the runs
	// Outcomes are the different outcomes and how often each came, the most frequent first.
	Outcomes []OutcomeCount `json:"outcomes"`

	Orders     Spread `json:"orders"`
	Oversold   Spread `json:"oversold"`
	Duplicates Spread `json:"duplicates"`
	Undersold  Spread `json:"undersold"`
	MaxHolders Spread `json:"max_holders"`
	Dropped    Spread `json:"dropped"`
	RPS        Spread `json:"rps"`
	// Milliseconds.
	AcceptedP50 Spread `json:"accepted_p50_ms"`
	AcceptedP95 Spread `json:"accepted_p95_ms"`
	RejectedP50 Spread `json:"rejected_p50_ms"`
	RejectedP95 Spread `json:"rejected_p95_ms"`
}

// OutcomeCount is how many repeats had an outcome. The text is as in a verdict, without numbers.
type OutcomeCount struct {
	Outcome string `json:"outcome"`
	Runs    int    `json:"runs"`
}

// Spread is the median of some repeats and how far they lie apart. A few repeats have no meaningful deviation, so that
// the spread is from the smallest to the largest. All 0 without repeats.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	return Spread{Median: math.Round(100*Median(values)) / 100, Min: slices.Min(values), Max: slices.Max(values)}
}

// Median is the value in the middle, or half-way between the two that are; 0 of none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// groups sums the rows up, in the order in which stages and scenarios first appear.
func groups(rows []Row) []Group {
	list, byKey := []Group{}, map[[2]string][]Row{}
	for _, row := range rows {
		if byKey[row.key()] == nil {
			list = append(list, Group{Stage: row.Stage, Scenario: row.Scenario})
		}
		byKey[row.key()] = append(byKey[row.key()], row)
	}
	for i := range list {
		list[i].sum(byKey[[2]string{list[i].Stage, list[i].Scenario}])
	}
	return list
}

func (g *Group) sum(rows []Row) {
	g.Runs = len(rows)
	count := map[string]int{}
	var judged []Row
	for _, row := range rows {
		count[row.kind()]++
		if row.AsClaimed {
			g.AsClaimed++
		}
		switch row.Status {
		case StatusInvalid:
			g.Invalid++
		case StatusNA:
		default:
			judged = append(judged, row)
		}
	}
	for outcome, n := range count {
		g.Outcomes = append(g.Outcomes, OutcomeCount{outcome, n})
	}
	slices.SortFunc(g.Outcomes, func(a, b OutcomeCount) int {
		if a.Runs != b.Runs {
			return b.Runs - a.Runs
		}
		return strings.Compare(a.Outcome, b.Outcome)
	})
	g.measure(judged)
}

func (g *Group) measure(rows []Row) {
	whole := func(value func(Row) int) func(Row) (float64, bool) {
		return func(r Row) (float64, bool) { return float64(value(r)), true }
	}
	// Where nothing was accepted, or nothing rejected, there is no latency, and 0 would be a very good one.
	latency := func(of func(Latency) Percentiles, at func(Percentiles) float64) func(Row) (float64, bool) {
		return func(r Row) (float64, bool) { return at(of(r.Latency)), of(r.Latency).Max > 0 }
	}
	sold, refused := func(l Latency) Percentiles { return l.Accepted }, func(l Latency) Percentiles { return l.Rejected }
	p50, p95 := func(p Percentiles) float64 { return p.P50 }, func(p Percentiles) float64 { return p.P95 }
	for _, m := range []struct {
		to    *Spread
		value func(Row) (float64, bool)
	}{
		{&g.Orders, whole(func(r Row) int { return r.Orders })},
		{&g.Oversold, whole(func(r Row) int { return r.Oversold })},
		{&g.Duplicates, whole(func(r Row) int { return r.Duplicates })},
		{&g.Undersold, whole(func(r Row) int { return r.Undersold })},
		{&g.MaxHolders, whole(func(r Row) int { return r.MaxHolders })},
		{&g.Dropped, whole(func(r Row) int { return r.Dropped })},
		{&g.RPS, func(r Row) (float64, bool) { return r.RPS, true }},
		{&g.AcceptedP50, latency(sold, p50)}, {&g.AcceptedP95, latency(sold, p95)},
		{&g.RejectedP50, latency(refused, p50)}, {&g.RejectedP95, latency(refused, p95)},
	} {
		var values []float64
		for _, row := range rows {
			if v, ok := m.value(row); ok {
				values = append(values, v)
			}
		}
		*m.to = spreadOf(values)
	}
}

// kind is the row's verdict without its numbers and reasons.
func (row Row) kind() string {
	switch {
	case row.Status == StatusRan && len(row.Outcome) == 0:
		return "ok"
	case row.Status == StatusRan:
		return strings.ReplaceAll(strings.Join(row.Outcome, ", "), "_", " ")
	}
	return row.Status
}

// verdict is the group's outcomes for a reader, with how often each came when they differ.
func (g Group) verdict() string {
	var words []string
	for _, o := range g.Outcomes {
		word := o.Outcome
		if len(g.Outcomes) > 1 {
			word += " ×" + number64(float64(o.Runs))
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

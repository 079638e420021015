package loadtest

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Diff compares two reports, stage by stage and scenario by scenario.
type Diff struct {
	Before DiffSide  `json:"before"`
	After  DiffSide  `json:"after"`
	Rows   []DiffRow `json:"rows"`
}

// DiffSide is what has to be known of a report to trust the comparison.
type DiffSide struct {
	Name string `json:"name"`
	Env  Env    `json:"env"`
	Seed uint64 `json:"seed"`
	// Config is what was asked for: numbers from other settings can't be held against each other.
	Config Settings `json:"config"`
}

// DiffRow is one stage in one scenario. A ratio is the median after by the median before; 0 where one of them is missing.
type DiffRow struct {
	Stage    string `json:"stage"`
	Scenario string `json:"scenario"`
	// Before and After are the outcomes, empty where a report does not have the row.
	Before string `json:"before"`
	After  string `json:"after"`
	// Changed tells that both reports have the row, with different outcomes.
	Changed bool `json:"changed"`
	// RPS is better above 1, latencies below 1.
	RPS         float64 `json:"rps_ratio"`
	AcceptedP95 float64 `json:"accepted_p95_ratio"`
	RejectedP95 float64 `json:"rejected_p95_ratio"`
	// Overlap tells that the repeats' rates before and after lie in ranges that touch: the ratio may be chance.
	Overlap bool `json:"rps_ranges_overlap"`
}

// Compare compares two reports. The rows are those of the first, then what only the second has.
func Compare(beforeName string, before Report, afterName string, after Report) Diff {
	d := Diff{
		Before: DiffSide{beforeName, before.Env, before.Seed, before.Config},
		After:  DiffSide{afterName, after.Env, after.Seed, after.Config}, Rows: []DiffRow{},
	}
	later := map[[2]string]Group{}
	for _, g := range after.Groups {
		later[[2]string{g.Stage, g.Scenario}] = g
	}
	for _, g := range before.Groups {
		key := [2]string{g.Stage, g.Scenario}
		d.Rows = append(d.Rows, diffRow(g, later[key]))
		delete(later, key)
	}
	for _, g := range after.Groups {
		if _, only := later[[2]string{g.Stage, g.Scenario}]; only {
			d.Rows = append(d.Rows, diffRow(Group{}, g))
		}
	}
	return d
}

func diffRow(before, after Group) DiffRow {
	r := DiffRow{Stage: before.Stage, Scenario: before.Scenario, Before: before.kinds(), After: after.kinds()}
	if before.Runs == 0 {
		r.Stage, r.Scenario = after.Stage, after.Scenario
	}
	r.Changed = r.paired() && r.Before != r.After
	r.RPS = ratio(after.RPS, before.RPS)
	r.AcceptedP95 = ratio(after.AcceptedP95, before.AcceptedP95)
	r.RejectedP95 = ratio(after.RejectedP95, before.RejectedP95)
	r.Overlap = r.RPS > 0 && before.RPS.Min <= after.RPS.Max && after.RPS.Min <= before.RPS.Max
	return r
}

// paired tells whether both reports have the row.
func (r DiffRow) paired() bool { return r.Before != "" && r.After != "" }

// outcome says in words what became of the outcome.
func (r DiffRow) outcome() string {
	switch {
	case r.After == "":
		return "only before"
	case r.Before == "":
		return "only after"
	case r.Changed:
		return "CHANGED"
	}
	return "same"
}

// kinds are the different outcomes without how often each came: one repeat more is no change.
func (g Group) kinds() string {
	var words []string
	for _, o := range g.Outcomes {
		words = append(words, o.Outcome)
	}
	slices.Sort(words)
	return strings.Join(words, "; ")
}

func ratio(after, before Spread) float64 {
	if after.Median == 0 || before.Median == 0 {
		return 0
	}
	return math.Round(100*after.Median/before.Median) / 100
}

func (d Diff) table() table {
	t := table{{"stage", "scenario", "rps ×", "p95 sold ×", "p95 refused ×", "before", "after", "outcome"}}
	times := func(f float64, mark string) string {
		if f == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f%s", f, mark)
	}
	for _, r := range d.Rows {
		mark := ""
		if r.Overlap {
			mark = "~"
		}
		t = append(t, []string{
			r.Stage, r.Scenario, times(r.RPS, mark), times(r.AcceptedP95, ""), times(r.RejectedP95, ""),
			absent(r.Before), absent(r.After), r.outcome(),
		})
	}
	return t
}

func absent(outcome string) string {
	if outcome == "" {
		return "(no such row)"
	}
	return outcome
}

// legend says what the numbers are, and what makes the two reports hard to compare.
func (d Diff) legend() string {
	var b strings.Builder
	side := func(name string, s DiffSide) {
		fmt.Fprintf(&b, "%s: %s; %s\n", name, s.Name, Report{Env: s.Env, Seed: s.Seed}.engines())
	}
	side("before", d.Before)
	side("after", d.After)
	b.WriteString("× is the median after by the median before; ~: the ranges of the repeats overlap, so it may be chance.\n")
	if other := otherSettings(d.Before.Config, d.After.Config); other != "" {
		fmt.Fprintf(&b, "not the same settings: %s\n", other)
	}
	changed, pairs := 0, 0
	for _, r := range d.Rows {
		if r.paired() {
			pairs++
		}
		if r.Changed {
			changed++
		}
	}
	fmt.Fprintf(&b, "%d of %d outcomes changed", changed, pairs)
	if alone := len(d.Rows) - pairs; alone > 0 {
		fmt.Fprintf(&b, "; %d rows are in one report alone", alone)
	}
	b.WriteString(".\n")
	return b.String()
}

// otherSettings names the settings of the load that differ. Which rows were run, how often, and on which engines is told
// elsewhere.
func otherSettings(before, after Settings) string {
	was, is := before.values(), after.values()
	var other []string
	for _, flag := range []string{"--processes", "--stock", "--users", "--clicks", "--workers", "--work", "--ttl", "--wait", "--rate", "--warmup", "--targets"} {
		if was[flag] != is[flag] {
			other = append(other, fmt.Sprintf("%s %s, after %s", flag, cmp.Or(was[flag], "unset"), cmp.Or(is[flag], "unset")))
		}
	}
	return strings.Join(other, "; ")
}

// values are the settings that were asked for, by flag.
func (s Settings) values() map[string]string {
	m := map[string]string{}
	for _, kv := range s.list() {
		m[kv[0]] = kv[1]
	}
	return m
}

// WriteJSON writes the comparison as one indented JSON document.
func (d Diff) WriteJSON(w io.Writer) error { return encodeJSON(w, d) }

// WriteTable writes the comparison for a terminal.
func (d Diff) WriteTable(w io.Writer) error {
	if err := d.table().text(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+d.legend())
	return err
}

// WriteMarkdown writes the comparison for a README or a pull request.
func (d Diff) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	d.table().markdown(&b)
	for line := range strings.Lines(d.legend()) {
		b.WriteString("\n" + line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

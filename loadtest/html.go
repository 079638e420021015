package loadtest

import (
	"cmp"
	_ "embed" // the page's template
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
)

// StageText explains a stage in one language.
type StageText struct{ Fixes, StillBreaks, Question, Answer string }

// Bilingual is a stage's text in the page's languages.
type Bilingual struct{ EN, ZH StageText }

//go:embed page/report.html.tmpl
var pageSource string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"t": words, "outcomes": outcomeWords, "scenario": scenarioWords, "prose": prose,
}).Parse(pageSource))

// pageData is what the template reads.
type pageData struct {
	Report
	Title     string
	Columns   []string
	Stages    []pageStage
	Settings  [][2]string
	Commit    string
	Right     bool
	StartedAt string
}

// pageStage is one stage with its scenarios.
type pageStage struct {
	Name  string
	Text  *Bilingual // nil: nobody explained it
	Cells []pageCell // one for each column; a nil Group where the stage was not run there
	Rows  []pageCell // the cells that were run
}

// pageCell is one stage in one scenario.
type pageCell struct {
	*Group
	Scenario string // also of a cell without a group
	Anchor   string
	Class    string // of the verdict: right, lesson, wrong, none
	Verdict  string
	Short    string // the verdict without its reason
	Failed   bool   // some requests failed or were dropped
	Row      Row    // the repeat that is shown in detail
	Notes    []string
	Facts    [][2]string // a name from words, and the value

	Stock, Rate, Latency template.HTML
}

// WriteHTML writes the report as one page that needs nothing but itself: no network, no other file. texts explain the
// stages, by name; a stage without one is shown without.
func (r Report) WriteHTML(w io.Writer, texts map[string]Bilingual) error {
	if r.Groups == nil {
		r.Groups = groups(r.Rows)
	}
	d := pageData{
		Report: r, Commit: r.Env.commit(), Right: r.AsClaimed(), Columns: columnsOf(r.Groups), Settings: r.Config.list(),
	}
	if !r.Started.IsZero() {
		d.StartedAt = r.Started.UTC().Format(time.DateTime) + " UTC"
	}
	for _, g := range r.Groups {
		i := slices.IndexFunc(d.Stages, func(s pageStage) bool { return s.Name == g.Stage })
		if i < 0 {
			stage := pageStage{Name: g.Stage}
			if text, ok := texts[g.Stage]; ok {
				stage.Text = &text
			}
			for _, name := range d.Columns {
				stage.Cells = append(stage.Cells, pageCell{Scenario: name, Class: "none"})
			}
			d.Stages, i = append(d.Stages, stage), len(d.Stages)
		}
		cell := r.cell(g)
		cell.Anchor = fmt.Sprintf("s%d-%d", i+1, len(d.Stages[i].Rows)+1)
		d.Stages[i].Cells[slices.Index(d.Columns, g.Scenario)] = cell
		d.Stages[i].Rows = append(d.Stages[i].Rows, cell)
	}
	return page.Execute(w, d)
}

// columnsOf are the scenarios in the order of the presets, then those that other tools name.
func columnsOf(all []Group) []string {
	var columns []string
	for _, g := range all {
		if !slices.Contains(columns, g.Scenario) {
			columns = append(columns, g.Scenario)
		}
	}
	place := func(name string) int {
		i := slices.IndexFunc(Scenarios(), func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return len(Scenarios())
		}
		return i
	}
	slices.SortStableFunc(columns, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return columns
}

// cell gathers what is shown of a group.
func (r Report) cell(g Group) pageCell {
	var rows, ran []Row
	for _, row := range r.Rows {
		if row.key() == [2]string{g.Stage, g.Scenario} {
			rows = append(rows, row)
			if row.Status != StatusNA && row.Status != StatusInvalid {
				ran = append(ran, row)
			}
		}
	}
	c := pageCell{Group: &g, Scenario: g.Scenario, Class: g.class(), Verdict: g.verdict(), Row: typical(rows, ran)}
	if g.Runs == 1 {
		c.Verdict = rows[0].Verdict
	}
	c.Short, _, _ = strings.Cut(c.Verdict, ":")
	c.Failed = c.Row.Errors+c.Row.Dropped > 0
	for _, row := range rows {
		note := row.Note
		if g.Runs > 1 && !row.AsClaimed {
			note = addNote(row.Verdict, note)
		}
		if note != "" {
			c.Notes = append(c.Notes, note)
		}
	}
	if len(ran) > 0 {
		c.Facts = g.facts(c.Row)
		c.Stock, c.Rate, c.Latency = c.Row.stockChart(), c.Row.rateChart(), latencyChart(ran)
	}
	return c
}

// typical is the row whose rate is the median's, which stands for the repeats where only one can be shown.
func typical(rows, ran []Row) Row {
	if len(ran) == 0 {
		return rows[0]
	}
	sorted := slices.Clone(ran)
	slices.SortStableFunc(sorted, func(a, b Row) int { return cmp.Compare(a.RPS, b.RPS) })
	return sorted[(len(sorted)-1)/2]
}

// class of a verdict: right, a fault that the lesson is about, not as claimed, or nothing to say.
func (g Group) class() string {
	switch {
	case g.AsClaimed < g.Runs:
		return "wrong"
	case g.verdict() == StatusNA:
		return "none"
	case g.verdict() == "ok":
		return "right"
	}
	return "lesson"
}

package loadtest

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteMatrix writes the verdicts as a Markdown table with a line for each stage and a column for each scenario: many
// rows on one screen. Repeats share a cell; one that is not as claimed says so.
func (r Report) WriteMatrix(w io.Writer) error {
	var stages, scenarios []string
	cells := map[[2]string][]string{}
	for _, row := range r.Rows {
		if !slices.Contains(stages, row.Stage) {
			stages = append(stages, row.Stage)
		}
		if !slices.Contains(scenarios, row.Scenario) {
			scenarios = append(scenarios, row.Scenario)
		}
		at, verdict := [2]string{row.Stage, row.Scenario}, row.matrixCell()
		if !slices.Contains(cells[at], verdict) {
			cells[at] = append(cells[at], verdict)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| stage | %s |\n|%s\n", strings.Join(scenarios, " | "), strings.Repeat(" --- |", len(scenarios)+1))
	for _, stage := range stages {
		b.WriteString("| " + stage)
		for _, scenario := range scenarios {
			b.WriteString(" | " + strings.Join(cells[[2]string{stage, scenario}], "; "))
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(&b, "\n%s\n\n%s\n", r.engines(), r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func (row Row) matrixCell() string {
	cell := row.Verdict
	if row.Status == StatusNA {
		cell = "n/a"
	}
	if !row.AsClaimed {
		cell += " (not as claimed)"
	}
	return strings.ReplaceAll(cell, "|", `\|`)
}

package loadtest

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteJSON writes the report as one indented JSON document.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

var columns = []string{
	"stage", "scenario", "procs", "orders/stock", "holders", "rps", "p95 ms sold", "p95 ms refused", "verdict", "as claimed",
}

func (row Row) cells() []string {
	claimed := map[bool]string{true: "yes", false: "NO"}[row.AsClaimed]
	if row.Status == StatusNA {
		return []string{row.Stage, row.Scenario, "", "", "", "", "", "", row.Verdict, "-"}
	}
	return []string{
		row.Stage, row.Scenario, fmt.Sprint(row.Processes), fmt.Sprintf("%d/%d", row.Orders, row.InitialStock),
		fmt.Sprint(row.MaxHolders), fmt.Sprintf("%.0f", row.RPS), fmt.Sprintf("%.1f", row.Latency.Accepted.P95),
		fmt.Sprintf("%.1f", row.Latency.Rejected.P95), row.Verdict, claimed,
	}
}

// WriteTable writes the report for a terminal.
func (r Report) WriteTable(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, strings.Join(columns, "\t")) // a tabwriter keeps its first error for Flush
	for _, row := range r.Rows {
		_, _ = fmt.Fprintln(tw, strings.Join(row.cells(), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n%s\n", r.notes(""), r.engines(), r.Summary())
	return err
}

// WriteMarkdown writes the report for a README.
func (r Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(columns)
	b.WriteString("|" + strings.Repeat(" --- |", len(columns)) + "\n")
	for _, row := range r.Rows {
		cells := row.cells()
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		line(cells)
	}
	fmt.Fprintf(&b, "%s\n%s\n\n%s\n", r.notes("- "), r.engines(), r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// notes lists the rows' notes, one a line.
func (r Report) notes(bullet string) string {
	var b strings.Builder
	for _, row := range r.Rows {
		if row.Note != "" {
			fmt.Fprintf(&b, "\n%s%s in %s: %s", bullet, row.Stage, row.Scenario, row.Note)
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func (r Report) engines() string {
	return fmt.Sprintf("Redis: %s (%s). Database: %s (%s). %s, %d CPUs, seed %d.",
		r.Env.Redis.Version, r.Env.Redis.Kind, r.Env.DB.Version, r.Env.DB.Kind, r.Env.Go, r.Env.CPUs, r.Seed)
}

// Summary is the last line of a report.
func (r Report) Summary() string {
	wrong := 0
	for _, row := range r.Rows {
		if !row.AsClaimed {
			wrong++
		}
	}
	if wrong == 0 {
		return fmt.Sprintf("%d rows, each as its stage claims.", len(r.Rows))
	}
	return fmt.Sprintf("%d of %d rows are NOT as their stage claims.", wrong, len(r.Rows))
}

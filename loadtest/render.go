package loadtest

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteJSON writes the report as one indented JSON document.
func (r Report) WriteJSON(w io.Writer) error { return encodeJSON(w, r) }

func encodeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// table is a head and its lines.
type table [][]string

// text writes the table for a terminal.
func (t table) text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range t {
		_, _ = fmt.Fprintln(tw, strings.Join(line, "\t")) // a tabwriter keeps its first error for Flush
	}
	return tw.Flush()
}

// markdown writes the table for a README.
func (t table) markdown(b *strings.Builder) {
	for i, line := range t {
		cells := make([]string, len(line))
		for k, cell := range line {
			cells[k] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", len(line)) + "\n")
		}
	}
}

// repeated tells whether any row was run more than once.
func (r Report) repeated() bool {
	for _, g := range r.Groups {
		if g.Runs > 1 {
			return true
		}
	}
	return false
}

// table shows every row, or the summary when rows were repeated.
func (r Report) table() table {
	if r.repeated() {
		return r.groupTable()
	}
	t := table{{
		"stage", "scenario", "procs", "orders/stock", "holders", "rps", "p95 ms sold", "p95 ms refused", "verdict", "as claimed",
	}}
	for _, row := range r.Rows {
		t = append(t, row.cells())
	}
	return t
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

// groupTable shows medians, and in brackets from where to where the repeats lie.
func (r Report) groupTable() table {
	t := table{{
		"stage", "scenario", "runs", "orders", "oversold", "holders", "rps", "p95 ms sold", "p95 ms refused", "dropped", "outcome",
		"as claimed",
	}}
	for _, g := range r.Groups {
		if g.MaxHolders == (Spread{}) && g.Orders == (Spread{}) && g.RPS == (Spread{}) {
			t = append(t, []string{g.Stage, g.Scenario, fmt.Sprint(g.Runs), "", "", "", "", "", "", "", g.verdict(), g.claimed()})
			continue
		}
		t = append(t, []string{
			g.Stage, g.Scenario, fmt.Sprint(g.Runs), g.Orders.String(), g.Oversold.String(), g.MaxHolders.String(), g.RPS.String(),
			g.AcceptedP95.String(), g.RejectedP95.String(), g.Dropped.String(), g.verdict(), g.claimed(),
		})
	}
	return t
}

func (g Group) claimed() string { return fmt.Sprintf("%d/%d", g.AsClaimed, g.Runs) }

// String is the median and, where the repeats differ, their range.
func (s Spread) String() string {
	if s.Min == s.Max {
		return number64(s.Median)
	}
	return fmt.Sprintf("%s [%s–%s]", number64(s.Median), number64(s.Min), number64(s.Max))
}

// number64 writes a number with one digit after the point at most.
func number64(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// WriteTable writes the report for a terminal.
func (r Report) WriteTable(w io.Writer) error {
	if err := r.table().text(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n%s\n", r.notes(""), r.engines(), r.Summary())
	return err
}

// WriteMarkdown writes the report for a README.
func (r Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	r.table().markdown(&b)
	fmt.Fprintf(&b, "%s\n%s\n\n%s\n", r.notes("- "), r.engines(), r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// notes lists the rows' notes, one a line. Of a repeated row it also tells what a summary does not: which repeat was not
// as claimed.
func (r Report) notes(bullet string) string {
	var b strings.Builder
	repeated := r.repeated()
	for _, row := range r.Rows {
		name, note := row.Stage+" in "+row.Scenario, row.Note
		if repeated {
			name = fmt.Sprintf("%s, run %d", name, row.Repeat)
			if !row.AsClaimed {
				note = addNote(row.Verdict, note)
			}
		}
		if note != "" {
			fmt.Fprintf(&b, "\n%s%s: %s", bullet, name, note)
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// Summary is the last line of a report.
func (r Report) Summary() string {
	wrong := 0
	for _, row := range r.Rows {
		if !row.AsClaimed {
			wrong++
		}
	}
	text := fmt.Sprintf("%d rows, each as its stage claims.", len(r.Rows))
	if wrong > 0 {
		text = fmt.Sprintf("%d of %d rows are NOT as their stage claims.", wrong, len(r.Rows))
	}
	if r.Missing > 0 {
		text = fmt.Sprintf("INCOMPLETE: %d more rows did not run. %s", r.Missing, text)
	}
	return text
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"seckill/service"
)

// stagesFlags say which stages are listed and what is told about them.
type stagesFlags struct {
	track, view, lang, format string
}

// stagesCommand lists the ladder; the tables of the READMEs are its output.
func stagesCommand() *cobra.Command {
	var f stagesFlags
	cmd := &cobra.Command{
		Use:   "stages",
		Short: "List the stages: what they fix, what they are made of, what they claim",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			table, err := f.table()
			if err != nil {
				return err
			}
			return table.write(cmd.OutOrStdout(), f.format)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.track, "track", "all", "track to list: "+strings.Join(service.Tracks(), ", ")+", or all")
	flags.StringVar(&f.view, "view", "texts", "what to tell: texts (fixes, still breaks), parts or claims")
	flags.StringVar(&f.lang, "lang", "en", "language of the texts: en or zh")
	flags.StringVar(&f.format, "format", "table", "table or markdown")
	return cmd
}

// stageTable is a head and one row a stage.
type stageTable [][]string

// table refuses a value that a flag does not have.
func (f stagesFlags) table() (stageTable, error) {
	stages := service.Ladder()
	if f.track != "all" {
		stages = service.Track(f.track)
	}
	if len(stages) == 0 {
		return nil, fmt.Errorf("%w: track %q is none of %s, all", service.ErrInvalid, f.track, strings.Join(service.Tracks(), ", "))
	}
	if f.lang != "en" && f.lang != "zh" {
		return nil, fmt.Errorf("%w: lang %q is neither en nor zh", service.ErrInvalid, f.lang)
	}
	if f.format != "table" && f.format != "markdown" {
		return nil, fmt.Errorf("%w: format %q is neither table nor markdown", service.ErrInvalid, f.format)
	}
	head, row, err := f.columns()
	if err != nil {
		return nil, err
	}
	table := stageTable{head}
	for _, s := range stages {
		table = append(table, row(s))
	}
	return table, nil
}

func (f stagesFlags) columns() (head []string, row func(service.Stage) []string, err error) {
	switch {
	case f.view == "texts" && f.lang == "zh":
		return []string{"阶段", "解决了什么", "还有什么问题"}, func(s service.Stage) []string {
			return []string{s.Name, s.Text.ZH.Fixes, s.Text.ZH.StillBreaks}
		}, nil
	case f.view == "texts":
		return []string{"stage", "fixes", "still breaks"}, func(s service.Stage) []string {
			return []string{s.Name, s.Text.EN.Fixes, s.Text.EN.StillBreaks}
		}, nil
	case f.view == "parts":
		return []string{"stage", "tracks", "lock", "key", "span", "on loss", "stock update", "unique", "wait", "TTL"}, partsRow, nil
	case f.view == "claims":
		return append(append([]string{"stage"}, service.Scenarios()...), "not on"), claimsRow, nil
	}
	return nil, nil, fmt.Errorf("%w: view %q is none of texts, parts, claims", service.ErrInvalid, f.view)
}

func partsRow(s service.Stage) []string {
	unique := map[bool]string{true: "on", false: "off"}[s.Unique]
	return []string{
		s.Name, strings.Join(s.Tracks, ", "), s.Lock, s.LockKey, s.LockSpan, s.OnLoss, s.StockUpdate, unique,
		s.Wait.String(), s.TTL.String(),
	}
}

// claimsRow writes what must appear, then in parentheses what may.
func claimsRow(s service.Stage) []string {
	row := []string{s.Name}
	for _, scenario := range service.Scenarios() {
		claim := s.Claims.On[scenario]
		cell := strings.Join(claim.Must, ", ")
		if cell == "" {
			cell = "ok"
		}
		if len(claim.May) > 0 {
			cell += " (" + strings.Join(claim.May, ", ") + ")"
		}
		row = append(row, cell)
	}
	var absent []string
	for engine, claims := range s.Claims.ByEngine {
		if claims["*"].NA != "" {
			absent = append(absent, engine)
		}
	}
	slices.Sort(absent)
	return append(row, strings.Join(absent, ", "))
}

func (t stageTable) write(w io.Writer, format string) error {
	if format == "markdown" {
		return t.writeMarkdown(w)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t {
		_, _ = fmt.Fprintln(tw, strings.Join(row, "\t")) // a tabwriter keeps its first error for Flush
	}
	return tw.Flush()
}

func (t stageTable) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	for i, row := range t {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

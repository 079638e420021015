package main

import (
	"errors"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"seckill/loadtest"
	"seckill/service"
)

// reportFormats are the forms of a report. compare prints the first four: a page belongs into a file.
var reportFormats = []string{"table", "json", "markdown", "matrix", "html"}

// writeReport writes a report in one of the formats.
func writeReport(w io.Writer, r loadtest.Report, format string) error {
	return map[string]func(io.Writer) error{
		"table": r.WriteTable, "json": r.WriteJSON, "markdown": r.WriteMarkdown, "matrix": r.WriteMatrix,
		"html": func(w io.Writer) error { return r.WriteHTML(w, stageTexts()) },
	}[format](w)
}

func reportCommand(std stdio) *cobra.Command {
	var format *choice
	cmd := command("report FILE [FILE]", "Show a report of compare in another form, or compare two", cobra.RangeArgs(1, 2),
		func(_ *cobra.Command, args []string) error {
			var reports []loadtest.Report
			for _, name := range args {
				r, err := loadtest.ReadReportFile(name)
				if errors.Is(err, loadtest.ErrReport) || errors.Is(err, fs.ErrNotExist) {
					return usage("%w", err)
				}
				if err != nil {
					return err
				}
				reports = append(reports, r)
			}
			if len(args) == 1 {
				return writeReport(std.out, reports[0], format.value)
			}
			return writeDiff(std.out, loadtest.Compare(args[0], reports[0], args[1], reports[1]), format.value)
		})
	cmd.Long = "FILE is a report.json of compare, or the folder that it is in, such as report/latest.\n" +
		"Of two, the first is what was before and the second what came after: medians are compared, and outcomes that changed are named."
	format = choiceFlag(cmd.Flags(), "format", "table", reportFormats,
		"what is printed to stdout; html: a page that needs nothing else; matrix and html are for one report")
	return cmd
}

func writeDiff(w io.Writer, d loadtest.Diff, format string) error {
	write, ok := map[string]func(io.Writer) error{"table": d.WriteTable, "json": d.WriteJSON, "markdown": d.WriteMarkdown}[format]
	if !ok {
		return usage("--format %s shows one report; two are compared as table, json or markdown", format)
	}
	return write(w)
}

// stageTexts are the stages' explanations for a page.
func stageTexts() map[string]loadtest.Bilingual {
	texts := map[string]loadtest.Bilingual{}
	for _, s := range service.Ladder() {
		texts[s.Name] = loadtest.Bilingual{EN: loadtest.StageText(s.Text.EN), ZH: loadtest.StageText(s.Text.ZH)}
	}
	return texts
}

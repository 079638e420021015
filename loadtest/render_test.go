package loadtest

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sampleReport() Report {
	broken := small(2, 4, Claim{Must: []string{Oversold}, May: []string{Drift}})
	na := small(2, 4, Claim{NA: "SQLite has no a|b"})
	return Report{
		Env:  Env{Go: "go1.26", CPUs: 2, Redis: Engine{"embedded", "miniredis"}, DB: Engine{"embedded", "SQLite 3"}},
		Seed: 1, Config: Config{}.Settings(),
		Rows: []Row{judge(broken, sampled(measured(broken, 1, 1, 1, 1))), judge(broken, measured(broken, 0, 1, 1)), notApplicable(na)},
	}
}

// The keys are those that scripts read: a key that goes or comes is a break.
func TestReportShape(t *testing.T) {
	var text strings.Builder
	require.NoError(t, sampleReport().WriteJSON(&text))
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(text.String()), &got))
	require.ElementsMatch(t, []string{"env", "config", "seed", "rows", "summary"}, keys(got))
	row := got["rows"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, strings.Fields(`stage scenario processes repeat users clicks work_ms ttl_ms wait_ms requests
		accepted rejected errors initial_stock stock_left orders oversold duplicates undersold drift unanswered stuck max_holders
		foreign_releases status judged rps latency_ms outcome claim as_claimed verdict note commands series
		order dropped latency_histogram written_ms`), keys(row))
	require.ElementsMatch(t, []string{"sold_out", "already_ordered", "busy", "gave_up", "lost"}, keys(row["rejected"]))
	require.ElementsMatch(t, []string{"accepted", "rejected"}, keys(row["latency_ms"]))
	require.ElementsMatch(t, []string{"must", "may"}, keys(row["claim"]))
	require.Equal(t, []any{"oversold", "drift"}, row["outcome"])
	sample := row["series"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, strings.Fields("at_ms stock_left orders in_flight accepted rejected errors dropped processes rejected_by latency_ms"), keys(sample))
	ok := got["rows"].([]any)[1].(map[string]any)
	require.Equal(t, []any{}, ok["outcome"], "an empty list, not null")
}

func keys(of any) []string {
	var list []string
	for k := range of.(map[string]any) {
		list = append(list, k)
	}
	return list
}

func TestTables(t *testing.T) {
	var table, markdown strings.Builder
	r := sampleReport()
	require.NoError(t, r.WriteTable(&table))
	require.NoError(t, r.WriteMarkdown(&markdown))
	require.Contains(t, table.String(), "OVERSOLD 1, DRIFT -2")
	require.Contains(t, table.String(), "1 of 3 rows are NOT as their stage claims.")
	lines := strings.Split(markdown.String(), "\n")
	require.Equal(t, strings.Count(lines[0], "|"), strings.Count(lines[2], "|"))
	require.Contains(t, markdown.String(), `n/a: SQLite has no a\|b`)
}

func TestFolder(t *testing.T) {
	out, now := filepath.Join(t.TempDir(), "report"), time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	first, err := NewFolder(out, now)
	require.NoError(t, err)
	second, err := NewFolder(out, now)
	require.NoError(t, err)
	require.NotEqual(t, first.Path(), second.Path())
	for _, f := range []*Folder{first, second} {
		require.NoError(t, f.Write(sampleReport(), nil))
		latest, err := filepath.EvalSymlinks(filepath.Join(out, "latest"))
		require.NoError(t, err)
		require.Equal(t, filepath.Base(f.Path()), filepath.Base(latest))
	}
	for _, name := range []string{"report.json", "report.html", "report.md", "report.txt"} {
		text, err := os.ReadFile(filepath.Join(out, "latest", name))
		require.NoError(t, err)
		require.NotEmpty(t, text)
	}
}

func TestProgressWithoutTerminalIsOneLineARow(t *testing.T) {
	var text strings.Builder
	p := NewProgress(&text, false)
	plan := small(2, 3, Claim{})
	p.Begin(0, 2, plan)
	p.End(judge(plan, measured(plan, 0, 1, 1)), 1500*ms)
	require.Equal(t, "[1/2] s multi: ok (1.5s)\n", text.String())
}

// sampled gives facts a short series.
func sampled(f facts) facts {
	f.series = []Sample{{StockLeft: 2, Processes: []int{0, 0}}, {AtMS: 100, StockLeft: 1, Orders: 3, Accepted: 3, Rejected: 5, Processes: []int{2, 1}}}
	return f
}

// Under every form of the table stands what its numbers were made on and by: engines, machine and commit.
func TestTablesNameMachineEnginesAndCommit(t *testing.T) {
	r := sampleReport()
	r.Env.OS, r.Env.Arch, r.Env.Commit = "linux", "amd64", "0123456789abcdef"
	for name, write := range map[string]func(io.Writer) error{"table": r.WriteTable, "markdown": r.WriteMarkdown, "matrix": r.WriteMatrix} {
		var out strings.Builder
		require.NoError(t, write(&out))
		require.Equal(t, 1, strings.Count(out.String(),
			"Redis: miniredis (embedded). Database: SQLite 3 (embedded). linux/amd64, 2 CPUs, go1.26, seed 1. Commit 0123456789ab."), "%s: %s", name, out.String())
	}
}

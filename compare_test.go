package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/loadtest"
)

// compare runs a comparison and reads the JSON that has to be alone on stdout.
func compare(t *testing.T, code int, line string) map[string]loadtest.Row {
	t.Helper()
	r := seckill(t, append(strings.Fields("compare --format=json --out="), strings.Fields(line)...)...)
	require.Equal(t, code, r.code, "%s\n%s", r.err, r.out)
	var report loadtest.Report
	d := json.NewDecoder(strings.NewReader(r.out))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&report), r.out)
	require.False(t, d.More(), "more than the report on stdout")
	require.NotEmpty(t, report.Env.DB.Version)
	rows := map[string]loadtest.Row{}
	for _, row := range report.Rows {
		rows[row.Stage+" "+row.Scenario] = row
	}
	return rows
}

// The small rows keep the shape of the presets: more users than stock, two clicks each, and work that lets a race happen.
func TestCompareTellsBrokenFromSafe(t *testing.T) {
	rows := compare(t, 0, "--stages=none,mutex,conditional --scenarios=single,multi --stock=20 --users=60 --workers=32")
	require.Len(t, rows, 6)
	for name, row := range rows {
		require.True(t, row.AsClaimed, "%s: %s", name, row.Verdict)
		require.Equal(t, 120, row.Requests)
		require.Zero(t, row.Errors)
	}
	require.Contains(t, rows["none single"].Outcome, loadtest.Oversold)
	require.Contains(t, rows["mutex multi"].Outcome, loadtest.Oversold)
	for _, ok := range []string{"mutex single", "conditional single", "conditional multi"} {
		require.Equal(t, "ok", rows[ok].Verdict)
		require.Equal(t, 20, rows[ok].Orders)
		require.Equal(t, 20, rows[ok].Accepted)
	}
	require.Equal(t, 1, rows["mutex single"].MaxHolders)
	require.Equal(t, 2, rows["mutex multi"].MaxHolders)
}

func TestCompareShowsSetnxStuckAfterACrash(t *testing.T) {
	row := compare(t, 0, "--stages=setnx --scenarios=crash --stock=20 --users=24 --wait=200ms")["setnx crash"]
	require.True(t, row.Stuck)
	require.Contains(t, row.Outcome, loadtest.Stuck)
	require.Zero(t, row.Errors, "a planned death is no error")
}

// S-11: users up to the stock can't oversell it: a safe stage is judged on the rest, a claimed oversell is not confirmed.
func TestUsersUpToStockVoidTheJudgementOfOversell(t *testing.T) {
	rows := compare(t, exitFailed, "--stages=none,conditional --scenarios=single --stock=20 --users=20 --workers=16")
	safe, broken := rows["conditional single"], rows["none single"]
	require.NotContains(t, safe.Judged, loadtest.Oversold)
	require.True(t, safe.AsClaimed)
	require.Contains(t, safe.Note, "oversell not judged")
	require.False(t, broken.AsClaimed)
}

// murderer kills a server of every crew as soon as it is under load.
type murderer struct{ *fleet }

func (m murderer) Start(ctx context.Context, s loadtest.Spec) (loadtest.Crew, error) {
	crew, err := m.fleet.Start(ctx, s)
	if err == nil {
		time.AfterFunc(300*time.Millisecond, func() { _ = crew.Kill(1) })
	}
	return crew, err
}

func TestKilledChildMakesTheRowInvalid(t *testing.T) {
	work := 20 * time.Millisecond
	plans, err := loadtest.Config{
		Stages: []loadtest.Stage{{Name: "mutex", LocalLock: true}}, Work: &work,
		Picks: []loadtest.Pick{{Stage: "mutex", Scenarios: []string{"multi"}}},
	}.Plans()
	require.NoError(t, err)
	runner := loadtest.Runner{Fleet: murderer{testFleet(t)}}
	rows, err := runner.Run(t.Context(), plans)
	require.NoError(t, err)
	require.Equal(t, "INVALID: process p2 died: signal: killed", rows[0].Verdict)
	require.False(t, rows[0].AsClaimed)
}

func TestCompareWritesAReport(t *testing.T) {
	out := t.TempDir()
	r := seckill(t, "compare", "--stages=conditional", "--scenarios=single", "--stock=5", "--users=10", "--out="+out)
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "1 rows, each as its stage claims.")
	require.Contains(t, r.err, "[1/1] conditional single: ok")
	for _, name := range []string{"report.json", "report.html", "report.md", "report.txt", "results/001-conditional-single.bin"} {
		info, err := os.Stat(filepath.Join(out, "latest", name))
		require.NoError(t, err)
		require.Positive(t, info.Size(), name)
	}
}

// endless is a comparison that would take minutes.
func endless(t *testing.T) *program {
	t.Helper()
	p := newProgram(t, "compare", "--stages=mutex", "--scenarios=multi", "--repeat=100")
	p.begin(t)
	eventually(t, p.err, "[1/100]")
	if runtime.GOOS == "linux" {
		require.True(t, becomes(func() bool { return len(p.left(t)) == 3 }), "no children")
	}
	return p
}

func TestInterruptedCompareLeavesNothing(t *testing.T) {
	p := endless(t)
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.Equal(t, exitCannot, p.ends(t))
	require.Contains(t, p.err.all(), "seckill: interrupted")
	require.Empty(t, p.out.all())
	p.leavesNothing(t)
	kept, err := filepath.Glob(filepath.Join(p.Dir, "report", "2*"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	report, err := loadtest.ReadReportFile(kept[0])
	require.NoError(t, err)
	require.Equal(t, 100, len(report.Rows)+report.Missing)
	require.Positive(t, len(report.Rows))
	require.Contains(t, report.Summary(), "INCOMPLETE")
	require.NoFileExists(t, filepath.Join(p.Dir, "report", "latest"))
}

func TestKilledCompareLeavesNoProcess(t *testing.T) {
	p := endless(t)
	require.NoError(t, p.Process.Kill())
	p.ends(t)
	p.leavesNoProcess(t)
}

func TestJobRunsOnceUnderAWorkingLockAlone(t *testing.T) {
	r := seckill(t, strings.Fields("job --processes=3 --lock=lua --every=300ms --ticks=3")...)
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "3 of 3 ticks ran exactly once")
}

// Each copy looks, waits, and then takes what it saw free: the first version and the second let several run.
func TestJobRunsMoreThanOnceUnderABrokenLock(t *testing.T) {
	for _, lock := range []string{"hash", "incr"} {
		r := seckill(t, strings.Fields("job --processes=3 --every=300ms --ticks=10 --hold=acquire-check=pause:30ms --lock="+lock)...)
		require.Zero(t, r.code, r.err)
		require.Regexp(t, "ran on [23] of 3 processes", r.out)
		require.NotContains(t, r.out, "10 of 10 ticks ran exactly once")
	}
}

func TestJobCountsWhoRan(t *testing.T) {
	tick := func(process, slot string, ran bool) report {
		return report{process, event{Event: eventTick, Slot: slot, Ran: ran}}
	}
	reports := make(chan report, 8)
	for _, r := range []report{
		tick("p1", "a", true), tick("p2", "a", false), tick("p1", "b", true), tick("p3", "a", true), tick("p2", "b", false),
		tick("p3", "b", false),
	} {
		reports <- r
	}
	var out strings.Builder
	job := jobFlags{processes: 3, ticks: 2}
	require.NoError(t, job.count(t.Context(), &out, &crew{}, reports))
	require.Equal(t, "a  ran on 2 of 3 processes (p1, p3)\nb  ran on 1 of 3 processes (p1)\n1 of 2 ticks ran exactly once\n", out.String())

	reports <- report{"p2", event{Event: eventTick, Slot: "c", Error: "redis is gone"}}
	job = jobFlags{processes: 1, ticks: 1}
	require.ErrorContains(t, job.count(t.Context(), &out, &crew{}, reports), "p2: redis is gone")
}

// S-24: with as many units as users, everybody who gives up leaves a unit over. Without a retry that is most of them, and
// the verdict says so; with bounded retries it is nobody.
func TestCompareShowsUndersellAtTheSizeOfTheStock(t *testing.T) {
	rows := compare(t, 0, "--stages=cas,cas-retry --scenarios=single --stock=1000 --users=1000")
	broken, safe := rows["cas single"], rows["cas-retry single"]
	require.Contains(t, broken.Outcome, loadtest.Undersold)
	require.Contains(t, broken.Verdict, fmt.Sprintf("UNDERSOLD %d", broken.Undersold))
	require.Equal(t, 1000, broken.Orders+broken.Undersold)
	require.Equal(t, broken.Orders, broken.Accepted)
	require.Contains(t, broken.Judged, loadtest.Undersold)
	require.Positive(t, broken.Rejected.GaveUp)
	require.Equal(t, "ok", safe.Verdict)
	require.Equal(t, 1000, safe.Orders)
}

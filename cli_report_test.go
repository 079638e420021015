package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/loadtest"
)

// measured runs two small rows twice and returns the folder of the report.
func measuredTwice(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	r := seckill(t, append(strings.Fields("compare --stages=none,conditional --scenarios=single --stock=10 --users=40 --repeat=2 --seed=7 "+
		"--rate=400 --warmup=50ms"), "--out="+out)...)
	require.Zero(t, r.code, r.err+r.out)
	require.Contains(t, r.out, "2/2")
	return filepath.Join(out, "latest")
}

func TestReportOfRepeatedRows(t *testing.T) {
	folder := measuredTwice(t)
	r := seckill(t, "report", "--format=json", folder)
	require.Zero(t, r.code, r.err)
	var report loadtest.Report
	require.NoError(t, json.Unmarshal([]byte(r.out), &report))
	require.Equal(t, []string{"none", "conditional"}, report.Config.Stages)
	require.Equal(t, []string{"single"}, report.Config.Scenarios)
	require.Equal(t, []any{2, 400, "50ms"}, []any{report.Config.Repeat, report.Config.Rate, report.Config.Warmup})
	require.NotEmpty(t, report.Env.OS)
	require.False(t, report.Started.IsZero())
	require.Len(t, report.Rows, 4)
	turns := map[int]bool{}
	for i, row := range report.Rows {
		require.Equal(t, i%2+1, row.Repeat)
		require.Equal(t, 80, row.Requests+row.Dropped)
		require.NotEmpty(t, row.Series)
		turns[row.Order] = true
	}
	require.Len(t, turns, 4)
	require.Len(t, report.Groups, 2)
	require.Equal(t, 2, report.Groups[0].Runs)

	for format, words := range map[string]string{"table": "2/2", "markdown": "| none | single | 2 |", "matrix": "| none | OVERSOLD"} {
		r = seckill(t, "report", "--format="+format, filepath.Join(folder, "report.json"))
		require.Zero(t, r.code, r.err)
		require.Contains(t, r.out, words)
	}
	for format, words := range map[string]string{"table": "0 of 2 outcomes changed.", "markdown": "| none | single | 1.00~ |", "json": `"rps_ratio": 1,`} {
		r = seckill(t, "report", "--format="+format, folder, folder)
		require.Zero(t, r.code, r.err)
		require.Contains(t, r.out, words)
	}
	for _, format := range []string{"html", "matrix"} {
		refused(t, seckill(t, "report", "--format="+format, folder, folder), exitUsage, "shows one report")
	}
}

// Servers that run elsewhere give the same verdicts: their stage is chosen by request, and they have no hold points.
func TestCompareDrivesTargets(t *testing.T) {
	crew, err := testFleet(t).Start(t.Context(), loadtest.Spec{Stage: "fenced", Processes: 2})
	require.NoError(t, err)
	defer crew.Stop()
	targets := strings.Join(crew.URLs(), ",")
	rows := compare(t, 0, "--stages=conditional,lua,gate,stream --scenarios=single,multi --stock=10 --users=30 --targets="+targets)
	require.Len(t, rows, 8)
	for name, row := range rows {
		require.Equal(t, "ok", row.Verdict, "%s: %s", name, row.Note)
		require.Equal(t, 10, row.Orders, name)
	}
	require.Equal(t, 1, rows["lua multi"].MaxHolders)
	require.Equal(t, 2, rows["lua multi"].Processes)

	var report loadtest.Report
	r := seckill(t, "compare", "--format=json", "--out=", "--stages=conditional", "--stock=5", "--users=10", "--targets="+targets)
	require.Zero(t, r.code, r.err)
	require.NoError(t, json.Unmarshal([]byte(r.out), &report))
	require.Equal(t, "multi", report.Rows[0].Scenario, "what targets can show")
	require.Equal(t, "target", report.Env.DB.Kind)
	require.Contains(t, report.Env.DB.Version, "sqlite 3")
	rows = compare(t, 0, "--stages=for-update --scenarios=multi --targets="+targets)
	require.Contains(t, rows["for-update multi"].Verdict, "n/a: SQLite has no row locks", "the claims are those of the servers' engine")
	require.Equal(t, crew.URLs(), report.Config.Targets)
}

func TestTargetsThatWontDoAreRefused(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	refused(t, seckill(t, "compare", "--targets="+other.URL), exitCannot, "it is no seckill server")
	refused(t, seckill(t, "compare", "--targets=http://127.0.0.1:1"), exitCannot, "no answer")

	db, redis := "sqlite://"+filepath.Join(t.TempDir(), "sale.db"), testFleet(t).engines.redis
	require.Zero(t, seckill(t, "migrate", "--db", db).code)
	p := newProgram(t, "serve", "--addr=127.0.0.1:0", "--lab=off", "--token-secret="+longSecret, "--db="+db, "--redis="+redis)
	p.begin(t)
	eventually(t, p.out, `"event":"listening"`)
	var ready event
	require.NoError(t, json.Unmarshal([]byte(p.out.all()), &ready))
	refused(t, seckill(t, "compare", "--targets="+ready.URL), exitCannot, "it is not in lab mode")
}

// `go run .` does not put the commit into the program, so that it is asked of the folder that was built.
func TestWorkTreeTellsItsCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on PATH")
	}
	t.Chdir(t.TempDir())
	commit, _ := workTree(t.Context())
	require.Empty(t, commit, "some other folder")
	require.NoError(t, os.WriteFile("go.mod", []byte("module seckill\n"), 0o644))
	git := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("init", "-q")
	commit, _ = workTree(t.Context())
	require.Empty(t, commit, "nothing is committed yet")
	git("add", ".")
	git("commit", "-qm", "first")
	commit, modified := workTree(t.Context())
	require.Regexp(t, "^[0-9a-f]{40,}$", commit)
	require.False(t, modified)
	require.NoError(t, os.WriteFile("more.go", nil, 0o644))
	_, modified = workTree(t.Context())
	require.True(t, modified)
}

package loadtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// repeatedReport has one stage three times, a second once as it can't run, and its rates differ by pace.
func repeatedReport(pace float64) Report {
	c := Config{Stages: []Stage{{Name: "s"}, {Name: "x"}}, Picks: []Pick{{"s", []string{"multi"}}, {"x", []string{"multi"}}}, Repeat: 3, Seed: 1}
	var rows []Row
	for i, rps := range []float64{100, 400, 200} {
		p := small(2, 4, Claim{Must: []string{Oversold}, May: []string{Duplicates, Drift}})
		p.Repeat, p.Order = 3-i, i+1
		f := measured(p, 1, 1, 1, 1)
		if i == 2 {
			f = measured(p, -1, 1, 1, 1)
		}
		r := judge(p, f)
		r.RPS = pace * rps
		rows = append(rows, r)
	}
	x := small(2, 4, Claim{NA: "not here"})
	x.Stage.Name, x.Repeat = "x", 1
	return c.Report(Env{Go: "go1.26"}, time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC), append([]Row{notApplicable(x)}, rows...))
}

func TestReportSortsTheRowsAndSumsThemUp(t *testing.T) {
	r := repeatedReport(1)
	var repeats, turns []int
	for _, row := range r.Rows[:3] {
		require.Equal(t, "s", row.Stage)
		repeats, turns = append(repeats, row.Repeat), append(turns, row.Order)
	}
	require.Equal(t, []int{1, 2, 3}, repeats)
	require.Equal(t, []int{3, 2, 1}, turns, "the order of the runs is kept")
	require.Equal(t, "2030-01-02T03:04:05Z", r.Started.Format(time.RFC3339Nano))
	require.Len(t, r.Groups, 2)
	g := r.Groups[0]
	require.Equal(t, Spread{Median: 200, Min: 100, Max: 400}, g.RPS)
	require.Equal(t, Spread{Median: 1, Min: 1, Max: 1}, g.Oversold)
	require.Equal(t, []OutcomeCount{{"oversold, drift", 2}, {"oversold", 1}}, g.Outcomes)
	require.Equal(t, 3, g.AsClaimed)
	require.Equal(t, Group{Stage: "x", Scenario: "multi", Runs: 1, AsClaimed: 1, Outcomes: []OutcomeCount{{"n/a", 1}}}, r.Groups[1])
}

func TestInvalidRepeatsAreCountedAndNotMeasured(t *testing.T) {
	p := small(2, 4, Claim{})
	f := measured(p, 2)
	g := groups([]Row{judge(p, f), judge(p, measured(p, 0, 1, 1))})[0]
	require.Equal(t, 1, g.Invalid)
	require.Equal(t, 1, g.AsClaimed)
	require.Equal(t, Spread{Median: 2, Min: 2, Max: 2}, g.Orders)
}

func TestRepeatWithoutAnAnswerHasNoLatency(t *testing.T) {
	p := small(2, 4, Claim{})
	none, some := judge(p, measured(p, 0, 1, 1)), judge(p, measured(p, 0, 1, 1))
	none.Latency.Rejected, some.Latency.Rejected = Percentiles{}, Percentiles{P50: 3, P95: 8, P99: 9, Max: 9}
	g := groups([]Row{none, some, none})[0]
	require.Equal(t, Spread{Median: 8, Min: 8, Max: 8}, g.RejectedP95)
}

func TestRepeatedTablesShowMedianAndRange(t *testing.T) {
	var text, markdown strings.Builder
	r := repeatedReport(1)
	require.NoError(t, r.WriteTable(&text))
	require.NoError(t, r.WriteMarkdown(&markdown))
	for _, s := range []string{text.String(), markdown.String()} {
		require.Contains(t, s, "200 [100–400]")
		require.Contains(t, s, "oversold, drift ×2; oversold ×1")
		require.Contains(t, s, "3/3")
		require.Contains(t, s, "4 rows, each as its stage claims.")
	}
	lines := strings.Split(markdown.String(), "\n")
	require.Equal(t, strings.Count(lines[0], "|"), strings.Count(lines[2], "|"))

	r.Rows[1].AsClaimed, r.Rows[1].Verdict = false, "ok"
	require.Contains(t, r.notes("- "), "- s in multi, run 2: ok", "which repeat it was")
}

func TestSpreadLaws(t *testing.T) {
	require.Equal(t, Spread{}, spreadOf(nil))
	require.Equal(t, Spread{Median: 2.5, Min: 1, Max: 4}, spreadOf([]float64{4, 1, 3, 2}))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 20).Draw(t, "values")
		before := slices.Clone(values)
		s := spreadOf(values)
		require.Equal(t, before, values, "the values are left alone")
		require.LessOrEqual(t, s.Min, s.Median+0.01)
		require.LessOrEqual(t, s.Median, s.Max+0.01)
	})
}

func TestReadReportReadsWhatWasWritten(t *testing.T) {
	var text strings.Builder
	want := repeatedReport(1)
	require.NoError(t, want.WriteJSON(&text))
	got, err := ReadReport(strings.NewReader(text.String()))
	require.NoError(t, err)
	for i := range want.Rows {
		want.Rows[i].Chinese = Chinese{} // is for who measures, and not kept
	}
	require.Equal(t, want, got)
	got, err = ReadReport(strings.NewReader(`{"later":1,"rows":[{"stage":"s","scenario":"k6","status":"ran"}]}`))
	require.NoError(t, err, "other tools write rows alone, later versions more keys")
	require.Len(t, got.Groups, 1)
	for _, bad := range []string{"", "[]", "null", "{}", `{"rows":[]}`, `{"rows":[{}]}`, `{"rows":[{"stage":1}]}`, "GIF89a"} {
		_, err := ReadReport(strings.NewReader(bad))
		require.ErrorIs(t, err, ErrReport, bad)
	}
}

func FuzzReadReport(f *testing.F) {
	var text strings.Builder
	if err := repeatedReport(1).WriteJSON(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.String())
	f.Add(`{"rows":[{"stage":"s","scenario":"m","status":"ran","initial_stock":-5,"series":[{"at_ms":-5,"orders":9},{"at_ms":-5},{"at_ms":1e308,"orders":-7}],
		"latency_histogram":{"accepted":[{"le_ms":1e-320,"n":1},{"le_ms":0.001,"n":9e18},{"le_ms":1e9,"n":5}],"rejected":[{"le_ms":-1,"n":-1}]}}]}`)
	f.Add(`{"rows":[{"stage":"s","scenario":"m","status":"ran","claim":null,"series":[{}],"latency_ms":{}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ReadReport(strings.NewReader(text))
		if err != nil {
			return
		}
		var out strings.Builder
		require.NoError(t, r.WriteTable(&out))
		require.NoError(t, r.WriteMatrix(&out))
		require.NoError(t, r.WriteHTML(&out, nil))
	})
}

func TestCompareTwoReports(t *testing.T) {
	before, after := repeatedReport(1), repeatedReport(3)
	after.Rows[3].Scenario = "slow" // what was run in other weather is no pair
	for i := range 3 {
		after.Rows[i].Outcome = []string{}
	}
	after.Groups = groups(after.Rows)
	d := Compare("a", before, "b", after)
	require.Equal(t, []DiffRow{
		{Stage: "s", Scenario: "multi", Before: "oversold; oversold, drift", After: "ok", Changed: true, RPS: 3, AcceptedP95: 1, RejectedP95: 1, Overlap: true},
		{Stage: "x", Scenario: "multi", Before: "n/a"},
		{Stage: "x", Scenario: "slow", After: "n/a"},
	}, d.Rows)
	var text, markdown strings.Builder
	require.NoError(t, d.WriteTable(&text))
	require.NoError(t, d.WriteMarkdown(&markdown))
	for _, s := range []string{text.String(), markdown.String()} {
		require.Contains(t, s, "3.00~")
		require.Contains(t, s, "(no such row)")
		require.Contains(t, s, "only before")
		require.Contains(t, s, "only after")
		require.Contains(t, s, "1 of 1 outcomes changed; 2 rows are in one report alone.")
		require.NotContains(t, s, "not the same settings")
	}
	same := Compare("a", before, "a", before)
	require.False(t, same.Rows[0].Changed)
	require.Equal(t, 1.0, same.Rows[0].RPS)
}

// Numbers that were measured with other settings are compared, but not without saying so.
func TestCompareTellsOtherSettings(t *testing.T) {
	before, after := repeatedReport(1), repeatedReport(1)
	before.Config = Config{Processes: 2, Repeat: 1, Rate: 300}.Settings()
	after.Config = Config{Processes: 3, Repeat: 5}.Settings()
	after.Config.Stages = []string{"other"} // rows of one report alone show that, and the ranges how often each was run
	var text strings.Builder
	require.NoError(t, Compare("a", before, "b", after).WriteTable(&text))
	require.Contains(t, text.String(), "not the same settings: --processes 2, after 3; --rate 300, after unset\n")
}

func TestHistogramCountsEveryLatencyInItsBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l latencies
		all := rapid.SliceOfN(rapid.Int64Range(1, int64(time.Minute)), 1, 50).Draw(t, "latencies")
		for _, d := range all {
			n := bucketOf(time.Duration(d))
			inMS := max(float64(d)/1e6, 0.01)
			require.LessOrEqual(t, inMS, bucketEnd(n)+0.001)
			require.Greater(t, inMS, bucketEnd(n-1)-0.001)
			l.add(time.Duration(d))
		}
		sum, last := 0, -1.0
		for _, b := range l.histogram() {
			require.Positive(t, b.N)
			require.Greater(t, b.LeMS, last)
			sum, last = sum+b.N, b.LeMS
		}
		require.Equal(t, len(all), sum)
	})
}

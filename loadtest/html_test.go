package loadtest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
	"pgregory.net/rapid"
)

func htmlOf(t *testing.T, r Report, texts map[string]Bilingual) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteHTML(&b, texts))
	return b.String()
}

// drawn is a report with everything a page can show: charts, repeats, notes, a stage that can't run, an open load.
func drawn() Report {
	r := repeatedReport(1)
	for i := range r.Rows[:3] {
		row := &r.Rows[i]
		row.Series = []Sample{{StockLeft: 2, Processes: []int{0}}, {AtMS: 100, StockLeft: 1, Orders: 2, Accepted: 2}, {AtMS: 250, StockLeft: 1, Orders: 3, Accepted: 3, Rejected: 5}}
		row.Histogram = Histogram{Accepted: []Bucket{{1, 2}, {8, 1}}, Rejected: []Bucket{{2, 5}}}
		row.Rate, row.Note = 100, "a note"
	}
	r.Groups = groups(r.Rows)
	return r
}

func TestPageNeedsNothingButItself(t *testing.T) {
	page := htmlOf(t, drawn(), map[string]Bilingual{"s": {EN: StageText{Fixes: "f", Question: "q"}, ZH: StageText{Fixes: "解决"}}})
	for _, m := range regexp.MustCompile(`(?i)\s(?:src|href|srcset|action|poster)\s*=\s*"([^"]*)"`).FindAllStringSubmatch(page, -1) {
		require.Regexp(t, `^(#|data:,$)`, m[1])
	}
	for _, part := range regexp.MustCompile(`(?s)<style.*?</style>`).FindAllString(page, -1) {
		require.NotContains(t, part, "url(")
		require.NotContains(t, part, "@import")
	}
	require.Contains(t, page, `content="default-src 'none'; style-src`)
	require.Equal(t, 3, strings.Count(page, "<svg"), "stock, answers and latency of the one row that ran")
	require.NotContains(t, page, "<?xml")
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.Contains(t, page, `id="`+m[1]+`"`)
	}
	require.Equal(t, strings.Count(page, `lang="en">`)-1, strings.Count(page, `lang="zh">`), "each text in both languages; the document is one more")
}

func TestPageShowsWhatTheReportSays(t *testing.T) {
	page := htmlOf(t, drawn(), map[string]Bilingual{"s": {EN: StageText{StillBreaks: "run `x <y`"}}})
	for _, words := range []string{
		"oversold, drift ×2; oversold ×1", "3/3", "a note", "200 [100–400]", "n/a: not here", "2030-01-02 03:04:05 UTC",
		"run <code>x &lt;y</code>", "100/s", "Every row is as its stage claims.", "loadtest/vegeta/attack.sh kit",
	} {
		require.Contains(t, page, words)
	}
	require.Contains(t, page, `class="verdict lesson"`)
	require.NotContains(t, page, `class="verdict wrong" href`)

	r := drawn()
	r.Rows[0].AsClaimed = false
	r.Missing = 7
	r.Groups = groups(r.Rows)
	page = htmlOf(t, r, nil)
	require.Contains(t, page, `class="verdict wrong" href`)
	require.Contains(t, page, "2/3")
	require.Contains(t, page, "more rows did not run")
}

// What comes from a file is text, wherever it stands.
func TestPageEscapesWhatItIsGiven(t *testing.T) {
	const evil = `</style></script><script>alert(1)</script><img src="http://x/" onerror=alert(1)>`
	r := drawn()
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Stage, row.Note, row.Verdict, row.Outcome = evil, evil, evil, []string{evil}
		row.Commands = Commands{evil, evil, evil, evil}
	}
	r.Rows[3].Scenario = evil
	r.Env = Env{Go: evil, OS: evil, Commit: evil, Redis: Engine{evil, evil}, DB: Engine{evil, evil}}
	r.Config.Stages, r.Config.Targets = []string{evil}, []string{evil}
	r.Groups = groups(r.Rows)
	text := StageText{evil, evil, evil, "`" + evil + "`"}
	page := htmlOf(t, r, map[string]Bilingual{evil: {EN: text, ZH: text}})
	require.NotContains(t, page, "<img")
	require.Equal(t, 1, strings.Count(page, "<script"))
	require.Equal(t, 1, strings.Count(page, "</style>"))
	require.Contains(t, page, "&lt;script&gt;alert(1)")
}

func TestOversoldIsFilledRed(t *testing.T) {
	row := drawn().Rows[0]
	filled := regexp.MustCompile(`fill:#D4\w+;fill-opacity`)
	require.Regexp(t, filled, string(row.stockChart()), "3 orders for 2 units")
	row.InitialStock = 3
	require.NotRegexp(t, filled, string(row.stockChart()))
	row.Series = row.Series[:1]
	require.Empty(t, row.stockChart(), "one sample is no course of events")
	require.Empty(t, row.rateChart())
	require.Empty(t, latencyChart([]Row{{}}))
}

// The part above a level begins and lies on the line, and never below the level.
func TestPartAboveALevel(t *testing.T) {
	require.Equal(t, plotter.XYs{{X: 1, Y: 5}, {X: 2, Y: 10}}, above(plotter.XYs{{X: 0, Y: 0}, {X: 2, Y: 10}}, 5))
	rapid.Check(t, func(t *rapid.T) {
		var points plotter.XYs
		y := 0
		for x := range rapid.IntRange(0, 20).Draw(t, "points") {
			y += rapid.IntRange(0, 9).Draw(t, "more")
			points = append(points, plotter.XY{X: float64(x), Y: float64(y)})
		}
		level := float64(rapid.IntRange(0, 60).Draw(t, "level"))
		part := above(points, level)
		for i, p := range part {
			require.GreaterOrEqual(t, p.Y, level)
			if i > 0 {
				require.GreaterOrEqual(t, p.X, part[i-1].X)
			}
		}
		if n := len(points); n > 0 && points[n-1].Y > level {
			require.Equal(t, points[n-1], part[len(part)-1])
		} else {
			require.Empty(t, part)
		}
	})
}

func TestSharesRiseToAll(t *testing.T) {
	require.Equal(t, 100.0, shares([]Bucket{{2, 1}, {1, 2}, {2, 1}})[2].Y)
	require.Empty(t, shares([]Bucket{{0, 1}, {-1, 1}, {1e300, 1}, {1, 0}}), "no latency is like that")
}

func TestEveryTextOfThePageIsUsedAndInBothLanguages(t *testing.T) {
	for name, p := range pageWords {
		require.NotEmpty(t, p.en, name)
		require.Regexp(t, `\p{Han}`, p.zh, name)
		used := strings.Contains(pageSource, `{{t "`+name+`"}}`)
		for _, f := range (Group{}).facts(Row{Rate: 1}) {
			used = used || f[0] == name
		}
		require.True(t, used, name)
	}
	_, err := words("nonsense")
	require.Error(t, err)
	require.Len(t, outcomeWords(), len(Outcomes()))
	for _, o := range outcomeWords() {
		require.Regexp(t, `\p{Han}`, string(o.Means), o.Name)
	}
	for _, s := range Scenarios() {
		require.Regexp(t, `\p{Han}`, string(scenarioWords(s.Name)), s.Name)
	}
}

// What an axis counts are whole things.
func TestChartsCountInWholeNumbers(t *testing.T) {
	row := Row{InitialStock: 100, Series: []Sample{{StockLeft: 100}, {AtMS: 300, Orders: 799, StockLeft: 86}}}
	require.Contains(t, string(row.stockChart()), ">750<")
}

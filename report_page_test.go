package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/loadtest"
	"seckill/service"
)

// widestReport has every stage in every scenario, with the longest verdicts and notes that a page has to hold.
func widestReport(t *testing.T) loadtest.Report {
	var rows []loadtest.Row
	for i, s := range service.Ladder() {
		for _, scenario := range service.Scenarios() {
			claim := s.Claims.For(service.MySQL, scenario)
			verdict := "OVERSOLD 2999, DUPLICATES 1999, FOREIGN RELEASE 1234, DRIFT -2999, UNANSWERED 12"
			if scenario == "nested" {
				verdict = "UNDERSOLD 5" // a narrow column beside wide ones
			}
			rows = append(rows, loadtest.Row{
				Stage: s.Name, Scenario: scenario, Processes: 2, Repeat: 1, Users: 4000, Clicks: 2, InitialStock: 1000, Orders: 3999,
				Status: loadtest.StatusRan, AsClaimed: i%5 > 0, Outcome: append(claim.Must, claim.May...),
				Verdict: verdict,
				Note:    "errors: 500 internal (12 times); p1 logged: /a/very/long/path/without/any/blank/that/could/be/broken/" + s.Name,
				RPS:     12345.6, WorkMS: 5, TTLMS: 30000, WaitMS: 30000,
				Series:    []loadtest.Sample{{StockLeft: 1000}, {AtMS: 5000, Orders: 3999, Accepted: 3999, Rejected: 4001, StockLeft: 12}},
				Histogram: loadtest.Histogram{Accepted: []loadtest.Bucket{{LeMS: 1, N: 5}, {LeMS: 900, N: 9}}},
				Commands:  loadtest.Commands{Servers: "go run . fleet", Users: "go run . users", Vegeta: "x", K6: "y"},
			})
		}
	}
	c := loadtest.Config{Seed: 1}
	for _, s := range service.Ladder() {
		c.Picks = append(c.Picks, loadtest.Pick{Stage: s.Name, Scenarios: service.Scenarios()})
	}
	return c.Report(machine(t.Context()), time.Now(), rows)
}

// browser is a Chromium on PATH.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("SECKILL_REQUIRE_SERVERS") == "1" {
		t.Fatal("no chromium on PATH")
	}
	t.Skip("no chromium on PATH (apt-get install chromium)")
	return ""
}

// fitsScript opens the page in frames of several widths and languages, and looks for text that leaves the frame or lies
// on other text.
const fitsScript = `<!DOCTYPE html><meta charset="utf-8"><pre id="result">waiting</pre><script>
const problems = [];
function look(frame, width, language) {
  const d = frame.contentDocument;
  d.getElementById(language).checked = true;
  d.querySelectorAll('details').forEach((e) => { e.open = true; });
  const where = width + ' ' + language + ': ';
  if (d.documentElement.scrollWidth > width) { problems.push(where + 'scrolls to ' + d.documentElement.scrollWidth); }
  const visible = (e) => e.getClientRects().length > 0;
  const boxes = [...d.querySelectorAll('th,td,dt,dd,h1,h2,h3,figcaption,svg,summary,article p,article li,pre,.verdict')].filter(visible);
  if (boxes.length < 1000) { problems.push(where + 'only ' + boxes.length + ' boxes'); }
  const other = language === 'en' ? 'zh' : 'en';
  if ([...d.querySelectorAll('span[lang=' + other + ']')].some(visible)) { problems.push(where + 'both languages show'); }
  for (const e of boxes) {
    const r = e.getBoundingClientRect();
    if (r.right > width + 1 || r.left < -1) { problems.push(where + e.tagName + ' leaves the page: ' + e.textContent.slice(0, 40)); }
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0) { problems.push(where + e.tagName + ' overflows: ' + e.textContent.slice(0, 40)); }
  }
  for (const e of [...d.querySelectorAll('.matrix .verdict')].filter(visible)) {
    for (const text of [...e.childNodes].filter((n) => n.nodeType === 3)) {
      for (const word of text.data.matchAll(/[A-Za-z]+/g)) {
        const range = d.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        if (range.getClientRects().length > 1) { problems.push(where + 'broken word: ' + word[0]); }
      }
    }
  }
  for (let i = 1; i < boxes.length; i++) {
    const a = boxes[i - 1].getBoundingClientRect(), b = boxes[i].getBoundingClientRect();
    if (boxes[i - 1].contains(boxes[i]) || boxes[i].contains(boxes[i - 1])) { continue; }
    if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) {
      problems.push(where + boxes[i - 1].textContent.slice(0, 30) + ' lies on ' + boxes[i].textContent.slice(0, 30));
    }
  }
}
async function run() {
  for (const width of [1280, 1030, 390]) {
    const frame = document.createElement('iframe');
    frame.style.cssText = 'border:0;height:900px;width:' + width + 'px';
    frame.src = '/report.html';
    const loaded = new Promise((done) => { frame.onload = done; });
    document.body.append(frame);
    await loaded;
    for (const language of ['en', 'zh']) { look(frame, width, language); }
    frame.remove();
  }
  document.getElementById('result').textContent = 'done ' + JSON.stringify([...new Set(problems)].slice(0, 20));
}
run().catch((e) => { document.getElementById('result').textContent = 'failed ' + e; });
</script>`

// The page is looked at in a browser, wide and as narrow as a telephone, in both languages: nothing leaves the page,
// nothing lies on something else, and nothing but the page itself is asked for.
func TestReportPageFits(t *testing.T) {
	program := browser(t)
	var page bytes.Buffer
	require.NoError(t, widestReport(t).WriteHTML(&page, stageTexts()))
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		body := page.String()
		if r.URL.Path == "/" {
			body = fitsScript
		}
		_, _ = fmt.Fprint(w, body)
	}))
	defer server.Close()

	// A browser's helpers may still write for a moment after it has ended, which t.TempDir takes for a failure.
	profile, err := os.MkdirTemp("", "browser")
	require.NoError(t, err)
	defer func() { require.True(t, becomes(func() bool { return os.RemoveAll(profile) == nil })) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000",
		"--disable-background-networking", "--disable-component-update", "--no-first-run", "--user-data-dir="+profile,
		"--virtual-time-budget=60000", "--dump-dom", server.URL+"/")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	result := regexp.MustCompile(`<pre id="result">(.*?)</pre>`).FindSubmatch(out)
	require.NotNil(t, result, "%s", out)
	require.Equal(t, "done []", string(result[1]))
	mu.Lock()
	defer mu.Unlock()
	delete(asked, "/favicon.ico") // of the page around it
	require.Equal(t, map[string]int{"/": 1, "/report.html": 3}, asked)
}

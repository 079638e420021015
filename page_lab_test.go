package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// What a new visitor does, without having read anything: predict, run what stands there, read why it failed.
func TestPage_PredictRunExplain(t *testing.T) {
	v := newVisitor(t, "en-US")
	v.open(labServer(t))
	require.Contains(t, v.text(".hint"), "2 server processes")
	v.fits("lab-first")

	v.click("#run")
	require.Contains(t, v.text(".setup > .notice"), "Predict first")
	v.click("input[name=verdict][value=breaks]")
	v.click("input[name=how][value=oversold]")
	evaluate[bool](v, watchShifts)
	v.click("#run")
	v.until(`document.querySelector('#verdict')`)
	require.Empty(t, evaluate[[]string](v, `globalThis.shifts`), "what stands there does not move while the numbers run")

	require.Contains(t, v.text("#verdict .headline"), "Oversold by")
	require.Equal(t, "Your prediction was right.", v.text("#score"))
	require.Contains(t, v.text("#why"), "The mutex lives in the memory of one process")
	v.fits("lab-mutex")

	v.click("#next") // the same lock in one process
	require.Equal(t, "single", evaluate[string](v, `document.querySelector('select[name=scenario]').value`))
	v.click("input[name=verdict][value=ok]")
	v.click("#run")
	v.until(`document.querySelector('#verdict .headline')?.textContent === 'It holds'`)
	require.Equal(t, "Your prediction was right.", v.text("#score"))
}

// watchShifts notes what moves in the card of the sale and in the form, other than by a click or by scrolling.
const watchShifts = `(() => {
  globalThis.shifts = [];
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) {
      for (const s of shift.sources) {
        const e = s.node?.nodeType === 1 ? s.node : s.node?.parentElement;
        if (!shift.hadRecentInput && e?.closest('.live,.setup')) shifts.push(e.outerHTML.slice(0, 120));
      }
    }
  }).observe({ type: 'layout-shift', buffered: false });
  return true;
})()`

// The numbers of the verdict, the tiles and the report are the same: those of the audit.
func TestPage_NumbersAreTheAudits(t *testing.T) {
	base := labServer(t)
	v := newVisitor(t, "en-US")
	v.open(base)
	v.click("input[name=verdict][value=unsure]")
	v.click("#run")
	v.until(`document.querySelector('#verdict')`)
	row := evaluate[map[string]any](v, `(async () => {
		const [run] = await (await fetch('api/v1/lab/runs')).json();
		const report = await (await fetch('api/v1/lab/runs/' + run.id + '/report')).json();
		const vouchers = await (await fetch('api/v1/vouchers')).json();
		const audit = await (await fetch('api/v1/vouchers/' + vouchers[0].id + '/audit')).json();
		const shown = (name) => Number(document.querySelector('[data-fact=' + name + '] dd').textContent.replaceAll(',', ''));
		const row = report.rows[0];
		return {
			orders: [row.orders, audit.orders, shown('orders'), Number(document.querySelector('.tile.orders .value').textContent)],
			oversold: [row.oversold, audit.oversold, shown('oversold'), Number(document.querySelector('.tile.oversold .value').textContent)],
			duplicates: [row.duplicates, audit.duplicates, shown('duplicates')],
			left: [row.stock_left, audit.stock_left, shown('stock_left')],
		};
	})()`)
	for name, values := range row {
		list := values.([]any)
		for _, other := range list[1:] {
			require.Equal(t, list[0], other, name)
		}
	}
	require.Positive(t, row["oversold"].([]any)[0])
}

func TestPage_Timeline(t *testing.T) {
	v := newVisitor(t, "en-US")
	v.open(labServer(t))
	v.click("input[name=verdict][value=unsure]")
	v.click("#run")
	v.until(`document.querySelector('#lanes .bar.overlap')`)
	require.Equal(t, []any{"p1", "p2"}, evaluate[[]any](v, `[...document.querySelectorAll('#lanes .lane-name')].map((e) => e.textContent)`))
	v.do(chromedp.Focus(chromedp.ID("lanes")))
	seen := map[string]bool{}
	for range 8 {
		v.do(chromedp.KeyEvent(kb.ArrowRight))
		require.Regexp(t, `^p[12], from [\d.]+ ms to [\d.]+ ms, held`, v.text("#span-detail"))
		seen[v.text("#span-detail")] = true
	}
	require.Len(t, seen, 8, "each key shows another ownership")
	require.Contains(t, fmt.Sprint(seen), "at the same time as p")
}

// A run that can't be opened any more is told where it was asked for.
func TestPage_HistoryTellsWhatCannotBeOpened(t *testing.T) {
	v := newVisitor(t, "en-US")
	v.open(labServer(t))
	v.click("input[name=verdict][value=unsure]")
	v.click("#run")
	v.until(`document.querySelector('#verdict')`)
	v.click("nav a[href='#history']")
	v.until(`document.querySelector('.runs .files button')`)
	evaluate[bool](v, `(globalThis.real = fetch, globalThis.fetch = () => Promise.reject(new TypeError('no network')), true)`)
	v.click(".runs .files button")
	v.until(`document.querySelector('#history-notice').textContent.includes('does not answer')`)
	require.Equal(t, "history", evaluate[string](v, `document.querySelector('main').dataset.view`))
	evaluate[bool](v, `(globalThis.fetch = real, true)`)
	v.click(".runs .files button")
	v.until(`document.querySelector('#verdict')`)
}

// The timeline says what it leaves out.
func TestPage_TimelineTellsWhatItLeavesOut(t *testing.T) {
	v := newVisitor(t, "en-US")
	v.open(labServer(t))
	v.set("select[name=stage]", "none")
	v.set("select[name=scenario]", "single")
	v.click("input[name=verdict][value=unsure]")
	v.click("#run")
	v.until(`document.querySelector('#lanes-shared')`)
	require.Regexp(t, `up to \d\d holders at once; they share 8 lanes`, v.text("#lanes-shared"))
	evaluate[bool](v, `(() => {
		const window = document.querySelector('.timeline .controls select');
		window.selectedIndex = window.options.length - 1;
		return window.dispatchEvent(new Event('change', { bubbles: true }));
	})()`)
	require.Equal(t, 400, evaluate[int](v, `document.querySelectorAll('#lanes .bar').length`))
	require.Regexp(t, `^… and \d+ more in this window`, v.text("#lanes-more"))
	v.fits("timeline-crowded")
}

func TestPage_CancelledRun(t *testing.T) {
	v := newVisitor(t, "en-US")
	v.open(labServer(t))
	v.click(".settings summary")
	v.set("input[name=work_ms]", "2000")
	v.click("input[name=verdict][value=unsure]")
	v.click("#run")
	v.until(`document.querySelector('#state').textContent.includes('Users are clicking')`)
	evaluate[bool](v, `(globalThis.said = [], new MutationObserver(() => said.push(document.querySelector('#state').textContent))
		.observe(document.querySelector('#state'), { childList: true, characterData: true, subtree: true }), true)`)
	// Whatever draws the page anew meanwhile: samples of the run, another language, another width.
	evaluate[bool](v, `(document.querySelector('#cancel').click(), setInterval(() => dispatchEvent(new Event('resize')), 2), true)`)
	v.until(`document.querySelector('#state').textContent.includes('Cancelled')`)
	require.Equal(t, []string{"Cancelling", "Cancelled. Its servers have stopped."}, evaluate[[]string](v, `said`),
		"nothing hides that the run is being cancelled")
	v.click("nav a[href='#history']")
	v.until(`document.querySelector('.runs')?.textContent.includes('cancelled')`)
	v.fits("history")
}

// relay is a proxy under another name and path, to a server that may change.
type relay struct {
	under string
	now   atomic.Pointer[httputil.ReverseProxy]
}

func (r *relay) to(t *testing.T, address string) {
	t.Helper()
	target, err := url.Parse(address)
	require.NoError(t, err)
	r.now.Store(&httputil.ReverseProxy{
		Rewrite:  func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ErrorLog: log.New(io.Discard, "", 0),
	})
}

func (r *relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	http.StripPrefix(r.under, r.now.Load()).ServeHTTP(w, q)
}

// A server that stops in the middle of a run and comes back under the same address: the page notices both.
func TestPage_ServerRestart(t *testing.T) {
	v := newVisitor(t, "en-US")
	p := newProgram(t, "serve", "--addr=127.0.0.1:0", "--log-level=error")
	p.begin(t)
	eventually(t, p.out, eventListening)
	var e event
	require.NoError(t, json.Unmarshal([]byte(p.out.last()), &e))
	proxy := &relay{under: "/shop/seckill"}
	proxy.to(t, e.URL)
	front := httptest.NewServer(proxy)
	defer front.Close()
	v.open(front.URL + "/shop/seckill/")
	v.click("input[name=verdict][value=unsure]")
	v.click(".settings summary")
	v.set("input[name=work_ms]", "2000")
	v.click("#run")
	v.until(`document.querySelector('#state').textContent.includes('Users are clicking')`)
	require.NoError(t, p.Process.Kill())
	_ = p.Wait()
	v.until(`document.querySelector('#state').textContent.includes('Connection lost')`)
	proxy.to(t, labServer(t))
	v.until(`document.querySelector('#state').textContent.includes('Interrupted')`)
	v.click("nav a[href='#history']")
	v.until(`document.querySelector('.runs')?.textContent.includes('interrupted')`)
}

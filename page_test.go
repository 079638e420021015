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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"seckill/router"
	"seckill/service"
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

func TestPage_Purchase(t *testing.T) {
	base := labServer(t)
	c := newContract(t, base)
	c.voucher(1, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	v := newVisitor(t, "en-US")
	v.open(base + "/#shop")
	v.until(`document.querySelector('#buy')?.textContent === 'Buy now'`)
	v.fits("shop-before")
	v.click("#buy")
	v.until(`document.querySelector('#status')?.dataset.status === 'created'`)
	id := v.text(".receipt dd code")
	require.Regexp(t, `^\d{15,19}$`, id, "an id is text, with every digit")
	v.fits("shop-order")

	first := evaluate[string](v, `document.querySelector('.who input').value`)
	v.set(".who input", "77")
	v.until(`document.querySelector('#buy')?.textContent === 'Sold out'`)
	v.set(".who input", first)
	v.until(`document.querySelector('#status')?.dataset.status === 'created'`)
	v.click("#cancel-order")
	v.until(`document.querySelector('#status')?.dataset.status === 'cancelled'`)
	v.until(`document.querySelector('#buy')?.textContent === 'Buy now'`)
	v.click("#buy")
	v.until(`document.querySelector('#status')?.dataset.status === 'created'`)
	v.click("#pay")
	v.until(`document.querySelector('#status')?.dataset.status === 'paid'`)
	require.Contains(t, v.text("#told"), "Paid")
	o := c.ask(200, "GET", "/api/v1/orders/"+v.text(".receipt dd code"), "", "X-User-ID", first)
	require.Equal(t, "paid", o["status"])
}

// Before a sale begins nothing can be bought; a second order is refused in words.
func TestPage_SaleThatBegins(t *testing.T) {
	base := labServer(t)
	v := newVisitor(t, "en-US")
	v.open(base + "/#shop")
	v.set("input[name=delay]", "3600")
	v.click("#create")
	v.until(`document.querySelector('#buy')?.textContent === 'Not yet' && document.querySelector('#buy').disabled`)
	require.Regexp(t, `^00:59:[0-5]\d$|^01:00:00$`, v.text("#countdown"))
	v.click(".shop-body summary")
	v.set("input[name=title]", "<img src=x onerror=console.error(1)>")
	v.set("input[name=delay]", "0")
	v.click("#create")
	v.until(`document.querySelector('#buy')?.textContent === 'Buy now'`)
	require.Equal(t, "<img src=x onerror=console.error(1)>", v.text("#voucher"), "a name is text")
	v.click("#buy")
	v.until(`document.querySelector('#status')?.dataset.status === 'created'`)
	v.click("#buy")
	v.until(`document.querySelector('#told').textContent.includes('one per user')`)
}

func TestPage_Languages(t *testing.T) {
	base := labServer(t)
	v := newVisitor(t, "zh-CN")
	v.open(base)
	require.Equal(t, "哪一种锁顶得住秒杀？", v.text("h1"), "the browser's language")
	require.Equal(t, "zh-CN", evaluate[string](v, `document.documentElement.lang`))
	v.fits("lab-first-zh")
	v.click("#lang-en")
	v.until(`document.querySelector('h1').textContent === 'Which lock survives a flash sale?'`)
	v.open(base + "/?again") // another load
	require.Equal(t, "Which lock survives a flash sale?", v.text("h1"), "the choice is remembered")
	v.click("#lang-zh")
	for _, view := range []string{"ladder/watchdog", "shop", "history"} {
		evaluate[string](v, `location.hash = '#`+view+`'`)
		v.until(fmt.Sprintf(`document.querySelector('main').dataset.view === %q && !document.body.innerText.includes('加载中')`, strings.Split(view, "/")[0]))
		v.fits(strings.ReplaceAll(view, "/", "-") + "-zh")
	}
}

// Outside of lab mode there is no lab, and who buys shows a token.
func TestPage_OutsideOfLabMode(t *testing.T) {
	secret := strings.Repeat("s", router.MinSecret)
	base := labServer(t, "--lab=off", "--token-secret="+secret)
	signer, err := router.NewSigner(secret)
	require.NoError(t, err)
	sign := func(user int64, scopes ...string) string {
		text, err := signer.Sign(router.Token{User: user, Scopes: scopes, ExpiresAt: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		return text
	}
	c := newContract(t, base)
	c.ask(201, "POST", "/api/v1/vouchers", `{"title":"tea","stock":1,"price_cents":5,"begin_at":"2026-01-01T00:00:00Z","end_at":"2099-01-01T00:00:00Z"}`,
		"Authorization", "Bearer "+sign(0, router.ScopeAdmin))
	v := newVisitor(t, "en-US")
	v.open(base)
	require.Equal(t, "LadderShop", evaluate[string](v, `[...document.querySelectorAll('nav a')].slice(0, 2).map((a) => a.textContent).join('')`))
	require.Zero(t, evaluate[int](v, `document.querySelectorAll("a[href='#lab']:not(.brand)").length`))
	v.click("a[href='#shop']")
	v.click("#buy")
	v.until(`document.querySelector('#told').textContent.includes('token is needed')`)
	v.set(".who input", sign(7, router.ScopeBuy))
	v.click("#buy")
	v.until(`document.querySelector('#status')?.dataset.status === 'created'`)
	v.fits("shop-token")
}

// Every stage is on the ladder with its text, and its source with marked lines.
func TestPage_Ladder(t *testing.T) {
	base := labServer(t)
	v := newVisitor(t, "en-US")
	v.open(base + "/#ladder")
	require.Equal(t, len(service.Names()), evaluate[int](v, `document.querySelectorAll('.rungs li').length`))
	v.open(base + "/?lua#ladder/lua")
	v.until(`document.querySelectorAll('.listing mark').length > 3`)
	require.Contains(t, v.text(".files"), "return redis.call('DEL', KEYS[1])")
	v.fits("ladder-lua")
	v.click(".stage .head .button")
	v.until(`document.querySelector('select[name=stage]')?.value === 'lua'`)
}

func TestPage_CancelledRun(t *testing.T) {
	v := newVisitor(t, "en-US")
	v.open(labServer(t))
	v.click(".settings summary")
	v.set("input[name=work_ms]", "2000")
	v.click("input[name=verdict][value=unsure]")
	v.click("#run")
	v.until(`document.querySelector('#state').textContent.includes('Users are clicking')`)
	v.click("#cancel")
	v.until(`document.querySelector('#state').textContent.includes('Cancelled')`)
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

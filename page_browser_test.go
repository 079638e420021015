package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// screenshots names the folder for pictures of the page. Empty: none are kept.
const screenshots = "SECKILL_SCREENSHOTS"

// visitor is a browser that looks at the page. Its test fails when the page complains: of an exception, of an error
// that it prints, of something that its policy forbids.
type visitor struct {
	t   *testing.T
	ctx context.Context

	read       sync.WaitGroup
	complaints []string
}

// newVisitor opens a browser whose language is the one given.
func newVisitor(t *testing.T, language string) *visitor {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("lang", language), chromedp.Flag("accept-lang", language), chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(1280, 900),
		// A click aims at where a button is: nothing scrolls smoothly away from under it.
		chromedp.Flag("force-prefers-reduced-motion", true))
	timed, cancelTimer := context.WithTimeout(context.Background(), 3*time.Minute)
	allocated, cancelBrowser := chromedp.NewExecAllocator(timed, options...)
	ctx, cancelTab := chromedp.NewContext(allocated)
	v := &visitor{t: t, ctx: ctx}
	messages := chromedp.Console(ctx)
	v.read.Go(func() {
		for m, err := range messages {
			if err == nil && (m.IsException() || m.Type == chromedp.ConsoleError && m.Source != "network") {
				v.complaints = append(v.complaints, m.String())
			}
		}
	})
	t.Cleanup(func() {
		cancelTab()
		cancelBrowser()
		cancelTimer()
		v.read.Wait()
		require.Empty(t, v.complaints)
	})
	return v
}

// do acts, and shows what the page says when it can't.
func (v *visitor) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	if err := chromedp.Do(v.ctx, steps...); err != nil {
		v.fail(err)
	}
}

func (v *visitor) fail(err error) {
	v.t.Helper()
	short, cancel := context.WithTimeout(v.ctx, 5*time.Second)
	defer cancel()
	text, _ := chromedp.Run(short, chromedp.Evaluate[string](`document.body.innerText`))
	v.t.Fatalf("%v; the page says:\n%s", err, text)
}

// evaluate is the value of a JavaScript expression; a promise is waited for.
func evaluate[T any](v *visitor, expression string) T {
	v.t.Helper()
	result, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		v.fail(err)
	}
	return result
}

// open goes to an address and waits until the page is drawn.
func (v *visitor) open(url string) {
	v.t.Helper()
	v.do(chromedp.Navigate(url))
	v.until(`document.body.dataset.ready === 'yes'`)
}

// until waits for a JavaScript expression to become true.
func (v *visitor) until(expression string) {
	v.t.Helper()
	_, err := chromedp.Run(v.ctx, chromedp.Poll[chromedp.Void](`Boolean(`+expression+`)`,
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(time.Minute)))
	if err != nil {
		v.t.Log(expression)
		v.fail(err)
	}
}

func (v *visitor) click(selector string) {
	v.t.Helper()
	v.do(chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

func (v *visitor) text(selector string) string {
	v.t.Helper()
	text, err := chromedp.Run(v.ctx, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		v.t.Log(selector)
		v.fail(err)
	}
	return strings.TrimSpace(text)
}

// set fills in a field as a person does: the page is told of the change.
func (v *visitor) set(selector, value string) {
	v.t.Helper()
	v.do(chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.SetValue(chromedp.CSS(selector), value))
	evaluate[bool](v, `['input', 'change'].map((name) => document.querySelector("`+selector+`").dispatchEvent(new Event(name, {bubbles: true}))).length > 0`)
}

// fitsPage looks for what leaves the page, for controls without a name, and for ids that are there twice.
const fitsPage = `(() => {
  const problems = [], wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > wide) problems.push('scrolls to ' + document.documentElement.scrollWidth);
  const visible = (e) => e.getClientRects().length > 0 && e.checkVisibility();
  for (const e of document.querySelectorAll('h1,h2,h3,p,button,select,input,label,dt,dd,.tile,.card,figure')) {
    const r = e.getBoundingClientRect();
    if (visible(e) && !e.closest('.scroll,.skip') && (r.right > wide + 1 || r.left < -1)) problems.push(e.tagName + ' leaves the page: ' + e.textContent.slice(0, 40));
  }
  for (const e of document.querySelectorAll('button,select,input,a,summary,[role=img],[role=application],[role=region],progress')) {
    const name = e.getAttribute('aria-label') || [...(e.labels ?? [])].map((l) => l.textContent).join('') || e.textContent.trim();
    if (visible(e) && !name && !e.ariaHidden) problems.push('no name: ' + e.outerHTML.slice(0, 80));
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  problems.push(...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => 'twice: ' + id));
  return [...new Set(problems)].join('\n');
})()`

// fits looks at the page as narrow as a telephone and as wide as a large screen, and keeps pictures of it.
func (v *visitor) fits(name string) {
	v.t.Helper()
	for _, wide := range []int64{390, 800, 1600, 1280} {
		v.do(chromedp.EmulateViewport(wide, 900))
		require.Empty(v.t, evaluate[string](v, fitsPage), "%s at %d", name, wide)
	}
	v.picture(name)
}

// picture keeps the whole page, in several widths and colours, for people to look at.
func (v *visitor) picture(name string) {
	v.t.Helper()
	folder := os.Getenv(screenshots)
	if folder == "" {
		return
	}
	require.NoError(v.t, os.MkdirAll(folder, 0o755))
	for _, look := range []struct {
		suffix string
		wide   int64
		colour string
	}{{"390-dark", 390, "dark"}, {"390-light", 390, "light"}, {"1600-light", 1600, "light"}, {"1280-dark", 1280, "dark"}, {"1280-light", 1280, "light"}} {
		v.do(chromedp.EmulateViewport(look.wide, 900), colours(look.colour))
		evaluate[int](v, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))`)
		png, err := chromedp.Run(v.ctx, chromedp.FullScreenshot(100))
		require.NoError(v.t, err)
		require.NoError(v.t, os.WriteFile(filepath.Join(folder, name+"-"+look.suffix+".png"), png, 0o644))
	}
}

func colours(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

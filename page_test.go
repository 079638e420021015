package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/router"
	"seckill/service"
)

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

// Numbers have the units of the language.
func TestPage_UnitsInTheLanguage(t *testing.T) {
	base := labServer(t)
	newContract(t, base).voucher(1, time.Now().Add(75*time.Hour), time.Now().Add(80*time.Hour))
	v := newVisitor(t, "zh-CN")
	v.open(base + "/#shop")
	v.until(`/^3 天 0[23]:/.test(document.querySelector('#countdown')?.textContent)`)
	v.click("nav a[href='#lab']")
	v.until(`/^0 秒/.test(document.querySelectorAll('.chart .tick')[1]?.textContent)`)
	v.click("#lang-en")
	v.until(`/^0 s/.test(document.querySelectorAll('.chart .tick')[1]?.textContent)`)
}

// What the server says of a run and of a stage is in the page's language, too.
func TestPage_TheServersTextsInTheLanguage(t *testing.T) {
	v := newVisitor(t, "zh-CN")
	v.open(labServer(t))
	v.set("select[name=stage]", "get-lock")
	v.until(`document.querySelector('.setup .notice.warn')?.textContent.includes('SQLite 没有 GET_LOCK')`)
	v.set("select[name=stage]", "mutex")
	v.set("select[name=scenario]", "single")
	v.click(".settings summary")
	v.set("input[name=users]", "10")
	v.set("input[name=stock]", "20")
	v.set("input[name=clicks]", "1")
	v.click("input[name=verdict][value=unsure]")
	v.click("#run")
	v.until(`document.querySelector('#note')`)
	require.Equal(t, "没有判断超卖：10 个用户对 20 件商品；没有判断重复下单：每人只点击一次", v.text("#note"))
	v.click("nav a[href='#history']")
	v.until(`document.querySelector('.runs .raw')?.textContent === '守住'`)
	v.click("nav a[href='#ladder']")
	v.click("a[href='#ladder/for-update']")
	v.until(`document.querySelector('.claims td.na')?.innerText.includes('SQLite 没有行锁')`)
	v.click("#lang-en")
	v.until(`document.querySelector('.claims td.na')?.innerText.includes('SQLite has no row locks')`)
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
	for stage, told := range map[string]string{
		"mutex": "✗ breaks with several processes", "fenced": "✓ holds with several processes", "get-lock": "– not on this engine",
	} {
		require.Equal(t, told, evaluate[string](v, `(() => {
			const light = document.querySelector("a[href='#ladder/`+stage+`'] .light");
			return light.textContent + ' ' + light.getAttribute('aria-label');
		})()`), "in a sign and in words, not by colour alone")
	}
	v.click("a[href='#ladder/get-lock']")
	v.until(`document.querySelector('.claims td.na')?.innerText.includes('SQLite has no GET_LOCK')`)
	v.fits("ladder-na")
	v.open(base + "/?lua#ladder/lua")
	v.until(`document.querySelectorAll('.listing mark').length > 3`)
	require.Contains(t, v.text(".files"), "return redis.call('DEL', KEYS[1])")
	v.fits("ladder-lua")
	v.click(".stage .head .button")
	v.until(`document.querySelector('select[name=stage]')?.value === 'lua'`)
}

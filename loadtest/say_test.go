package loadtest

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	han    = regexp.MustCompile(`\p{Han}`)
	digits = regexp.MustCompile(`-?\d+`)
)

// alike requires that a text is there in both languages, or in none, with the same numbers.
func alike(t *testing.T, english, chinese string) {
	t.Helper()
	require.Equal(t, english != "", han.MatchString(chinese), "%q is %q", english, chinese)
	require.ElementsMatch(t, digits.FindAllString(english, -1), digits.FindAllString(chinese, -1), "%q is %q", english, chinese)
}

func bilingual(t *testing.T, r Row) {
	t.Helper()
	alike(t, r.Verdict, r.Chinese.Verdict)
	alike(t, r.Note, r.Chinese.Note)
}

// Every remark says the same in both languages.
func TestNotesAreBilingual(t *testing.T) {
	p := small(9, 4, Claim{})
	p.Clicks, p.Targets = 1, []string{"http://one:1", "http://two:1"}
	f := measured(p, 7, 1, 1)
	f.tally.cut, f.tally.errors, f.tally.details = 3, 2, map[string]int{"500": 2}
	f.said = []string{"", "disk 7 on fire"}
	got := note(p, f)
	alike(t, got.en, got.zh)
	require.Equal(t, "没有判断超卖：4 个用户对 9 件商品；没有判断重复下单：每人只点击一次；处理耗时、TTL 和等待时间以服务器自己的设置为准；"+
		"没有判断持锁者和误删他人的锁：各服务器的时钟不同；3 个请求因崩溃而中断；出错：500（2 次）；p2 的日志：disk 7 on fire", got.zh)
	f.dropped = 5
	got = note(p, f)
	alike(t, got.en, got.zh)
	require.Contains(t, got.zh, "4 个请求中有 5 个没有发出：轮到它们时 4 个并发都在等待")
}

func TestVerdictsAreBilingual(t *testing.T) {
	p := small(2, 3, Claim{})
	idle := measured(p, 0, 1, 1)
	idle.tally.served[1] = 0
	dead := measured(p, 0, 1, 1)
	dead.deaths = map[int]string{1: "signal: killed"}
	failing := measured(p, 0, 1, 1)
	failing.tally.errors, failing.tally.details = 4, map[string]int{"500 internal": 4}
	for _, f := range []facts{idle, dead, failing} {
		r := judge(p, f)
		require.Equal(t, StatusInvalid, r.Status)
		bilingual(t, r)
	}
	bilingual(t, notApplicable(small(2, 3, Claim{NA: "no such thing", NAChinese: "没有这个"})))
	for _, o := range Outcomes() {
		require.NotEmpty(t, outcomeNames[o].en, o)
		require.Regexp(t, han, outcomeNames[o].zh, o)
	}
}

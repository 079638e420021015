package loadtest

import (
	"fmt"
	"html/template"
	"strings"
)

// pair is a text in both languages. What a server or the operating system said stands in both as it was said.
type pair struct{ en, zh string }

// say fills the same values into both.
func say(en, zh string, args ...any) pair {
	return pair{fmt.Sprintf(en, args...), fmt.Sprintf(zh, args...)}
}

// quoted is what somebody else said.
func quoted(text string) pair { return pair{text, text} }

func (p pair) empty() bool { return p.en == "" }

// after is the text behind a word of its own.
func (p pair) after(en, zh string) pair { return pair{en + p.en, zh + p.zh} }

// joined lists texts as each language does; empty ones do not count.
func joined(en, zh string, all ...pair) pair {
	var inEN, inZH []string
	for _, p := range all {
		if !p.empty() {
			inEN, inZH = append(inEN, p.en), append(inZH, p.zh)
		}
	}
	return pair{strings.Join(inEN, en), strings.Join(inZH, zh)}
}

// html shows the one that the reader has chosen.
func (p pair) html() template.HTML {
	return template.HTML(`<span lang="en">` + template.HTMLEscapeString(p.en) + `</span><span lang="zh">` +
		template.HTMLEscapeString(p.zh) + `</span>`)
}

// Chinese is what a row says in Chinese. It is no part of the row's JSON, which scripts read.
type Chinese struct{ Verdict, Note string }

// ruled sets the row's state and verdict.
func (r *Row) ruled(status string, verdict pair) {
	r.Status, r.Verdict, r.Chinese.Verdict = status, verdict.en, verdict.zh
}

// noted adds to what the numbers do not say.
func (r *Row) noted(more pair) {
	all := joined("; ", "；", pair{r.Note, r.Chinese.Note}, more)
	r.Note, r.Chinese.Note = all.en, all.zh
}

// outcomeNames name the outcomes in a verdict.
var outcomeNames = map[string]pair{
	Oversold: {"OVERSOLD", "超卖"}, Duplicates: {"DUPLICATES", "重复下单"}, Undersold: {"UNDERSOLD", "少卖"}, Stuck: {"STUCK", "卡死"},
	ForeignRelease: {"FOREIGN RELEASE", "误删他人的锁"}, Drift: {"DRIFT", "账目不符"}, Unanswered: {"UNANSWERED", "答复与订单不符"},
	Errors: {"ERRORS", "出错"},
}

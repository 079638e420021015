package loadtest

import (
	"fmt"
	"html/template"
)

// words is a text of the page. A name that does not exist is a mistake in the template, which a test finds.
func words(name string) (template.HTML, error) {
	p, ok := pageWords[name]
	if !ok {
		return "", fmt.Errorf("the page has no text %q", name)
	}
	return p.html(), nil
}

var pageWords = map[string]pair{
	"title":      {"Which way of selling oversold?", "哪种写法超卖了？"},
	"right":      {"Every row is as its stage claims.", "每一行都与所在阶段的声明一致。"},
	"wrong":      {"Some rows are NOT as their stage claims.", "有的行与所在阶段的声明不一致。"},
	"rows":       {"rows", "行"},
	"missing":    {"more rows did not run: the comparison was stopped.", "行没有跑：测试中途停止。"},
	"verdicts":   {"Verdicts", "结论"},
	"stage":      {"stage", "阶段"},
	"read":       {"How to read it", "怎么读"},
	"legendOK":   {"sells each unit once", "每件商品恰好卖一次"},
	"legendBad":  {"fails, as the lesson says it does", "出错，与课程所说的一致"},
	"legendNot":  {"not as claimed, or nothing can be concluded", "与声明不一致，或无法下结论"},
	"outcome":    {"verdict", "结论"},
	"means":      {"meaning", "含义"},
	"weather":    {"scenario", "场景"},
	"happens":    {"what happens", "发生什么"},
	"fixes":      {"What it fixes", "解决了什么"},
	"breaks":     {"What still breaks", "还有什么问题"},
	"question":   {"Question", "思考"},
	"answer":     {"Answer", "答案"},
	"asClaimed":  {"as claimed", "与声明一致"},
	"shown":      {"charts of stock and answers: run", "库存与应答两图：第几次运行："},
	"orders":     {"orders / stock", "订单 / 库存"},
	"oversold":   {"oversold", "超卖"},
	"holders":    {"lock holders at once", "同时持锁数"},
	"rps":        {"requests per second", "每秒请求数"},
	"sold":       {"ms when sold, p50 · p95", "成交耗时（毫秒）p50 · p95"},
	"refused":    {"ms when refused, p50 · p95", "被拒耗时（毫秒）p50 · p95"},
	"requests":   {"requests = users × clicks", "请求数 = 用户 × 点击"},
	"settings":   {"settings", "设置"},
	"rate":       {"rate (open loop)", "速率（开环）"},
	"dropped":    {"requests dropped", "未能按时发出的请求"},
	"chartStock": {"Stock and orders over time (s)", "库存与订单随时间变化（秒）"},
	"chartRate":  {"Answers per second over time (s)", "每秒应答数随时间变化（秒）"},
	"chartTime":  {"Share of answers (%) within a time (ms)", "在该时间（毫秒）内得到应答的比例（%）"},
	"lineOrders": {"orders", "订单"},
	"lineStock":  {"stock column", "库存列"},
	"lineLimit":  {"initial stock; red above it: oversold", "初始库存；其上红色部分：超卖"},
	"lineSold":   {"accepted", "接受"},
	"lineRefuse": {"refused", "拒绝"},
	"lineFailed": {"failed or dropped", "出错或未发出"},
	"noSeries":   {"No samples were taken of this row.", "这一行没有采样数据。"},
	"again":      {"Run it again by hand", "手工重跑"},
	"ran":        {"What it ran on", "运行环境"},
	"began":      {"began", "开始于"},
	"commit":     {"commit", "提交"},
	"machine":    {"machine", "机器"},
	"seed":       {"seed", "种子"},
	"asked":      {"asked for", "所用参数"},
	"presets":    {"the presets", "预设"},
	"medians":    {"Medians of the repeats; in brackets the smallest and the largest.", "数字是多次运行的中位数，方括号里是最小值与最大值。"},
	"invalid": {"INVALID: nothing can be concluded. Nothing was sold, a process died unplanned or served nothing, more than 1 % of the requests failed, a planned crash or stop did not happen, or not every request was sent.",
		"INVALID：无法下结论。一件也没有卖出、有进程意外退出或没有处理任何请求、超过 1% 的请求出错、计划中的崩溃或停顿没有发生，或者请求没有全部发出。"},
}

// explained is a word of the report and what it means.
type explained struct {
	Name  string
	Means template.HTML
}

// outcomeWords explain the outcomes.
func outcomeWords() []explained {
	means := map[string]pair{
		Oversold:       {"more orders than units, counted by order rows: the stock column never shows it", "订单比商品多；按订单行数判断，库存列看不出来"},
		Duplicates:     {"a user has more than one order", "同一用户有不止一笔订单"},
		Undersold:      {"units are left although enough users asked for them", "少卖：想买的用户足够多，商品却有剩余"},
		Stuck:          {"nobody holds the lock and nobody can have it", "卡死：没有人持锁，也没有人能拿到锁"},
		ForeignRelease: {"a holder removed a lock that was another's by then", "持有者删掉的锁当时已属于别人"},
		Drift:          {"the counters do not add up: an update was lost", "计数对不上：有更新丢失"},
		Unanswered:     {"a client was told something that did not happen", "客户端得到的应答与事实不符"},
		Errors:         {"more than 1 % of the answers were errors", "超过 1% 的应答是错误"},
	}
	var list []explained
	for _, name := range Outcomes() {
		list = append(list, explained{name, means[name].html()})
	}
	return list
}

// scenarioWords explain a scenario; one that another tool made up explains itself.
func scenarioWords(name string) template.HTML {
	p, ok := map[string]pair{
		"single": {"one process", "一个进程"},
		"multi":  {"several processes", "多个进程"},
		"slow":   {"every holder works longer than the lock's TTL", "每个持有者的处理时间都超过锁的 TTL"},
		"late":   {"one process is stopped for longer than the TTL right before COMMIT, and pauses at its releases", "一个进程在 COMMIT 之前被停住，时间超过 TTL，释放锁时也会停顿"},
		"crash":  {"one process kills itself inside the critical section", "一个进程在临界区内杀死自己"},
		"nested": {"a method that holds the lock calls a method that takes it", "持锁的方法调用另一个要加同一把锁的方法"},
	}[name]
	if !ok {
		p = pair{name, name}
	}
	return p.html()
}

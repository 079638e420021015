package loadtest

// note says what the numbers do not.
func note(p Plan, f facts) pair {
	var words []pair
	add := func(when bool, en, zh string, args ...any) {
		if when {
			words = append(words, say(en, zh, args...))
		}
	}
	users := asked(p, f)
	add(f.dropped > 0, "%d of %d requests were dropped: all %d workers were waiting when their turn came",
		"%[2]d 个请求中有 %[1]d 个没有发出：轮到它们时 %[3]d 个并发都在等待", f.dropped, p.Users*p.Clicks, p.Workers)
	add(users <= p.Stock, "oversell not judged: %d users for %d units", "没有判断超卖：%d 个用户对 %d 件商品", users, p.Stock)
	add(p.Clicks < 2, "duplicates not judged: one click per user", "没有判断重复下单：每人只点击一次")
	add(len(p.Targets) > 0, "work, TTL and wait are the servers' own", "处理耗时、TTL 和等待时间以服务器自己的设置为准")
	add(!p.oneClock(), "holders and foreign releases not judged: the servers' clocks differ", "没有判断持锁者和误删他人的锁：各服务器的时钟不同")
	add(f.tally.cut > 0, "%d requests were cut off by the crash", "%d 个请求因崩溃而中断", f.tally.cut)
	if f.tally.errors > 0 {
		words = append(words, f.tally.worst().after("errors: ", "出错："))
		for i, said := range f.said {
			add(said != "", "p%d logged: %s", "p%d 的日志：%s", i+1, said)
		}
	}
	return joined("; ", "；", words...)
}

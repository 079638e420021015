package main

import (
	"strings"

	"seckill/router"
	"seckill/service"
)

// lockMarks are pieces of the lines that matter in a lock's source, by its kind.
var lockMarks = map[string][]string{
	"none":             {"return grant{held: true}, nil"},
	"mutex":            {"entries map[string]*entry", "holder chan struct{}", "case e.holder <- struct{}{}:", "\t<-e.holder"},
	"hash":             {"c.rdb.Exists(ctx, key)", "c.rdb.HSet(ctx, key", "c.rdb.PExpire(ctx, key"},
	"incr":             {"c.rdb.Exists(ctx, key)", "c.rdb.Set(ctx, key, 0", "c.rdb.Incr(ctx, key)"},
	"setnx":            {"c.rdb.SetNX(ctx, key, \"locked\", 0)", "c.rdb.Del(ctx, r.key)"},
	"setnx-expire":     {"c.rdb.SetNX(ctx, key, token, 0)", "return c.rdb.PExpire(ctx, key"},
	"setnx-repair":     {"c.rdb.SetNX(ctx, key, token, 0)", "c.rdb.PTTL(ctx, key)", "return false, c.rdb.PExpire"},
	"expire":           {"c.rdb.SetNX(ctx, key, token, c.o.TTL)", "free: c.del", "c.rdb.Del(ctx, r.key)"},
	"token":            {"c.rdb.Get(ctx, r.key)", "case held != r.own.token:", "return c.del(ctx, r)"},
	"lua":              {"return unlock.Run(ctx", "redis.call('GET', KEYS[1]) == ARGV[1]", "redis.call('DEL', KEYS[1])"},
	"reentrant-simple": {"redis.call('HINCRBY'", "redis.call('EXPIRE'"},
	"reentrant":        {"redis.call('HINCRBY'", "redis.call('PEXPIRE'", "redis.call('PUBLISH'"},
	"watchdog":         {"l.renewer, l.signals", "redis.call('SET', KEYS[1]", "return redis.call('PEXPIRE'"},
	"redislock":        {"b.c.Obtain(ctx, key", "held.Refresh(s.ctx", "s.own.end(fmt.Errorf"},
	"redlock":          {"majority: len(nodes)/2 + 1", "l.renewer, l.signals"},
	"fenced":           {"c.deployable(\"fenced\", true)", "redis.call('TIME')", "math.max(last + 1"},
	"get-lock":         {"SELECT GET_LOCK(?, ?)", "SELECT RELEASE_LOCK(?)"},
}

// spanMarks and updateMarks are the same for the order flow and the stock update.
var (
	spanMarks = map[string][]string{
		service.SpanAround: {"b.locker.Acquire(ctx, b.key)", "defer b.unlock(ctx, lease)"},
		service.SpanEarly:  {"b.readUnderLock(ctx)", "return b.commit(ctx, nil"},
		service.SpanLate:   {"b.firstOrder(inner, tx)", "b.locker.Acquire(ctx, b.key)"},
	}
	updateMarks = map[string][]string{
		service.UpdateNaive:       {"tx.SetStock(ctx, b.order.VoucherID, seen.Left-1"},
		service.UpdateConditional: {"tx.TakeOne(ctx"},
		service.UpdateCAS:         {"tx.TakeIfVersion(ctx"},
		service.UpdateForUpdate:   {"tx.StockForUpdate(ctx"},
		service.UpdateSkipLocked:  {"tx.TakeUnit(ctx"},
	}
)

// marksOf are all marks of a stage. A test holds each against the stage's source.
func marksOf(s service.Stage) []string {
	marks := append([]string{}, lockMarks[s.Lock]...)
	if s.Path == service.PathSync {
		marks = append(marks, spanMarks[s.LockSpan]...)
	} else {
		marks = append(marks, "in.Groups.Admit(ctx")
	}
	return append(marks, updateMarks[s.StockUpdate]...)
}

// markedSources are a stage's files with the lines that matter, for the page.
func markedSources(s service.Stage) ([]router.SourceFile, error) {
	files, err := sourcesOf(s)
	if err != nil {
		return nil, err
	}
	var out []router.SourceFile
	for _, f := range files {
		text := strings.TrimSpace(f.text)
		out = append(out, router.SourceFile{Name: f.name, Text: text, Marks: markedLines(text, marksOf(s))})
	}
	return out, nil
}

// markedLines are the numbers, from 1, of the lines of code that have a mark in them.
func markedLines(text string, marks []string) []int {
	lines := []int{}
	for i, line := range strings.Split(text, "\n") {
		code := strings.TrimSpace(line)
		if strings.HasPrefix(code, "//") || strings.HasPrefix(code, "--") {
			continue
		}
		for _, mark := range marks {
			if strings.Contains(line, mark) {
				lines = append(lines, i+1)
				break
			}
		}
	}
	return lines
}

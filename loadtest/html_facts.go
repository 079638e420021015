package loadtest

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// facts are the numbers beside the charts.
func (g Group) facts(row Row) [][2]string {
	facts := [][2]string{
		{"orders", fmt.Sprintf("%s / %d", g.Orders, row.InitialStock)}, {"oversold", g.Oversold.String()},
		{"holders", g.MaxHolders.String()}, {"rps", g.RPS.String()},
		{"sold", times(g.AcceptedP50, g.AcceptedP95)}, {"refused", times(g.RejectedP50, g.RejectedP95)},
		{"requests", fmt.Sprintf("%d = %d × %d", row.Users*row.Clicks, row.Users, row.Clicks)},
		{"settings", row.settings()},
	}
	if row.Rate > 0 {
		facts = append(facts, [2]string{"rate", fmt.Sprintf("%d/s", row.Rate)}, [2]string{"dropped", g.Dropped.String()})
	}
	return facts
}

// times are two percentiles, or a dash where there was nothing to measure.
func times(p50, p95 Spread) string {
	if p95.Max == 0 {
		return "–"
	}
	return p50.String() + " · " + p95.String()
}

// settings are the times of the row. A lock without a TTL has none to show.
func (row Row) settings() string {
	text := fmt.Sprintf("work %v, wait %v", fromMS(row.WorkMS), fromMS(row.WaitMS))
	if row.TTLMS > 0 {
		text += fmt.Sprintf(", TTL %v", fromMS(row.TTLMS))
	}
	return text
}

func fromMS(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// prose is a text whose words between backquotes are code.
func prose(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// list names the settings that were asked for.
func (s Settings) list() [][2]string {
	all := [][2]string{
		{"--stages", strings.Join(s.Stages, ", ")}, {"--scenarios", strings.Join(s.Scenarios, ", ")},
		{"--processes", preset(s.Processes)}, {"--stock", preset(s.Stock)}, {"--users", preset(s.Users)},
		{"--clicks", preset(s.Clicks)}, {"--workers", preset(s.Workers)}, {"--work", s.Work}, {"--ttl", s.TTL}, {"--wait", s.Wait},
		{"--repeat", preset(s.Repeat)}, {"--rate", preset(s.Rate)}, {"--warmup", s.Warmup}, {"--targets", strings.Join(s.Targets, ", ")},
		{"", strings.Join(s.Engines, " ")},
	}
	return slices.DeleteFunc(all, func(kv [2]string) bool { return kv[1] == "" || kv[1] == "auto" || kv[1] == "0s" })
}

func preset(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

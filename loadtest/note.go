package loadtest

import (
	"fmt"
	"strings"
)

// note says what the numbers do not.
func note(p Plan, f facts) string {
	var words []string
	say := func(when bool, format string, args ...any) {
		if when {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	users := asked(p, f)
	say(f.dropped > 0, "%d of %d requests were dropped: all %d workers were waiting when their turn came", f.dropped,
		p.Users*p.Clicks, p.Workers)
	say(users <= p.Stock, "oversell not judged: %d users for %d units", users, p.Stock)
	say(p.Clicks < 2, "duplicates not judged: one click per user")
	say(len(p.Targets) > 0, "work, TTL and wait are the servers' own")
	say(!p.oneClock(), "holders and foreign releases not judged: the servers' clocks differ")
	say(f.tally.cut > 0, "%d requests were cut off by the crash", f.tally.cut)
	if f.tally.errors > 0 {
		words = append(words, "errors: "+f.tally.worst())
		for i, said := range f.said {
			say(said != "", "p%d logged: %s", i+1, said)
		}
	}
	return strings.Join(words, "; ")
}

package loadtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrConfig marks a configuration that can't be run; the command line answers it with exit code 2.
var ErrConfig = errors.New("bad configuration")

// Limits that keep a typing error from taking the machine down.
const (
	maxProcesses = 32
	maxUsers     = 1_000_000
	maxClicks    = 100
	maxWorkers   = 10_000
	maxRepeat    = 1000
	maxRate      = 1_000_000
	maxWarmup    = 10 * time.Minute
)

// Config says what a comparison runs. Zero numbers mean the scenario's preset.
type Config struct {
	// Stages in the order of the report, all of which exist.
	Stages []Stage
	// Picks are the rows to run. Default: DefaultSet.
	Picks []Pick
	// Processes of every scenario but single. Default 2.
	Processes int
	// Stock, Users, Clicks and Workers override the scenario's preset.
	Stock, Users, Clicks, Workers int
	// Work, TTL and Wait override the scenario's preset; nil: as preset.
	Work, TTL, Wait *time.Duration
	// Repeat runs each row that many times, in rounds: each round runs every row once, in an order of its own. Default 1,
	// which runs the rows in the order of the report.
	Repeat int
	// Rate makes the load open: so many requests begin every second, whether those before are answered or not, and one
	// whose turn comes while all Workers wait is dropped. 0: closed, each worker sends when it is free.
	Rate int
	// Warmup is how long each row first sells a voucher that does not count. Default 0: not at all. Rows with hold points
	// are never warmed up, because that would use the hold points up.
	Warmup time.Duration
	// Seed orders the users, and the rows of repeated rounds. The same seed gives the same order.
	Seed uint64
	// Targets are base URLs of lab servers that run elsewhere and share a database: they are driven in place of servers of
	// our own, and their settings are theirs, so that only the scenarios single and multi can be run. Default: none.
	Targets []string
	// Engines are the flags that start or name Redis and the database, for the commands in the report that run a row
	// again. Default: none, which means the embedded ones.
	Engines []string
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
}

// validate fills the defaults in and refuses what can't be run.
func (c *Config) validate() error {
	if len(c.Targets) > 0 {
		c.Processes = len(c.Targets)
	}
	if c.Processes == 0 {
		c.Processes = 2
	}
	if c.Repeat == 0 {
		c.Repeat = 1
	}
	if c.Picks == nil {
		c.Picks = DefaultSet()
	}
	for _, n := range []struct {
		name          string
		value, lo, hi int
	}{
		{"processes", c.Processes, 1, maxProcesses}, {"repeat", c.Repeat, 1, maxRepeat}, {"stock", c.Stock, 0, maxUsers},
		{"users", c.Users, 0, maxUsers}, {"clicks", c.Clicks, 0, maxClicks}, {"workers", c.Workers, 0, maxWorkers},
		{"rate", c.Rate, 0, maxRate},
	} {
		if n.value < n.lo || n.value > n.hi {
			return bad("%s is %d, allowed are %d to %d", n.name, n.value, max(n.lo, 1), n.hi)
		}
	}
	return c.validateTimes()
}

func (c *Config) validateTimes() error {
	for name, d := range map[string]*time.Duration{"work": c.Work, "wait": c.Wait} {
		if d != nil && (*d < 0 || *d > time.Hour) {
			return bad("%s is %v, allowed are 0s to 1h", name, *d)
		}
	}
	if c.Warmup < 0 || c.Warmup > maxWarmup {
		return bad("warmup is %v, allowed are 0s to %v", c.Warmup, maxWarmup)
	}
	// The bound is the lock package's: below it no renewal could ever arrive in time.
	if c.TTL != nil && (*c.TTL < 10*ms || *c.TTL > time.Hour) {
		return bad("ttl is %v, allowed are 10ms to 1h", *c.TTL)
	}
	return nil
}

func (c Config) stage(name string) (Stage, error) {
	i := slices.IndexFunc(c.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		return Stage{}, bad("there is no stage %q", name)
	}
	return c.Stages[i], nil
}

func scenarioByName(name string) (Scenario, error) {
	var names []string
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, bad("there is no scenario %q; there are %s", name, strings.Join(names, ", "))
}

// ParseScenarios reads a list such as "single,multi", or "all". A name twice counts once.
func ParseScenarios(list string) ([]string, error) {
	var names []string
	if strings.TrimSpace(list) == "all" {
		for _, s := range Scenarios() {
			names = append(names, s.Name)
		}
		return names, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		s, err := scenarioByName(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

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
	// Repeat runs each row that many times. Default 1.
	Repeat int
	// Seed orders the users. The same seed gives the same order.
	Seed uint64
	// Engines are the flags that start or name Redis and the database, for the commands in the report that run a row
	// again. Default: none, which means the embedded ones.
	Engines []string
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
}

// validate fills the defaults in and refuses what can't be run.
func (c *Config) validate() error {
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
	// The bound is the lock package's: below it no renewal could ever arrive in time.
	if c.TTL != nil && (*c.TTL < 10*ms || *c.TTL > time.Hour) {
		return bad("ttl is %v, allowed are 10ms to 1h", *c.TTL)
	}
	return nil
}

// Plan is everything that is decided about a row before it runs.
type Plan struct {
	Stage     Stage
	Scenario  Scenario
	Claim     Claim
	Processes int
	Load
	Repeat  int // 1 for the first
	Seed    uint64
	Engines []string // as in Config
}

// Plans validates the configuration and lists the rows in the order of the report.
func (c Config) Plans() ([]Plan, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	var plans []Plan
	for _, p := range c.Picks {
		stage, err := c.stage(p.Stage)
		if err != nil {
			return nil, err
		}
		for _, name := range p.Scenarios {
			scenario, err := scenarioByName(name)
			if err != nil {
				return nil, err
			}
			if scenario.Processes == 0 && c.Processes < 2 {
				return nil, bad("scenario %s needs at least 2 processes", name)
			}
			for r := 1; r <= c.Repeat; r++ {
				plans = append(plans, c.plan(stage, scenario, r))
			}
		}
	}
	return plans, nil
}

func (c Config) plan(stage Stage, scenario Scenario, repeat int) Plan {
	p := Plan{
		Stage: stage, Scenario: scenario, Claim: stage.Claims[scenario.Name], Processes: scenario.Processes,
		Load: scenario.Load, Repeat: repeat, Seed: c.Seed + uint64(repeat) - 1, Engines: c.Engines,
	}
	if p.Processes == 0 {
		p.Processes = c.Processes
	}
	if stage.LongTTL && scenario.LongTTL != nil {
		p.Load = *scenario.LongTTL
	}
	if stage.UserKeyed && scenario.UserKeyedWorkers > 0 {
		p.Workers = scenario.UserKeyedWorkers
	}
	if stage.MaxWorkers > 0 {
		p.Workers = min(p.Workers, stage.MaxWorkers)
	}
	c.override(&p.Load)
	if !stage.Expires {
		p.TTL = 0
	}
	if stage.OneTry && c.Wait == nil {
		p.Wait = 0
	}
	return p
}

func (c Config) override(l *Load) {
	for _, n := range []struct {
		asked int
		to    *int
	}{{c.Stock, &l.Stock}, {c.Users, &l.Users}, {c.Clicks, &l.Clicks}, {c.Workers, &l.Workers}} {
		if n.asked > 0 {
			*n.to = n.asked
		}
	}
	for _, d := range []struct{ asked, to *time.Duration }{{c.Work, &l.Work}, {c.TTL, &l.TTL}, {c.Wait, &l.Wait}} {
		if d.asked != nil {
			*d.to = *d.asked
		}
	}
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

package loadtest

import (
	"math/rand/v2"
	"time"
)

// Plan is everything that is decided about a row before it runs.
type Plan struct {
	Stage     Stage
	Scenario  Scenario
	Claim     Claim
	Processes int
	Load
	Repeat  int // 1 for the first
	Order   int // its turn among all rows, from 1
	Seed    uint64
	Rate    int           // as in Config
	Warmup  time.Duration // 0: none
	Targets []string      // the servers to drive; nil: own ones are started
	Engines []string      // as in Config
}

// Plans validates the configuration and lists the rows in the order in which they run: with one round that of the
// report, with several the seed's own for each round, so that what changes over time does not always meet the same row.
func (c Config) Plans() ([]Plan, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	var plans []Plan
	for r := 1; r <= c.Repeat; r++ {
		round, err := c.round(r)
		if err != nil {
			return nil, err
		}
		if c.Repeat > 1 {
			rng := rand.New(rand.NewPCG(c.Seed, uint64(r)))
			rng.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		}
		plans = append(plans, round...)
	}
	for i := range plans {
		plans[i].Order = i + 1
	}
	return plans, nil
}

// round lists every row once, in the order of the report.
func (c Config) round(repeat int) ([]Plan, error) {
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
			if len(c.Targets) > 0 && !scenario.plain() {
				return nil, bad("scenario %s needs servers that compare starts itself; on targets there are single and multi", name)
			}
			if scenario.Processes == 0 && c.Processes < 2 {
				return nil, bad("scenario %s needs at least 2 processes", name)
			}
			plans = append(plans, c.plan(stage, scenario, repeat))
		}
	}
	return plans, nil
}

func (c Config) plan(stage Stage, scenario Scenario, repeat int) Plan {
	p := Plan{
		Stage: stage, Scenario: scenario, Claim: stage.Claims[scenario.Name], Processes: scenario.Processes,
		Load: scenario.Load, Repeat: repeat, Seed: c.Seed + uint64(repeat) - 1, Rate: c.Rate, Engines: c.Engines,
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
	if stage.FewOrders && scenario.FewOrdersHolds != nil {
		p.Holds = scenario.FewOrdersHolds
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
	if len(p.Holds) == 0 {
		p.Warmup = c.Warmup
	}
	if len(c.Targets) > 0 {
		p.Targets = c.Targets[:p.Processes]
		p.Work, p.TTL, p.Wait = 0, stage.TTL, stage.Wait
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

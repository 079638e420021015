package loadtest

import (
	"fmt"
	"slices"
	"time"
)

// Report is the result of a comparison; its JSON form is the machine-readable report.
type Report struct {
	Env    Env      `json:"env"`
	Config Settings `json:"config"`
	Seed   uint64   `json:"seed"`
	// Started is when the first row began, in UTC.
	Started time.Time `json:"started,omitzero"`
	// Missing is how many of the planned rows did not run, because the comparison was stopped.
	Missing int `json:"missing,omitempty"`
	// Rows are in the order of the stages and scenarios, repeats one after the other; Row.Order is the order of the runs.
	Rows []Row `json:"rows"`
	// Groups sum the repeats of each stage in each scenario up.
	Groups []Group `json:"summary"`
}

// Env is what the comparison ran on.
type Env struct {
	Go   string `json:"go"`
	OS   string `json:"os,omitempty"`
	Arch string `json:"arch,omitempty"`
	CPUs int    `json:"cpus"`
	// Commit is the revision that the program was built from, empty when the build recorded none; Modified tells that its
	// files had been changed since.
	Commit   string `json:"commit"`
	Modified bool   `json:"modified,omitempty"`
	Redis    Engine `json:"redis"`
	DB       Engine `json:"db"`
}

// Engine is one backend.
type Engine struct {
	Kind    string `json:"kind"`    // embedded, spawn, address, or target: that of servers elsewhere
	Version string `json:"version"` // name and version of what answered
}

// Settings is the configuration as it was asked for; 0 and "auto" stand for the scenario's preset.
type Settings struct {
	Stages    []string `json:"stages"`
	Scenarios []string `json:"scenarios"`
	Processes int      `json:"processes"`
	Stock     int      `json:"stock"`
	Users     int      `json:"users"`
	Clicks    int      `json:"clicks"`
	Workers   int      `json:"workers"`
	Work      string   `json:"work"`
	TTL       string   `json:"ttl"`
	Wait      string   `json:"wait"`
	Repeat    int      `json:"repeat"`
	Rate      int      `json:"rate"` // requests a second; 0: as fast as the workers are
	Warmup    string   `json:"warmup"`
	Targets   []string `json:"targets,omitempty"`
	Engines   []string `json:"engines,omitempty"` // the flags that start or name Redis and the database
}

// Settings describes the configuration for the report.
func (c Config) Settings() Settings {
	text := func(d *time.Duration) string {
		if d == nil {
			return "auto"
		}
		return d.String()
	}
	s := Settings{
		Stages: []string{}, Scenarios: []string{},
		Processes: c.Processes, Stock: c.Stock, Users: c.Users, Clicks: c.Clicks, Workers: c.Workers,
		Work: text(c.Work), TTL: text(c.TTL), Wait: text(c.Wait), Repeat: c.Repeat,
		Rate: c.Rate, Warmup: c.Warmup.String(), Targets: c.Targets, Engines: c.Engines,
	}
	for _, p := range c.Picks {
		s.Stages = append(s.Stages, p.Stage)
		for _, name := range p.Scenarios {
			if !slices.Contains(s.Scenarios, name) {
				s.Scenarios = append(s.Scenarios, name)
			}
		}
	}
	return s
}

// Report sorts the rows of a run of the configuration's plans and sums them up.
func (c Config) Report(env Env, started time.Time, rows []Row) Report {
	place := map[[2]string]int{}
	for i, p := range c.Picks {
		for k, name := range p.Scenarios {
			place[[2]string{p.Stage, name}] = i*len(Scenarios()) + k
		}
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		if at, bt := place[a.key()], place[b.key()]; at != bt {
			return at - bt
		}
		return a.Repeat - b.Repeat
	})
	return Report{
		Env: env, Config: c.Settings(), Seed: c.Seed, Started: started.UTC().Truncate(time.Second), Rows: rows, Groups: groups(rows),
	}
}

func (row Row) key() [2]string { return [2]string{row.Stage, row.Scenario} }

// machine is the system; older reports do not say it.
func (e Env) machine() string {
	if e.OS == "" {
		return "unknown system"
	}
	return e.OS + "/" + e.Arch
}

// commit is the revision for a reader.
func (e Env) commit() string {
	if e.Commit == "" {
		return "unknown"
	}
	short := e.Commit[:min(12, len(e.Commit))]
	if e.Modified {
		short += " with changes"
	}
	return short
}

// engines describes what a report ran on and which program made it, in a line.
func (r Report) engines() string {
	kind := func(e Engine) string {
		if e.Version == "" {
			return e.Kind
		}
		return fmt.Sprintf("%s (%s)", e.Version, e.Kind)
	}
	return fmt.Sprintf("Redis: %s. Database: %s. %s, %d CPUs, %s, seed %d. Commit %s.",
		kind(r.Env.Redis), kind(r.Env.DB), r.Env.machine(), r.Env.CPUs, r.Env.Go, r.Seed, r.Env.commit())
}

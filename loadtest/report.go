package loadtest

import "time"

// Report is the result of a comparison; its JSON form is the machine-readable report.
type Report struct {
	Env    Env      `json:"env"`
	Config Settings `json:"config"`
	Seed   uint64   `json:"seed"`
	Rows   []Row    `json:"rows"`
}

// Env is what the comparison ran on.
type Env struct {
	Go    string `json:"go"`
	CPUs  int    `json:"cpus"`
	Redis Engine `json:"redis"`
	DB    Engine `json:"db"`
}

// Engine is one backend.
type Engine struct {
	Kind    string `json:"kind"`    // embedded, spawn or address
	Version string `json:"version"` // name and version of what answered
}

// Settings is the configuration as it was asked for; 0 and "auto" stand for the scenario's preset.
type Settings struct {
	Processes int    `json:"processes"`
	Stock     int    `json:"stock"`
	Users     int    `json:"users"`
	Clicks    int    `json:"clicks"`
	Workers   int    `json:"workers"`
	Work      string `json:"work"`
	TTL       string `json:"ttl"`
	Wait      string `json:"wait"`
	Repeat    int    `json:"repeat"`
}

// Settings describes the configuration for the report.
func (c Config) Settings() Settings {
	text := func(d *time.Duration) string {
		if d == nil {
			return "auto"
		}
		return d.String()
	}
	return Settings{
		Processes: c.Processes, Stock: c.Stock, Users: c.Users, Clicks: c.Clicks, Workers: c.Workers,
		Work: text(c.Work), TTL: text(c.TTL), Wait: text(c.Wait), Repeat: c.Repeat,
	}
}

// Row is one stage in one scenario.
type Row struct {
	Stage     string `json:"stage"`
	Scenario  string `json:"scenario"`
	Processes int    `json:"processes"`
	Repeat    int    `json:"repeat"`

	Users  int     `json:"users"`
	Clicks int     `json:"clicks"`
	WorkMS float64 `json:"work_ms"`
	TTLMS  float64 `json:"ttl_ms"`
	WaitMS float64 `json:"wait_ms"`

	Requests int      `json:"requests"`
	Accepted int      `json:"accepted"`
	Rejected Rejected `json:"rejected"`
	// Errors are answers that no business rule gives, and requests without an answer from a process that was to live.
	Errors int `json:"errors"`

	InitialStock int `json:"initial_stock"`
	StockLeft    int `json:"stock_left"`
	Orders       int `json:"orders"`
	Oversold     int `json:"oversold"`
	Duplicates   int `json:"duplicates"`
	Undersold    int `json:"undersold"`
	Drift        int `json:"drift"`
	Unanswered   int `json:"unanswered"`

	Stuck           bool `json:"stuck"`
	MaxHolders      int  `json:"max_holders"`
	ForeignReleases int  `json:"foreign_releases"`

	Status string   `json:"status"`
	Judged []string `json:"judged"`

	RPS     float64 `json:"rps"`
	Latency Latency `json:"latency_ms"`

	// Outcome is empty for ok.
	Outcome   []string `json:"outcome"`
	Claim     Claim    `json:"claim"`
	AsClaimed bool     `json:"as_claimed"`
	Verdict   string   `json:"verdict"`
	Note      string   `json:"note"`
	// Commands run the row again by hand. A row that was measured by hand has none.
	Commands Commands `json:"commands,omitzero"`
	// Series is how the sale went on, sampled about every 100 ms, at most 200 samples. Empty for a row that did not run here.
	Series []Sample `json:"series,omitempty"`
}

// Latency of requests that got the unit and of those that were refused; mixing them would let quick refusals hide slow
// orders.
type Latency struct {
	Accepted Percentiles `json:"accepted"`
	Rejected Percentiles `json:"rejected"`
}

// AsClaimed tells whether every row is as its stage claims.
func (r Report) AsClaimed() bool {
	for _, row := range r.Rows {
		if !row.AsClaimed {
			return false
		}
	}
	return true
}

func newRow(p Plan) Row {
	claim := p.Claim
	claim.Must, claim.May = list(claim.Must), list(claim.May)
	return Row{
		Stage: p.Stage.Name, Scenario: p.Scenario.Name, Processes: p.Processes, Repeat: p.Repeat,
		Users: p.Users, Clicks: p.Clicks, InitialStock: p.Stock,
		WorkMS: milliseconds(p.Work), TTLMS: milliseconds(p.TTL), WaitMS: milliseconds(p.Wait),
		Claim: claim, Judged: []string{}, Outcome: []string{}, Commands: p.Commands(),
	}
}

// list makes an empty list show as [] in JSON.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// notApplicable is the row of a stage that can't run there.
func notApplicable(p Plan) Row {
	r := newRow(p)
	r.Status, r.Verdict, r.AsClaimed = StatusNA, "n/a: "+p.Claim.NA, true
	return r
}

func (r *Row) measured(p Plan, f facts, c counted) {
	r.Requests, r.Accepted, r.Rejected, r.Errors = f.tally.requests, f.tally.accepted, f.tally.rejected, f.tally.errors
	r.StockLeft, r.Orders = f.audit.StockLeft, c.orders
	r.Oversold, r.Duplicates, r.Undersold, r.Drift = c.oversold, c.duplicates, c.undersold, c.drift
	r.Unanswered, r.Stuck, r.MaxHolders, r.ForeignReleases = c.unanswered, f.stuck, f.holders, f.foreign
	if f.duration > 0 {
		r.RPS = float64(int(10*float64(r.Requests)/f.duration)) / 10
	}
	r.Series = f.series
	r.Latency = Latency{Accepted: f.tally.acceptedIn.percentiles(), Rejected: f.tally.rejectedIn.percentiles()}
}

package loadtest

import "math"

// Row is one stage in one scenario.
type Row struct {
	Stage     string `json:"stage"`
	Scenario  string `json:"scenario"`
	Processes int    `json:"processes"`
	Repeat    int    `json:"repeat"`
	// Order is the row's turn among all rows of the run, from 1.
	Order int `json:"order"`

	Users  int     `json:"users"`
	Clicks int     `json:"clicks"`
	WorkMS float64 `json:"work_ms"`
	TTLMS  float64 `json:"ttl_ms"`
	WaitMS float64 `json:"wait_ms"`
	// Rate of an open load in requests a second, 0 for a closed one, and how long the servers were warmed up.
	Rate     int     `json:"rate,omitempty"`
	WarmupMS float64 `json:"warmup_ms,omitempty"`

	Requests int      `json:"requests"`
	Accepted int      `json:"accepted"`
	Rejected Rejected `json:"rejected"`
	// Errors are answers that no business rule gives, and requests without an answer from a process that was to live.
	Errors int `json:"errors"`
	// Dropped requests of an open load could not be sent in time, because all workers were waiting for answers.
	Dropped int `json:"dropped"`

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

	RPS float64 `json:"rps"`
	// WrittenMS is how long after the last answer the last order was written, at most: it is found by asking. Absent
	// where nobody asked.
	WrittenMS int64   `json:"written_ms,omitzero"`
	Latency   Latency `json:"latency_ms"`
	// Histogram of the same latencies; absent where they were not measured.
	Histogram Histogram `json:"latency_histogram,omitzero"`

	// Outcome is empty for ok.
	Outcome   []string `json:"outcome"`
	Claim     Claim    `json:"claim"`
	AsClaimed bool     `json:"as_claimed"`
	Verdict   string   `json:"verdict"`
	Note      string   `json:"note"`
	Chinese   Chinese  `json:"-"`
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

// Histogram is the distribution of latencies. Buckets without an entry are left out.
type Histogram struct {
	Accepted []Bucket `json:"accepted"`
	Rejected []Bucket `json:"rejected"`
}

// IsZero tells that nothing was measured.
func (h Histogram) IsZero() bool { return len(h.Accepted)+len(h.Rejected) == 0 }

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
		Stage: p.Stage.Name, Scenario: p.Scenario.Name, Processes: p.Processes, Repeat: p.Repeat, Order: p.Order,
		Rate: p.Rate, WarmupMS: milliseconds(p.Warmup), Users: p.Users, Clicks: p.Clicks, InitialStock: p.Stock,
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
	r.ruled(StatusNA, pair{p.Claim.NA, p.Claim.NAChinese}.after("n/a: ", "不适用："))
	r.AsClaimed = true
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
	r.WrittenMS = int64(math.Ceil(1000 * f.written.Seconds()))
	r.Series, r.Dropped = f.series, f.dropped
	r.Histogram = Histogram{Accepted: f.tally.acceptedIn.histogram(), Rejected: f.tally.rejectedIn.histogram()}
	r.Latency = Latency{Accepted: f.tally.acceptedIn.percentiles(), Rejected: f.tally.rejectedIn.percentiles()}
}

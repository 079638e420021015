package loadtest

import (
	"slices"
	"time"
)

// Outcomes a row can have. No outcome at all is "ok".
const (
	Oversold       = "oversold"        // more orders than units
	Duplicates     = "duplicates"      // a user with more than one order
	Undersold      = "undersold"       // units left although enough users asked
	Stuck          = "stuck"           // nobody holds the lock and nobody can have it
	ForeignRelease = "foreign_release" // a holder removed another holder's lock
	Drift          = "drift"           // the counters do not add up
	Unanswered     = "unanswered"      // a client was told something that did not happen
	Errors         = "errors"          // more than 1 % of the answers were errors
)

// Outcomes lists every outcome in the order in which reports name them.
func Outcomes() []string {
	return []string{Oversold, Duplicates, Undersold, Stuck, ForeignRelease, Drift, Unanswered, Errors}
}

// Claim is what a stage declares for one scenario: the outcomes that must and those that may appear. An empty claim
// means ok. NA is the reason why the stage can't run there, also in Chinese.
type Claim struct {
	Must []string `json:"must"`
	May  []string `json:"may"`
	NA   string   `json:"na,omitempty"`

	NAChinese string `json:"-"`
}

func (c Claim) allows(outcome string) bool {
	return slices.Contains(c.Must, outcome) || slices.Contains(c.May, outcome)
}

// Met tells whether must ⊆ outcome ⊆ must ∪ may.
func (c Claim) Met(outcome []string) bool {
	return len(c.Missing(outcome)) == 0 && len(c.Unclaimed(outcome)) == 0
}

// Missing are the outcomes that must appear and did not.
func (c Claim) Missing(outcome []string) []string {
	return without(c.Must, func(o string) bool { return slices.Contains(outcome, o) })
}

// Unclaimed are the outcomes that appeared and may not.
func (c Claim) Unclaimed(outcome []string) []string { return without(outcome, c.allows) }

func without(list []string, drop func(string) bool) []string {
	var left []string
	for _, s := range list {
		if !drop(s) {
			left = append(left, s)
		}
	}
	return left
}

// Stage is what the load test has to know of a stage; the rest of it is the servers' business.
type Stage struct {
	Name string
	// UserKeyed: its lock is taken per user, so that different users run side by side.
	UserKeyed bool
	// LocalLock: its lock is a mutex of one process. The same key in another process is another lock.
	LocalLock bool
	// OneTry: its lock never waits, and a scenario does not make it.
	OneTry bool
	// Expires: its lock has a TTL, which a scenario may set.
	Expires bool
	// LongTTL: its TTL can't be a fraction of a second, because it counts whole seconds or asks several servers in turn.
	LongTTL bool
	// FewOrders: so few of its orders get as far as the write one by one, or so few in one process, that none may
	// pass a hold point there before it counts.
	FewOrders bool
	// MaxWorkers bounds the requests under way at once, 0: as the scenario says. It is for locks whose waiters ask
	// several servers again and again: a crowd of those splits the votes and measures nothing but itself.
	MaxWorkers int
	// TTL and Wait are its own, which servers that run elsewhere keep to. A scenario of ours sets others.
	TTL, Wait time.Duration
	// Claims by scenario, already those of the engine the run is on. None is the claim ok.
	Claims map[string]Claim
}

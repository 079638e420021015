package loadtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// measured builds the facts of a run in which each user clicked twice and was told the truth.
func measured(p Plan, left int, orders ...int) facts {
	f := facts{tally: newTally(p.Processes), audit: audit{InitialStock: p.Stock, StockLeft: left}, stopped: 1, written: ms}
	for i := range p.Users {
		n := 0
		if i < len(orders) {
			n = orders[i]
		}
		for range n {
			f.orders = append(f.orders, orderRow{UserID: number(i + 1), Status: "created"})
		}
		for c := range p.Clicks {
			a := soldOut
			if c < n {
				a = accepted
			}
			f.tally.add(outcome{user: int64(i + 1), process: (i + c) % p.Processes, answer: a, latency: ms}, false)
		}
	}
	f.audit.Orders = len(f.orders)
	return f
}

func small(stock, users int, c Claim) Plan {
	return Plan{
		Stage: Stage{Name: "s"}, Scenario: Scenario{Name: "multi"}, Claim: c, Processes: 2,
		Load: Load{Stock: stock, Users: users, Clicks: 2, Workers: 4},
	}
}

func TestJudge(t *testing.T) {
	broken := Claim{Must: []string{Oversold}, May: []string{Duplicates, Drift}}
	cases := []struct {
		name    string
		plan    Plan
		facts   func(Plan) facts
		status  string
		verdict string
		outcome []string
		claimed bool
	}{
		{"ok at the boundary: stock + 1 users", small(2, 3, Claim{}),
			func(p Plan) facts { return measured(p, 0, 1, 1) }, StatusRan, "ok", []string{}, true},
		{"one unit too many, stock still positive", small(2, 4, broken),
			func(p Plan) facts { return measured(p, 1, 1, 1, 1) }, StatusRan, "OVERSOLD 1, DRIFT -2", []string{Oversold, Drift}, true},
		{"a safe stage that oversells", small(2, 4, Claim{}),
			func(p Plan) facts { return measured(p, 0, 1, 1, 1) }, StatusRan, "OVERSOLD 1, DRIFT -1", []string{Oversold, Drift}, false},
		{"a broken stage that does not break", small(2, 4, broken),
			func(p Plan) facts { return measured(p, 0, 1, 1) }, StatusRan, "ok", []string{}, false},
		{"the same user twice", small(3, 4, Claim{Must: []string{Duplicates}}),
			func(p Plan) facts { return measured(p, 0, 2, 1) }, StatusRan, "DUPLICATES 1", []string{Duplicates}, true},
		{"busy leaves stock: not correct", small(3, 4, Claim{}),
			func(p Plan) facts { return measured(p, 2, 1) }, StatusRan, "UNDERSOLD 2", []string{Undersold}, false},
		{"fewer users than stock buy all they can", small(5, 3, Claim{}),
			func(p Plan) facts { return measured(p, 2, 1, 1, 1) }, StatusRan, "ok", []string{}, true},
		{"users up to stock void a claimed oversell", small(3, 3, broken),
			func(p Plan) facts { return measured(p, 0, 1, 1, 1) }, StatusNotJudged, "NOT JUDGED: oversold", []string{}, false},
		{"nothing sold", small(2, 3, Claim{}),
			func(p Plan) facts { return measured(p, 2) }, StatusInvalid, "INVALID: nothing was sold", []string{Undersold}, false},
		{"nothing sold, as claimed", small(2, 3, Claim{Must: []string{Undersold}}),
			func(p Plan) facts { return measured(p, 2) }, StatusRan, "UNDERSOLD 2", []string{Undersold}, true},
		{"nothing sold is not covered by may", small(2, 3, Claim{May: []string{Undersold}}),
			func(p Plan) facts { return measured(p, 2) }, StatusInvalid, "INVALID: nothing was sold", []string{Undersold}, false},
		{"stuck", small(2, 3, Claim{Must: []string{Stuck}, May: []string{Undersold}}),
			func(p Plan) facts { f := measured(p, 1, 1); f.stuck = true; return f }, StatusRan, "UNDERSOLD 1, STUCK", []string{Undersold, Stuck}, true},
		{"foreign release", small(2, 3, Claim{Must: []string{ForeignRelease}}),
			func(p Plan) facts { f := measured(p, 0, 1, 1); f.foreign = 4; return f }, StatusRan, "FOREIGN RELEASE 4", []string{ForeignRelease}, true},
		{"counters in Redis drift", small(2, 3, Claim{}),
			func(p Plan) facts { f := measured(p, 0, 1, 1); f.audit.Drift = 3; return f }, StatusRan, "DRIFT 3", []string{Drift}, false},
		{"told 201 without a row", small(2, 3, Claim{}), func(p Plan) facts {
			f := measured(p, 0, 1, 1)
			f.orders[1].UserID = 3
			return f
		}, StatusRan, "UNANSWERED 2", []string{Unanswered}, false},
		{"a dead child", small(2, 3, Claim{}), func(p Plan) facts {
			f := measured(p, 0, 1, 1)
			f.deaths = map[int]string{1: "signal: killed"}
			return f
		}, StatusInvalid, "INVALID: process p2 died: signal: killed", []string{}, false},
		{"a child that served nothing", small(2, 3, Claim{}), func(p Plan) facts {
			f := measured(p, 0, 1, 1)
			f.tally.served[1] = 0
			return f
		}, StatusInvalid, "INVALID: process p2 served nothing", []string{}, false},
		{"errors", small(2, 3, Claim{}), func(p Plan) facts {
			f := measured(p, 0, 1, 1)
			f.tally.errors, f.tally.details = 2, map[string]int{"500 internal": 2}
			return f
		}, StatusInvalid, "INVALID: 2 of 6 requests failed: 500 internal (2 times)", []string{Errors}, false},
		{"requests that were never sent", small(2, 3, Claim{}), func(p Plan) facts {
			f := measured(p, 0, 1, 1)
			f.tally.requests--
			return f
		}, StatusInvalid, "INVALID: 5 of 6 requests were sent", []string{}, false},
		{"audit and list disagree", small(2, 3, Claim{}), func(p Plan) facts {
			f := measured(p, 0, 1, 1)
			f.audit.Orders = 1
			return f
		}, StatusInvalid, "INVALID: the audit counts 1 orders of 2, the list has 2 of 2", []string{}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := judge(c.plan, c.facts(c.plan))
			require.Equal(t, c.verdict, r.Verdict)
			require.Equal(t, c.status, r.Status)
			require.Equal(t, c.outcome, list(r.Outcome))
			require.Equal(t, c.claimed, r.AsClaimed)
			bilingual(t, r)
		})
	}
}

// S-10: with an absolute update the stock ends positive although 2,500 units too many were sold.
func TestOversoldIsCountedInOrdersNotInStock(t *testing.T) {
	p := small(500, 3000, Claim{Must: []string{Oversold}, May: []string{Drift}})
	all := make([]int, p.Users)
	for i := range all {
		all[i] = 1
	}
	r := judge(p, measured(p, 437, all...))
	require.Equal(t, 2500, r.Oversold)
	require.Equal(t, 437, r.StockLeft)
	require.True(t, r.AsClaimed)
}

func TestPlannedDeathIsNoFault(t *testing.T) {
	p := small(2, 3, Claim{})
	p.Scenario.Load.Holds = []string{"critical=kill"}
	f := measured(p, 0, 1, 1)
	require.Equal(t, "INVALID: the planned crash did not happen", judge(p, f).Verdict)
	f.deaths = map[int]string{0: "signal: killed"}
	f.tally.served[0] = 0
	require.Equal(t, "ok", judge(p, f).Verdict)
	f.deaths[1] = "signal: killed"
	require.Equal(t, "INVALID: process p2 died: signal: killed", judge(p, f).Verdict)
}

func TestPlannedStopHasToHappen(t *testing.T) {
	p := small(2, 3, Claim{})
	p.Scenario.Load.Holds = []string{"commit=stop:600ms"}
	f := measured(p, 0, 1, 1)
	f.stopped = 0
	require.Equal(t, "INVALID: the planned stop did not happen", judge(p, f).Verdict)
}

// The laws of the count: it is exact for any set of orders, and exactly the honest run is ok.
func TestCountLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := small(rapid.IntRange(1, 20).Draw(t, "stock"), rapid.IntRange(1, 40).Draw(t, "users"), Claim{})
		orders := rapid.SliceOfN(rapid.IntRange(0, 2), p.Users, p.Users).Draw(t, "orders")
		sold, buyers := 0, 0
		for _, n := range orders {
			sold += n
			buyers += min(n, 1)
		}
		left := rapid.IntRange(0, p.Stock).Draw(t, "left")
		f := measured(p, left, orders...)
		c := count(p, f)
		require.Equal(t, sold, c.orders)
		require.Equal(t, sold-buyers, c.duplicates)
		require.Equal(t, p.Stock-left-sold, c.drift)
		require.Zero(t, c.unanswered)
		require.False(t, c.oversold > 0 && c.undersold > 0, "both over- and undersold")
		honest := sold == min(p.Stock, p.Users) && sold == buyers && left == p.Stock-sold
		r := judge(p, f)
		require.Equal(t, honest, r.Verdict == "ok", "%s", r.Verdict)
		require.Equal(t, honest, r.AsClaimed)
	})
}

// A claim is met exactly when must ⊆ outcome ⊆ must ∪ may.
func TestClaimLaws(t *testing.T) {
	some := rapid.SliceOfDistinct(rapid.SampledFrom(Outcomes()), rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		c := Claim{Must: some.Draw(t, "must"), May: some.Draw(t, "may")}
		got := some.Draw(t, "outcome")
		in := func(s string, l []string) bool {
			return len(without(l, func(x string) bool { return x == s })) < len(l)
		}
		met := true
		for _, o := range Outcomes() {
			if in(o, c.Must) && !in(o, got) || in(o, got) && !in(o, c.Must) && !in(o, c.May) {
				met = false
			}
		}
		require.Equal(t, met, c.Met(got), fmt.Sprint(c, got))
	})
}

func TestUnanswered(t *testing.T) {
	cases := []struct {
		name    string
		answers []answer
		rows    int
		want    int
	}{
		{"told and has it", []answer{accepted, alreadyOrdered}, 1, 0},
		{"refused and has none", []answer{busy, soldOut}, 0, 0},
		{"told, has none", []answer{accepted}, 0, 1},
		{"told, has none, and one click was cut off", []answer{accepted, unknown}, 0, 1},
		{"refused but has one", []answer{lost, busy}, 1, 1},
		{"cut off and has one", []answer{unknown, busy}, 1, 0},
		{"cut off and has none", []answer{unknown}, 0, 0},
		{"has one but never asked", nil, 1, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			y := newTally(1)
			for _, a := range c.answers {
				y.add(outcome{user: 7, answer: a}, true)
			}
			rows := map[int64]int{}
			if c.rows > 0 {
				rows[7] = c.rows
			}
			require.Equal(t, c.want, y.unanswered(rows))
		})
	}
}

package loadtest

import (
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	vegeta "github.com/tsenart/vegeta/v12/lib"
	"pgregory.net/rapid"
)

// Every user clicks the right number of times, in neighbouring requests, each at another process while there are some.
func TestClickPlanLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Plan{Processes: rapid.IntRange(1, 5).Draw(t, "processes"), Seed: rapid.Uint64().Draw(t, "seed")}
		p.Users, p.Clicks = rapid.IntRange(1, 50).Draw(t, "users"), rapid.IntRange(1, 4).Draw(t, "clicks")
		plan := clickPlan(p)
		require.Len(t, plan, p.Users*p.Clicks)
		seen := map[int64]bool{}
		for i := 0; i < len(plan); i += p.Clicks {
			used := map[int]bool{}
			for n, c := range plan[i : i+p.Clicks] {
				require.Equal(t, plan[i].user, c.user)
				require.Equal(t, n, c.n)
				used[c.process] = true
			}
			require.Len(t, used, min(p.Clicks, p.Processes))
			require.False(t, seen[plan[i].user])
			seen[plan[i].user] = true
		}
		require.NotContains(t, seen, probeUser(p))
	})
}

func TestSeedDecidesTheOrder(t *testing.T) {
	p := Plan{Processes: 2, Seed: 7, Load: Load{Users: 100, Clicks: 2}}
	other := p
	other.Seed = 8
	require.Equal(t, clickPlan(p), clickPlan(p))
	require.NotEqual(t, clickPlan(p), clickPlan(other))
}

// vegeta numbers a request before it asks for its click. However its workers overtake each other in between, results in
// the order of their numbers are the clicks in the seed's order.
func TestRequestsAreNumberedInTheSeedsOrder(t *testing.T) {
	p := Plan{Processes: 2, Seed: 7, Load: Load{Users: 500, Clicks: 2}}
	open := openLoop{ctx: t.Context(), pacer: vegeta.ConstantPacer{Freq: 1e6, Per: time.Second}, workers: 1000}
	for name, pacer := range map[string]func(*targeter) vegeta.Pacer{
		"closed": func(s *targeter) vegeta.Pacer { return closedLoop{t.Context(), s} },
		"open":   func(s *targeter) vegeta.Pacer { open.clicks, open.dropped = s, func() {}; return &open },
	} {
		t.Run(name, func(t *testing.T) {
			source := &targeter{voucher: "5", urls: []string{"http://a", "http://b"}, dead: func(int) bool { return false }, left: clickPlan(p)}
			answers := &http.Client{Transport: answering{}}
			got := map[uint64]string{}
			late := func(tgt *vegeta.Target) error {
				runtime.Gosched()
				return source.next(tgt)
			}
			attacker := vegeta.NewAttacker(vegeta.Client(answers), vegeta.Workers(32), vegeta.MaxWorkers(32))
			for r := range attacker.Attack(late, pacer(source), 0, "") {
				got[r.Seq] = r.URL
			}
			var sent []string
			for seq := range len(got) {
				sent = append(sent, got[uint64(seq)])
			}
			var planned []string
			for _, c := range clickPlan(p) {
				u := orderURL(source.urls[c.process], "5") + "?click=" + c.id()
				if slices.Contains(sent, u) { // an open load drops what a busy machine sends too late
					planned = append(planned, u)
				}
			}
			require.NotEmpty(t, sent)
			require.Equal(t, planned, sent)
		})
	}
}

// answering answers every request at once.
type answering struct{}

func (answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
}

func TestTargeterPassesTheDeadOver(t *testing.T) {
	dead := map[int]bool{}
	next := &targeter{
		voucher: "5", urls: []string{"http://a", "http://b"}, dead: func(i int) bool { return dead[i] },
		left:     []click{{user: 1, process: 0}, {user: 1, n: 1, process: 1}, {user: 2, process: 0}},
		reserved: 3,
	}
	var tgt vegeta.Target
	require.NoError(t, next.next(&tgt))
	require.Equal(t, "http://a/api/v1/vouchers/5/orders?click=1.0", tgt.URL)
	require.Equal(t, "1", tgt.Header.Get("X-User-ID"))
	dead[0] = true
	for _, want := range []string{"http://b/api/v1/vouchers/5/orders?click=1.1", "http://b/api/v1/vouchers/5/orders?click=2.0"} {
		require.NoError(t, next.next(&tgt))
		require.Equal(t, want, tgt.URL)
	}
	require.ErrorIs(t, next.next(&tgt), vegeta.ErrNoTargets, "targets are never cycled")
}

func TestReadAnswer(t *testing.T) {
	code := func(c string) []byte { return []byte(`{"error":{"code":"` + c + `","message":"x"}}`) }
	for _, c := range []struct {
		status int
		body   []byte
		want   answer
	}{
		{201, nil, accepted}, {202, nil, accepted}, {0, nil, unknown},
		{409, code("sold_out"), soldOut}, {409, code("already_ordered"), alreadyOrdered},
		{409, code("order_in_progress"), busy}, {503, code("busy"), busy}, {503, code("gave_up"), gaveUp},
		{503, code("lock_lost"), lost}, {500, code("internal"), failed}, {200, []byte("{}"), failed},
		{404, []byte("not json"), failed}, {403, code("ended"), failed},
	} {
		got, _ := readAnswer(c.status, c.body, "")
		require.Equal(t, c.want, got, "%d %s", c.status, c.body)
	}
}

package loadtest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// click is one request: the n-th of a user, meant for a process.
type click struct {
	user    int64
	n       int
	process int
}

// id names the click in its URL, so that a result can be told whose it is.
func (c click) id() string { return fmt.Sprintf("%d.%d", c.user, c.n) }

// clickPlan puts the users in the seed's order. A user's clicks are neighbours and go to different processes, because
// shuffled clicks hardly ever meet: a second order of the same user would be found by the check before it.
func clickPlan(p Plan) []click {
	rng := rand.New(rand.NewPCG(p.Seed, 0))
	plan := make([]click, 0, p.Users*p.Clicks)
	for position, user := range rng.Perm(p.Users) {
		for n := range p.Clicks {
			plan = append(plan, click{user: int64(user) + 1, n: n, process: (position + n) % p.Processes})
		}
	}
	return plan
}

// probeUser is a user that no plan contains.
func probeUser(p Plan) int64 { return int64(p.Users) + 1 }

// targeter hands the clicks out in order, each once. The process of a click is decided when it is handed out: a
// server that has died is passed over, as a load balancer would.
type targeter struct {
	voucher string
	urls    []string
	dead    func(process int) bool

	mu   sync.Mutex
	left []click
}

func (t *targeter) next(tgt *vegeta.Target) error {
	t.mu.Lock()
	if len(t.left) == 0 {
		t.mu.Unlock()
		return vegeta.ErrNoTargets
	}
	c := t.left[0]
	t.left = t.left[1:]
	t.mu.Unlock()
	*tgt = vegeta.Target{
		Method: http.MethodPost,
		URL:    orderURL(t.urls[t.route(c.process)], t.voucher) + "?click=" + c.id(),
		Header: userHeader(c.user),
	}
	return nil
}

func (t *targeter) route(process int) int {
	for i := range t.urls {
		if p := (process + i) % len(t.urls); !t.dead(p) {
			return p
		}
	}
	return process
}

func orderURL(base, voucher string) string { return base + "/api/v1/vouchers/" + voucher + "/orders" }

func userHeader(user int64) http.Header {
	return http.Header{"X-User-Id": {strconv.FormatInt(user, 10)}}
}

package loadtest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
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

// targeter hands the clicks out in order, each once. The pacer decides which are sent: it reserves or drops the next one
// that waits, and a worker then takes the first that is reserved. The process of a click is decided when it is handed
// out: a server that has died is passed over, as a load balancer would.
type targeter struct {
	voucher string
	urls    []string
	dead    func(process int) bool
	stage   string         // asked for in each request, empty: the servers' own
	again   func() []click // more clicks when all were handed out; nil: there are no more

	mu       sync.Mutex
	taken    sync.Cond // a click was handed out
	left     []click
	reserved int // of left, from the front
}

// handOver waits until all reserved clicks are handed out. vegeta numbers a request before it asks for its click: workers
// that overtake each other in between would number the requests in another order than the seed's.
func (t *targeter) handOver() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken.L = &t.mu
	for t.reserved > 0 {
		t.taken.Wait()
	}
}

// waiting is how many clicks are neither reserved nor handed out.
func (t *targeter) waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reserved == len(t.left) && t.again != nil {
		t.left = append(t.left, t.again()...)
	}
	return len(t.left) - t.reserved
}

func (t *targeter) reserve() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved++
}

// drop takes away the next click that waits.
func (t *targeter) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	copy(t.left[1:t.reserved+1], t.left[:t.reserved])
	t.left = t.left[1:]
}

func (t *targeter) next(tgt *vegeta.Target) error {
	t.mu.Lock()
	if t.reserved == 0 {
		t.mu.Unlock()
		return vegeta.ErrNoTargets
	}
	c := t.left[0]
	t.left = t.left[1:]
	t.reserved--
	t.mu.Unlock()
	t.taken.Signal()
	*tgt = vegeta.Target{
		Method: http.MethodPost,
		URL:    orderURL(t.urls[t.route(c.process)], t.voucher) + "?click=" + c.id() + stageQuery(t.stage),
		Header: userHeader(c.user),
	}
	return nil
}

// stageQuery asks a lab server for a stage.
func stageQuery(stage string) string {
	if stage == "" {
		return ""
	}
	return "&stage=" + url.QueryEscape(stage)
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

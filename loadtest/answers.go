package loadtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// answer is what a click's client was told.
type answer string

const (
	accepted       answer = "accepted"
	soldOut        answer = "sold_out"
	alreadyOrdered answer = "already_ordered"
	busy           answer = "busy" // also order_in_progress: the user's own lock was busy
	gaveUp         answer = "gave_up"
	lost           answer = "lost"
	failed         answer = "error"   // any other answer
	unknown        answer = "unknown" // no answer: the order may exist or not
)

// byCode are the refusals that are part of the service's business.
var byCode = map[string]answer{
	"sold_out": soldOut, "already_ordered": alreadyOrdered, "busy": busy, "order_in_progress": busy,
	"gave_up": gaveUp, "lock_lost": lost,
}

// outcome is one click's result.
type outcome struct {
	user    int64
	process int
	answer  answer
	latency time.Duration
	detail  string // of an error
}

// readAnswer classifies an HTTP answer. status 0 stands for none.
func readAnswer(status int, body []byte, failure string) (answer, string) {
	switch status {
	case 0:
		return unknown, failure
	case http.StatusCreated, http.StatusAccepted:
		return accepted, ""
	}
	var e struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return failed, fmt.Sprintf("status %d", status)
	}
	if a, ok := byCode[e.Error.Code]; ok {
		return a, ""
	}
	return failed, fmt.Sprintf("%d %s", status, e.Error.Code)
}

// whose reads the user out of a click's URL and finds the process it went to.
func whose(target string, processes map[string]int) (user int64, process int, err error) {
	u, err := url.Parse(target)
	if err != nil {
		return 0, 0, err
	}
	id, _, _ := strings.Cut(u.Query().Get("click"), ".")
	if user, err = strconv.ParseInt(id, 10, 64); err != nil {
		return 0, 0, fmt.Errorf("click in %q: %w", target, err)
	}
	process, ok := processes[u.Host]
	if !ok {
		return 0, 0, fmt.Errorf("no process serves %q", u.Host)
	}
	return user, process, nil
}

// Rejected counts refusals by reason.
type Rejected struct {
	SoldOut        int `json:"sold_out"`
	AlreadyOrdered int `json:"already_ordered"`
	Busy           int `json:"busy"` // with order_in_progress
	GaveUp         int `json:"gave_up"`
	Lost           int `json:"lost"`
}

// tally adds outcomes up.
type tally struct {
	requests, accepted, errors int
	rejected                   Rejected
	served                     []int // answers by process
	cut                        int   // requests without an answer at a process that was to die
	details                    map[string]int
	told                       map[int64]told
	acceptedIn, rejectedIn     latencies
}

// told is what one user heard over all clicks.
type told struct{ accepted, unknown bool }

func newTally(processes int) *tally {
	return &tally{served: make([]int, processes), details: map[string]int{}, told: map[int64]told{}}
}

// add counts one outcome. mayDie tells whether its process was planned to die.
func (t *tally) add(o outcome, mayDie bool) {
	t.requests++
	user := t.told[o.user]
	switch o.answer {
	case accepted:
		t.accepted++
		user.accepted = true
		t.acceptedIn.add(o.latency)
	case unknown:
		user.unknown = true
		if mayDie {
			t.cut++
		} else {
			t.fail(o)
		}
	case failed:
		t.fail(o)
	default:
		t.rejected.add(o.answer)
		t.rejectedIn.add(o.latency)
	}
	t.told[o.user] = user
	if o.answer != unknown {
		t.served[o.process]++
	}
}

func (t *tally) fail(o outcome) {
	t.errors++
	t.details[o.detail]++
}

// add counts one refusal.
func (r *Rejected) add(a answer) {
	switch a {
	case soldOut:
		r.SoldOut++
	case alreadyOrdered:
		r.AlreadyOrdered++
	case busy:
		r.Busy++
	case gaveUp:
		r.GaveUp++
	case lost:
		r.Lost++
	}
}

// unanswered counts the users whose answers do not match the orders: told accepted without a row, or a row although
// every click was told that it failed. A click without an answer excuses a row, never the lack of one that was promised.
func (t *tally) unanswered(rows map[int64]int) int {
	n := 0
	for user, told := range t.told {
		if has := rows[user] > 0; told.accepted != has && !(has && told.unknown) {
			n++
		}
	}
	for user := range rows {
		if _, asked := t.told[user]; !asked {
			n++
		}
	}
	return n
}

package lock

import (
	"sync"
	"time"
)

// trail is what one acquire has sent to one server. A copy of the command whose answer never came may be executed much
// later, even after the release, and create the key again; so the trail is followed until nothing of it can leave a
// key any more.
type trail struct {
	mu        sync.Mutex
	sent      int       // copies
	open      int       // of them without an outcome yet
	lost      int       // of them that ended without an answer: they may still be executed
	held      bool      // a copy took the lock
	withdrawn bool      // nobody wants the lock, or not any more: no further copy is sent
	last      time.Time // a copy was begun or ended; none was sent later
}

// begin notes a copy that is going to be sent. False: it must not be.
func (t *trail) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.withdrawn {
		return false
	}
	t.sent++
	t.open++
	t.last = time.Now()
	return true
}

// end notes a copy's outcome and reports whether the lock was withdrawn meanwhile.
func (t *trail) end(held, executed bool) (withdrawn bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	t.last = time.Now()
	t.held = t.held || held
	if !executed {
		t.lost++
	}
	return t.withdrawn
}

// withdraw forbids further copies.
func (t *trail) withdraw() {
	if t != nil {
		t.mu.Lock()
		t.withdrawn = true
		t.mu.Unlock()
	}
}

// left says whether there may be a key, and whether a copy has no outcome yet.
func (t *trail) left() (key, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held || t.lost > 0, t.open > 0
}

// settled says whether no key is left and none can come, after v was the answer to a compare-and-delete. A key that
// was met may be the work of any copy; so it proves something about the others only when there are none.
func (t *trail) settled(v verdict) bool {
	if t == nil {
		return v != unknown
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open+t.lost == 0 {
		return v != unknown
	}
	return t.sent == 1 && v == kept
}

// until is when the key of the last copy has lapsed.
func (t *trail) until(ttl time.Duration) time.Time {
	if t == nil {
		return time.Time{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last.Add(ttl)
}

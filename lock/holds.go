package lock

import "sync"

// Names of the hold points inside locks. Those of the order flow are named where the flow is.
const (
	// HoldAcquireCheck lies between the look and the first write of an acquire that looks first.
	HoldAcquireCheck = "acquire-check"
	// HoldAcquireBetween lies between the two writes of an acquire that needs two.
	HoldAcquireBetween = "acquire-between"
	// HoldRelease lies before the first command of a release.
	HoldRelease = "release"
	// HoldReleaseBetween lies between the check and the removal of a release that needs two commands.
	HoldReleaseBetween = "release-between"
)

// Holds lets a lab run or a test stop the work at a named point: pause it, kill the process, signal a test.
// It is the one mechanism for that in the whole program. A nil *Holds is off. Safe for concurrent use.
type Holds struct {
	mu     sync.Mutex
	points map[string]*hold
}

type hold struct {
	skip, times int
	act         func()
}

// On makes the reaching of point call act: not the first skip times, then times times (negative: always).
// act runs on the goroutine that reached the point and holds it until it returns.
func (h *Holds) On(point string, skip, times int, act func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.points == nil {
		h.points = map[string]*hold{}
	}
	h.points[point] = &hold{skip: skip, times: times, act: act}
}

// Reach says that the work has come to point.
func (h *Holds) Reach(point string) {
	if h == nil {
		return
	}
	if act := h.take(point); act != nil {
		act()
	}
}

func (h *Holds) take(point string) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.points[point]
	if p == nil || p.times == 0 {
		return nil
	}
	if p.skip > 0 {
		p.skip--
		return nil
	}
	if p.times > 0 {
		p.times--
	}
	return p.act
}

package loadtest

import (
	"strings"
	"time"
)

// Load is the size and the weather of one row.
type Load struct {
	Stock   int // units on sale
	Users   int // distinct users that ask
	Clicks  int // requests of each user, at the same moment
	Workers int // requests under way at once
	// Work is how long a holder works between its reads and its write.
	Work time.Duration
	// TTL of the lock, where it has one.
	TTL time.Duration
	// Wait is how long a request waits for the lock; a stage that tries once keeps that.
	Wait time.Duration
	// Holds are the hold points of the first process alone, as for `serve --hold`.
	Holds []string
}

// Scenario is the weather a stage is run in. Every stage meets the same.
type Scenario struct {
	Name  string
	About string
	// Processes is how many servers run; 0: as many as the run asks for, at least two.
	Processes int
	Load
	// UserKeyedWorkers replaces Workers for stages with a lock per user, 0: no other number. Such stages work side by
	// side, and a long Work times 64 would only measure how the database queues.
	UserKeyedWorkers int
	// FewOrdersHolds replaces Holds for stages of which too few orders get as far as the write to let the first ones
	// pass; nil: by nothing.
	FewOrdersHolds []string
	// LongTTL replaces Load for locks whose TTL can't be a fraction of a second.
	LongTTL *Load
	// Nested lets the order method and the save method it calls each take the lock.
	Nested bool
}

// Kills tells whether the scenario plans the death of the first process.
func (s Scenario) Kills() bool { return s.holds("=kill") }

// Stops tells whether the scenario plans to stop the first process for a while.
func (s Scenario) Stops() bool { return s.holds("=stop") }

// plain tells whether the scenario asks nothing of its servers but their number, so that any servers will do.
func (s Scenario) plain() bool { return s.Name == "single" || s.Name == "multi" }

func (s Scenario) holds(action string) bool {
	for _, h := range s.Holds {
		if strings.Contains(h, action) {
			return true
		}
	}
	return false
}

const ms = time.Millisecond

// Scenarios lists the presets in the order of reports. The numbers are chosen so that a stage that can break does so
// in practically every run on two cores, and a stage that is safe has the time to sell everything.
func Scenarios() []Scenario {
	// 5 ms of work is what makes a race certain: with none, several broken stages survive most runs.
	crowd := Load{Stock: 100, Users: 400, Clicks: 2, Workers: 64, Work: 5 * ms, TTL: 30 * time.Second, Wait: 30 * time.Second}
	return []Scenario{
		{Name: "single", About: "one process", Processes: 1, Load: crowd},
		{Name: "multi", About: "several processes", Load: crowd},
		slow(), late(), crash(), nested(),
	}
}

// slow: 100 ms lie between the end of the lease and the end of the work, far more than a scheduler's hiccup.
func slow() Scenario {
	return Scenario{
		Name: "slow", About: "every holder works longer than the TTL", UserKeyedWorkers: 8,
		Load: Load{Stock: 10, Users: 40, Clicks: 2, Workers: 64, Work: 300 * ms, TTL: 200 * ms, Wait: 30 * time.Second},
		LongTTL: &Load{
			Stock: 4, Users: 16, Clicks: 2, Workers: 64, Work: 1300 * ms, TTL: time.Second, Wait: 30 * time.Second,
		},
	}
}

// late: the first process stands still for several TTLs between its last look at the lease and its COMMIT, long enough
// for a waiter that polls slowly on a busy machine to get the lock and read, and three times, because the next holder
// can be in the same process and stand still with it. Everybody else is in time. It also dawdles before its releases,
// and between their two commands: first of all, while there is stock and somebody is at work under the lock at any
// moment, and often, because whom the late removal hits is chance.
func late() Scenario {
	return Scenario{
		Name: "late", About: "a few holders outlive their TTL and pause at their release", UserKeyedWorkers: 8,
		Load: Load{
			Stock: 10, Users: 40, Clicks: 2, Workers: 64, Work: 100 * ms, TTL: 200 * ms, Wait: 30 * time.Second,
			Holds: []string{"commit=stop:1s,skip=2,times=3", "release=pause:250ms,skip=2,times=3", "release-between=pause:250ms,times=12"},
		},
		FewOrdersHolds: []string{"commit=stop:1s,times=3", "release=pause:250ms,skip=2,times=3", "release-between=pause:250ms,times=12"},
		LongTTL: &Load{
			Stock: 4, Users: 16, Clicks: 2, Workers: 64, Work: 500 * ms, TTL: time.Second, Wait: 30 * time.Second,
			Holds: []string{"commit=stop:3s,times=2", "release=pause:1250ms,times=3", "release-between=pause:1250ms,times=12"},
		},
	}
}

// nested: the wait is well below the TTL, so that a lock without re-entry waits for itself in vain and not until its
// own lease has run out.
func nested() Scenario {
	return Scenario{
		Name: "nested", About: "a method that holds the lock calls a method that takes it", Nested: true,
		Load: Load{Stock: 5, Users: 10, Clicks: 2, Workers: 64, Work: 5 * ms, TTL: 3 * time.Second, Wait: time.Second},
	}
}

// crash: the wait is longer than the TTL, so that whoever waits behind the dead holder of a lock that expires gets it.
func crash() Scenario {
	return Scenario{
		Name: "crash", About: "one process kills itself inside the critical section",
		Load: Load{
			Stock: 100, Users: 160, Clicks: 2, Workers: 64, Work: 5 * ms, TTL: time.Second, Wait: 1500 * ms,
			Holds: []string{"acquire-between=kill,skip=2", "critical=kill,skip=2"},
		},
		FewOrdersHolds: []string{"acquire-between=kill,skip=2", "critical=kill"},
	}
}

// Pick is a stage in some scenarios.
type Pick struct {
	Stage     string
	Scenarios []string
}

// DefaultSet are the stages and scenarios that tell the main steps of the ladder apart, in about a minute.
func DefaultSet() []Pick {
	return []Pick{
		{"none", []string{"single"}},
		{"mutex", []string{"single", "multi"}},
		{"setnx", []string{"multi", "crash"}},
		{"lua", []string{"multi", "slow"}},
		{"user-lock", []string{"multi"}},
		{"redislock", []string{"multi", "slow", "nested"}},
		{"watchdog", []string{"multi", "slow", "crash", "nested"}},
		{"conditional", []string{"multi", "slow", "crash"}},
	}
}

// Package locktest is a conformance suite for locks: laws under three headings (safety, freedom from deadlock, fault
// tolerance), each a small run against a lock with one right outcome. Every lock declares which laws it breaks, with
// the reason; all others it must keep. Keeping more than declared is a failure too, so that the declaration stays true.
//
// Faults are made on purpose, by hold points between two commands, by a proxy in front of Redis, by signals and by
// administrative commands, never by load. Laws assert order, numbers of commands, or bounds far from what they see.
package locktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/lock"
)

// Locker is what the laws need of a lock. Errors are compared with those of package lock.
type Locker interface {
	Acquire(ctx context.Context, key string) (Lease, error)
	Close(ctx context.Context) error
}

// Lease is what they need of a lease; see lock.Lease.
type Lease interface {
	Context() context.Context
	Fence() int64
	Remaining() time.Duration
	Check() error
	Release(ctx context.Context) error
}

// Open makes the lock under test; every call stands for another process.
type Open func(r lock.Resources, o lock.Options) (Locker, error)

// Kind is the lock of that name in lock's registry.
func Kind(name string) Open {
	return func(r lock.Resources, o lock.Options) (Locker, error) {
		opened, err := lock.Open(name, r, o)
		return registered{opened}, err
	}
}

type registered struct{ lock.Opened }

func (r registered) Acquire(ctx context.Context, key string) (Lease, error) {
	lease, err := r.Opened.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// Heading is a group of laws.
type Heading string

// The headings, as in the literature on distributed locks.
const (
	Safety   Heading = "safety"
	Deadlock Heading = "freedom from deadlock"
	Faults   Heading = "fault tolerance"
)

// Law is one promise and the run that shows it.
type Law struct {
	Name    string // short, unique; as in Want
	Heading Heading
	Text    string // the promise
	Rows    string // of the list of reported faults, as L-19
	// Real: the embedded Redis does not count, because the law needs what only a server has.
	Real bool
	// Alone: the law stops or flushes servers, so that it needs its own.
	Alone bool
	run   func(w *World)
}

// Want declares what a lock keeps.
type Want struct {
	// Breaks are the laws that the lock does not keep, by name, with the reason.
	Breaks map[string]string
	// Skips are the laws that make no sense for it, by name, with the reason.
	Skips map[string]string
	// Nodes is how many independent Redis servers it lives in. Default 1.
	Nodes int
}

// Laws lists the laws in the order of the table.
func Laws() []Law { return laws }

// Run holds a lock against every law, on the embedded Redis and on a real redis-server where there is one on PATH.
// Without one those parts are skipped, or fail if SECKILL_REQUIRE_SERVERS is 1.
func Run(t *testing.T, open Open, want Want) {
	t.Helper()
	check(t, want)
	t.Run("embedded", func(t *testing.T) {
		runOn(t, open, want, embedded(t, want.nodes()), func(l Law) bool { return !l.Real && !l.Alone })
	})
	t.Run("server", func(t *testing.T) {
		needServer(t)
		runOn(t, open, want, spawned(t, want.nodes()), func(Law) bool { return true })
	})
}

func (w Want) nodes() int { return max(1, w.Nodes) }

// check refuses a declaration about laws that do not exist.
func check(t *testing.T, want Want) {
	t.Helper()
	known := map[string]bool{}
	for _, l := range laws {
		known[l.Name] = true
	}
	for _, list := range []map[string]string{want.Breaks, want.Skips} {
		for name, reason := range list {
			if !known[name] || reason == "" {
				t.Fatalf("locktest: law %q is unknown or has no reason", name)
			}
		}
	}
}

// runOn tries the laws side by side, as most of them wait most of the time: -parallel says how many at a time.
func runOn(t *testing.T, open Open, want Want, servers []*Server, applies func(Law) bool) {
	for _, l := range laws {
		if !applies(l) {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			if reason, ok := want.Skips[l.Name]; ok {
				t.Skip("does not apply: " + reason)
			}
			t.Parallel()
			reason, breaks := want.Breaks[l.Name]
			switch err := l.Try(open, servers); {
			case err != nil && !breaks:
				t.Errorf("breaks the law: %s\n%v", l.Text, err)
			case err == nil && breaks:
				t.Errorf("keeps more than declared: %s\ndeclared reason: %s", l.Text, reason)
			case err != nil:
				t.Logf("breaks it as declared (%s): %v", reason, err)
			}
		})
	}
}

// Try runs the law once; the error says how the lock broke it. A law that stops or flushes servers starts as many of
// its own instead.
func (l Law) Try(open Open, servers []*Server) (err error) {
	w := newWorld(open, servers)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case broken:
			err = r.err
		default:
			panic(r)
		}
	}()
	defer w.end()
	if l.Alone {
		w.isolate()
	}
	l.run(w)
	return nil
}

// broken is how a law ends that found what it forbids.
type broken struct{ err error }

func breakIt(format string, args ...any) { panic(broken{fmt.Errorf(format, args...)}) }

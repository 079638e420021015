package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"seckill/lock"
)

var safety = []Law{
	{Name: "one-holder-in-process", Text: "While one goroutine holds the lock, no other of its process does.",
		Rows: "L-35", run: func(w *World) { oneHolder(w, 1) }},
	{Name: "one-holder-across-processes", Text: "While one process holds the lock, no other does.",
		run: func(w *World) { oneHolder(w, 2) }},
	{Name: "one-holder-between-commands", Text: "Who is stopped between two commands of its acquire, while others come and go, does not hold the lock together with them.",
		run: betweenCommands},
	{Name: "no-foreign-release", Text: "Who lost the lock does not free it for its next holder.", run: foreignRelease},
	{Name: "no-foreign-release-in-gap", Text: "Nor when it loses it in the middle of its release.", run: foreignReleaseInGap},
	{Name: "exact-token", Text: "A token that begins with ours is not ours.", Rows: "L-34", run: exactToken},
	{Name: "release-tells-loss", Text: "Release of a lock that is not ours any more says so.", Rows: "L-37", run: releaseTellsLoss},
	{Name: "loss-ends-context", Text: "The lease's context ends with ErrLost when Redis no longer has the lock.",
		Rows: "S-17", run: lossEndsContext},
	{Name: "no-foreign-renewal", Text: "Who lost the lock never gives its next holder more time, and never creates a key.",
		Rows: "L-16, L-29", run: foreignRenewal},
	{Name: "check-before-others", Text: "The lease is over before its key can lapse, by the holder's own clock, without a message.",
		Real: true, run: checkBeforeOthers}, // the embedded clock moves in steps
	{Name: "fence-grows", Text: "Every fresh ownership has a greater fencing token; re-entry has the same.",
		Rows: "L-45", run: fenceGrows},
	{Name: "key-safety", Text: "Any text is a key; different keys are different locks.", run: keySafety},
	{Name: "ttl-validation", Text: "A TTL that is too short is refused before any command.", Rows: "L-28", run: ttlValidation},
	{Name: "re-entry-by-context-only", Text: "Only the context of a live lease enters again; a dead one does not.",
		Rows: "L-35", run: deadLease},
}

// oneHolder lets workers of n processes count how many are inside.
func oneHolder(w *World, n int) {
	var inside, worst atomic.Int32
	var entered atomic.Int32
	var wg sync.WaitGroup
	var failed error
	var once sync.Once
	actors := make([]*Actor, n)
	for i := range actors {
		actors[i] = w.process(wait(patience))
	}
	first := actors[0].acquire("k")
	other := w.processOf(actors, n)
	other.tryBusy("k")
	release(first)
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				l, err := actors[i%n].l.Acquire(context.Background(), "k")
				if err != nil {
					once.Do(func() { failed = err })
					return
				}
				worst.Store(max(worst.Load(), inside.Add(1)))
				entered.Add(1)
				inside.Add(-1)
				_ = l.Release(context.Background())
			}
		})
	}
	wg.Wait()
	want(failed == nil, "acquire: %w", failed)
	want(worst.Load() == 1 && entered.Load() == 40, "%d holders at a time, %d entries of 40", worst.Load(), entered.Load())
}

// processOf is the last of the actors: with one it is the same process.
func (w *World) processOf(actors []*Actor, n int) *Actor { return actors[n-1] }

// tryBusy waits a moment only.
func (a *Actor) tryBusy(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	l, err := a.l.Acquire(ctx, key)
	want(l == nil, "a second caller got the lock")
	wantErr(err, lock.ErrBusy, "a second caller")
}

// betweenCommands stops A at each hold point of an acquire while B comes, and lets it go on.
func betweenCommands(w *World) {
	for _, point := range []string{lock.HoldAcquireCheck, lock.HoldAcquireBetween} {
		stopped, goOn := make(chan struct{}), make(chan struct{})
		holds := &lock.Holds{}
		holds.On(point, 0, 1, func() { close(stopped); <-goOn })
		a := w.process(ttl(time.Second), func(o *lock.Options) { o.Holds = holds })
		b := w.process(ttl(time.Second), wait(3*time.Second))
		key := "k " + point
		got := make(chan Lease, 1)
		go func() {
			l, _ := a.l.Acquire(context.Background(), key)
			got <- l
		}()
		select {
		case <-stopped:
		case l := <-got: // it has no such point
			if l != nil {
				_ = l.Release(context.Background())
			}
			continue
		}
		bs, errB := b.l.Acquire(context.Background(), key)
		close(goOn)
		as := <-got
		both := as != nil && errB == nil && bs.Check() == nil
		for _, l := range []Lease{as, bs} {
			if l != nil {
				_ = l.Release(context.Background())
			}
		}
		want(!both, "two holders after a stop at %s", point)
	}
}

func fenceGrows(w *World) {
	a, b := w.process(wait(patience)), w.process(wait(patience))
	last := int64(0)
	for i := range 6 {
		actor := []*Actor{a, b}[i%2]
		l := actor.acquire("k")
		want(l.Fence() > last, "fence %d after %d", l.Fence(), last)
		last = l.Fence()
		again := actor.acquireIn(l.Context(), "k")
		want(again.Fence() == last, "re-entry has fence %d, not %d", again.Fence(), last)
		release(again)
		release(l)
	}
}

var oddKeys = []string{"k", "K", "k ", " ", "\x00", "\r\n", "\xff\xfe", "键", "a:b", "a", "{a}", "%7Ba%7D", "{", "}", "{}", "}{",
	"a}b{c", "*", "a:fence", "a:free", strings.Repeat("long", 3000), "'; FLUSHALL", "k\n"}

func keySafety(w *World) {
	a := w.process()
	var leases []Lease
	for _, key := range oddKeys {
		leases = append(leases, a.acquire(key))
	}
	for i, key := range oddKeys {
		a.isBusy(key, fmt.Sprintf("key %.20q", key))
		release(leases[i])
	}
	_, err := a.l.Acquire(context.Background(), "")
	wantErr(err, lock.ErrInvalid, "the empty key")
}

func ttlValidation(w *World) {
	for _, d := range []time.Duration{-1, 1, 999 * time.Microsecond, 9 * time.Millisecond} {
		a := w.behind(ttl(d))
		l, err := a.l.Acquire(context.Background(), "k")
		if l != nil {
			_ = l.Release(context.Background())
		}
		wantErr(err, lock.ErrInvalid, "TTL %v", d)
	}
	want(w.commands() == 0, "commands were sent")
}

// deadLease: two callers that share nothing but the Locker exclude each other, and so does a context whose lease ended.
func deadLease(w *World) {
	a := w.process()
	l := a.acquire("k")
	a.isBusy("k", "the same locker, another context")
	dead := context.WithoutCancel(l.Context())
	release(l)
	next := a.acquire("k")
	again, err := a.l.Acquire(dead, "k")
	if again != nil {
		_ = again.Release(context.Background())
	}
	want(errors.Is(err, lock.ErrBusy), "the context of a dead lease entered: %v", err)
	release(next)
}

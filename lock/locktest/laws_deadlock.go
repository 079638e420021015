package locktest

import (
	"context"
	"errors"
	"time"

	"seckill/lock"
)

var deadlock = []Law{
	{Name: "freed-after-crash", Text: "A holder that dies blocks the others no longer than its TTL.", run: freedAfterCrash},
	{Name: "freed-after-crash-in-acquire", Text: "Nor does one that dies between two commands of its acquire.",
		Rows: "S-16", run: freedAfterCrashInAcquire},
	{Name: "release-on-cancelled-context", Text: "Release works with a context that has ended.", Rows: "L-01", run: releaseCancelled},
	{Name: "one-attempt", Text: "Wait 0 makes one attempt and says busy.", run: oneAttempt},
	{Name: "wait-ends", Text: "Acquire gives up when its wait is spent or its context ends, and says which.", Rows: "L-24", run: waitEnds},
	{Name: "waiter-gets-it", Text: "Who waits gets the lock soon after its release, long before the TTL.", run: waiterGetsIt},
	{Name: "many-waiters", Text: "64 waiters all get their turns, 10 each.", Rows: "L-21", run: manyWaiters},
	{Name: "contention-is-cheap", Text: "32 waiters cost a few commands for every acquire, not a storm.",
		Rows: "L-21", Real: true, run: contentionIsCheap},
	{Name: "waiting-is-cheap", Text: "A waiter sends less than one command a second while somebody holds the lock.",
		Rows: "L-24", run: waitingIsCheap},
	{Name: "key-without-expiry", Text: "A key that does not lapse keeps everybody out, without a storm of commands, and is told.",
		Rows: "L-27", run: keyWithoutExpiry},
	{Name: "re-entry", Text: "The holder's own context enters again at once; releases come in any order and the last one frees.",
		run: reentry},
	{Name: "renewal", Text: "Work that takes longer than the TTL keeps the lock.", run: renewal},
	{Name: "many-leases", Text: "So do 300 leases of one process.", Real: true, run: manyLeases},
	{Name: "max-hold", Text: "MaxHold ends a renewed lease with ErrMaxHold, and others go on.", Rows: "L-11", run: maxHold},
	{Name: "close", Text: "Close ends leases with ErrClosed and refuses new ones; they can still be released.", run: closing},
}

func freedAfterCrash(w *World) {
	a, b := w.process(ttl(600*time.Millisecond)), w.process(wait(5*time.Second))
	a.acquire("k")
	a.die()
	release(b.acquire("k"))
}

func freedAfterCrashInAcquire(w *World) {
	for _, point := range []string{lock.HoldAcquireCheck, lock.HoldAcquireBetween} {
		crashed := make(chan struct{})
		stop := make(chan struct{})
		holds := &lock.Holds{}
		holds.On(point, 0, 1, func() { close(crashed); <-stop })
		a := w.process(ttl(600*time.Millisecond), func(o *lock.Options) { o.Holds = holds })
		b := w.process(ttl(time.Second), wait(5*time.Second))
		done := make(chan struct{})
		defer func() { close(stop); <-done }()
		go func() {
			defer close(done)
			_, _ = a.l.Acquire(context.Background(), point)
		}()
		select {
		case <-crashed:
		case <-done: // it has no such point: it crashes as a holder
		}
		a.die()
		release(b.acquire(point))
	}
}

func releaseCancelled(w *World) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
	l := w.process().acquireIn(ctx, "k")
	cancel()
	want(l.Context().Value(key{}) == "value", "the lease's context lacks the values of the acquire's")
	want(l.Context().Err() == nil, "the lease ended with the context of its acquire")
	if err := l.Release(ctx); err != nil {
		breakIt("release on a cancelled context: %w", err)
	}
	w.gone(patience)
}

func reentry(w *World) {
	a, b := w.process(ttl(2*time.Second)), w.process()
	outer := a.acquire("k")
	inner := a.acquireIn(outer.Context(), "k")
	third := a.acquireIn(inner.Context(), "k")
	release(outer)
	b.isBusy("k", "two shares are left")
	release(third)
	b.isBusy("k", "one share is left")
	want(inner.Check() == nil, "the last share is not valid: %w", inner.Check())
	release(inner)
	wantErr(context.Cause(inner.Context()), lock.ErrReleased, "cause")
	wantErr(inner.Check(), lock.ErrReleased, "Check after Release")
	release(b.acquire("k"))
}

func renewal(w *World) {
	a, b := w.process(ttl(1500*time.Millisecond)), w.process()
	l := a.acquire("k")
	for range 32 {
		time.Sleep(100 * time.Millisecond)
		b.isBusy("k", "during long work")
	}
	want(l.Check() == nil, "Check during long work: %w", l.Check())
	release(l)
	w.gone(patience)
}

func manyLeases(w *World) {
	a := w.process(ttl(3 * time.Second))
	var leases []Lease
	for i := range 300 {
		leases = append(leases, a.acquire(string(rune('一'+i))))
	}
	time.Sleep(6500 * time.Millisecond)
	for i, l := range leases {
		want(l.Check() == nil, "lease %d: %w", i, l.Check())
	}
	want(len(w.keys()) == 300*len(w.servers), "%d keys", len(w.keys()))
	for _, l := range leases {
		release(l)
	}
	w.gone(patience)
}

// maxHold has two waiters in one process: the second in line gets its turn also when the first keeps the lock too long.
func maxHold(w *World) {
	limited := func(o *lock.Options) {
		o.TTL, o.MaxHold, o.Wait = 1500*time.Millisecond, 2500*time.Millisecond, patience
	}
	a, b := w.process(limited), w.process(limited)
	began := time.Now()
	l := a.acquire("k")
	got := make(chan Lease, 2)
	for range 2 {
		go func() { next, _ := b.l.Acquire(context.Background(), "k"); got <- next }()
	}
	for range 2 {
		next := <-got
		want(next != nil, "a waiter failed")
		want(time.Since(began) > 2*time.Second, "others came in after %v", time.Since(began))
		wantErr(l.Check(), lock.ErrMaxHold, "Check")
		wantErr(ended(l, patience), lock.ErrMaxHold, "cause")
		wantErr(l.Release(context.Background()), lock.ErrLost, "release")
		l = next
	}
	release(l)
}

func closing(w *World) {
	a, b, c := w.process(), w.process(), w.process(wait(-1))
	l := a.acquire("k")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	waits := make(chan error, 1)
	go func() { _, err := c.l.Acquire(context.Background(), "k"); waits <- err }()
	time.Sleep(50 * time.Millisecond) // it may also find the lock closed
	want(c.l.Close(ctx) == nil, "Close with a waiter did not return in time")
	select {
	case err := <-waits:
		wantErr(err, lock.ErrClosed, "the waiter")
	case <-ctx.Done():
		breakIt("the waiter goes on after Close")
	}
	want(a.l.Close(ctx) == nil, "Close did not return in time")
	wantErr(ended(l, patience), lock.ErrClosed, "cause")
	want(errors.Is(l.Check(), lock.ErrLost), "Check after Close: %w", l.Check())
	_, err := a.l.Acquire(context.Background(), "other")
	wantErr(err, lock.ErrClosed, "Acquire after Close")
	release(l)
	release(b.acquire("k"))
}

package locktest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
)

var replyFaults = []Law{
	{Name: "context-binds", Text: "Acquire returns when its context ends although the reply is still on its way, and takes the key back behind.",
		Rows: "L-02", Real: true, run: contextBinds},
	{Name: "context-binds-without-time-outs", Text: "Also when the server is silent and the client has no time-outs.",
		Rows: "L-02", Real: true, run: contextBindsBlackHole},
	{Name: "lost-acquire-reply", Text: "A connection that breaks before the acquire's reply costs nothing: the lock is ours, once.",
		Rows: "L-03", Real: true, run: lostAcquireReply},
	{Name: "lost-release-reply", Text: "A release whose reply is lost succeeds.", Rows: "L-06", Real: true, run: lostReleaseReply},
	{Name: "silent-release", Text: "A release without any answer ends with an error, and nobody thinks the lock free before it is.",
		Real: true, run: silentRelease},
	{Name: "release-binds", Text: "Release on a silent server returns soon after its context has ended, with an error.",
		Real: true, run: releaseBinds},
	{Name: "late-acquire-reply", Text: "Time on the way is taken off the lease; a reply later than the TTL is an error, and cleaned up.",
		Rows: "L-18", Real: true, run: lateAcquireReply},
	{Name: "late-acquire-command", Text: "A copy of the acquire that reaches Redis after the release leaves no key.",
		Real: true, run: lateAcquireCommand},
	{Name: "slow-reply", Text: "One slow reply on a free lock delays it, no more.", Rows: "L-25", Real: true, run: slowReply},
	{Name: "one-lost-renewal", Text: "A renewal that fails once is repeated in time.", Rows: "L-13", Real: true, run: oneLostRenewal},
	{Name: "unanswered-renewals", Text: "When renewals stay unanswered, the lease ends before anybody else can hold the lock.",
		Rows: "L-48", Real: true, run: unansweredRenewals},
}

func contextBinds(w *World) {
	a := w.behind()
	a.warm()
	w.inject(Fault{Kind: Delay, Delay: 150 * time.Millisecond})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	l, err := a.l.Acquire(ctx, "k")
	took := time.Since(began)
	want(l == nil && err != nil, "acquired although the reply was not there")
	want(took < 140*time.Millisecond, "returned after %v, its context ended at 50ms", took)
	w.heal()
	w.gone(5 * time.Second)
	// The last node's answer may be late; what must not happen is that the clean-up goes on without an end.
	eventually(5*time.Second, func() bool {
		w.commands()
		time.Sleep(200 * time.Millisecond)
		return w.commands() == 0
	}, "nothing goes on behind")
}

func contextBindsBlackHole(w *World) {
	a := w.processVia(w.proxied(), func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = -1, -1 }, ttl(time.Second))
	a.warm()
	w.inject(Fault{Kind: Swallow})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	got := make(chan error, 1)
	go func() { _, err := a.l.Acquire(ctx, "k"); got <- err }()
	select {
	case err := <-got:
		want(err != nil, "acquired without an answer")
	case <-time.After(2 * time.Second):
		w.cut()
		<-got
		breakIt("Acquire did not return 2s after its context had ended at 100ms")
	}
	w.heal()
	w.cut()
	w.gone(10 * time.Second)
}

func (w *World) cut() {
	for _, p := range w.proxies {
		p.CutAll()
	}
}

// named matches commands by their names.
func named(names ...string) func([]string) bool {
	return func(words []string) bool { return slices.Contains(names, strings.ToLower(words[0])) }
}

func lostAcquireReply(w *World) {
	a, b := w.behind(), w.process()
	a.warm()
	w.inject(Fault{Kind: Cut, Times: 1, Match: named("set", "setnx", "hset", "incr", "eval", "evalsha")})
	l := a.acquire("k")
	release(l)
	w.gone(5 * time.Second)
	release(b.acquire("k"))
}

func lostReleaseReply(w *World) {
	a := w.behind()
	a.warm()
	for _, kind := range []FaultKind{Cut, Swallow} {
		l := a.acquire("k")
		w.inject(Fault{Kind: kind, Times: 1, Match: named("del", "eval", "evalsha")})
		release(l)
		w.heal()
		w.gone(5 * time.Second)
	}
}

func silentRelease(w *World) {
	a := w.behind(ttl(time.Second))
	a.warm()
	l := a.acquire("k")
	w.inject(Fault{Kind: Drop})
	want(l.Release(context.Background()) != nil, "release succeeded without an answer")
	want(l.Check() != nil, "the lease is valid after its release")
	w.heal()
	w.cut()
	w.gone(10 * time.Second)
}

func releaseBinds(w *World) {
	a := w.behind()
	a.warm()
	l := a.acquire("k")
	w.inject(Fault{Kind: Drop})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	got := make(chan error, 1)
	go func() { got <- l.Release(ctx) }()
	select {
	case err := <-got:
		want(err != nil, "release succeeded without an answer")
	case <-time.After(5 * time.Second):
		w.heal()
		w.cut()
		<-got
		breakIt("Release did not return 5s after its context had ended")
	}
	w.heal()
	w.cut()
	w.gone(10 * time.Second)
}

func lateAcquireReply(w *World) {
	a := w.behind(ttl(time.Second))
	a.warm()
	w.inject(Fault{Kind: Delay, Delay: 900 * time.Millisecond, Times: 1})
	began := time.Now()
	if l, err := a.l.Acquire(context.Background(), "k"); err == nil {
		most := time.Second
		if took := time.Since(began); took >= 900*time.Millisecond {
			most = 100 * time.Millisecond
		}
		want(l.Remaining() <= most, "%v remain of a lease whose reply took %v of 1s", l.Remaining(), time.Since(began))
		_ = l.Release(context.Background())
	}
	w.heal()
	w.gone(5 * time.Second)
	w.inject(Fault{Kind: Delay, Delay: 1300 * time.Millisecond})
	l, err := a.l.Acquire(context.Background(), "k")
	if err == nil {
		_ = l.Release(context.Background())
	}
	want(err != nil, "a lease whose reply came after its TTL")
	w.heal()
	w.gone(10 * time.Second)
}

// lateAcquireCommand holds the first copy back at the gate until the lock has been acquired by another and released,
// and then lets its answer arrive, or not.
func lateAcquireCommand(w *World) {
	for _, kind := range []FaultKind{None, Cut} {
		gate := NewGate()
		a := w.processVia(w.proxied(), func(o *redis.Options) { o.ReadTimeout = 300 * time.Millisecond }, wait(patience))
		a.warm()
		w.inject(Fault{Kind: kind, Times: 1, Gate: gate, Match: named("set", "setnx", "hset", "incr", "eval", "evalsha")})
		release(a.acquire("k"))
		eventually(5*time.Second, func() bool { return len(w.keys()) == 0 }, "released")
		gate.Open()
		eventually(5*time.Second, func() bool { return gate.Held() > 0 && gate.Passed() == gate.Held() }, "the late command is executed")
		w.gone(10 * time.Second)
	}
}

func slowReply(w *World) {
	a := w.behind(wait(patience))
	a.warm()
	w.inject(Fault{Kind: Delay, Delay: 60 * time.Millisecond, Times: 1})
	began := time.Now()
	release(a.acquire("k"))
	want(time.Since(began) < 2*time.Second, "a reply 60ms late cost %v", time.Since(began))
}

func oneLostRenewal(w *World) {
	for _, kind := range []FaultKind{Swallow, Cut} {
		a := w.behind(ttl(1500 * time.Millisecond))
		a.warm()
		l := a.acquire("k")
		w.inject(Fault{Kind: kind, Times: 1})
		time.Sleep(2500 * time.Millisecond)
		want(l.Check() == nil, "lost after one failed renewal: %w", l.Check())
		release(l)
		w.heal()
	}
}

func unansweredRenewals(w *World) {
	for _, kind := range []FaultKind{Swallow, Drop} {
		a, b := w.behind(ttl(time.Second)), w.process(ttl(time.Second), wait(patience))
		a.warm()
		l := a.acquire("k")
		w.inject(Fault{Kind: kind})
		next := b.acquire("k")
		want(l.Check() != nil, "another holder, and Check is nil")
		wantErr(ended(l, 100*time.Millisecond), lock.ErrLost, "cause")
		release(next)
		w.heal()
		w.cut()
	}
}

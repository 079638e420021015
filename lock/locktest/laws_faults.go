package locktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
)

var faults = []Law{
	{Name: "context-binds", Text: "Acquire returns when its context ends although the reply is still on its way, and takes the key back behind.",
		Rows: "L-02", Real: true, run: contextBinds},
	{Name: "context-binds-without-time-outs", Text: "Also when the server is silent and the client has no time-outs.",
		Rows: "L-02", Real: true, run: contextBindsBlackHole},
	{Name: "lost-acquire-reply", Text: "A connection that breaks before the acquire's reply costs nothing: the lock is ours, once.",
		Rows: "L-03", Real: true, run: lostAcquireReply},
	{Name: "lost-release-reply", Text: "A release whose reply is lost succeeds.", Rows: "L-06", Real: true, run: lostReleaseReply},
	{Name: "silent-release", Text: "A release without any answer ends with an error, and nobody thinks the lock free before it is.",
		Real: true, run: silentRelease},
	{Name: "late-acquire-reply", Text: "Time on the way is taken off the lease; a reply later than the TTL is an error, and cleaned up.",
		Rows: "L-18", Real: true, run: lateAcquireReply},
	{Name: "late-acquire-command", Text: "A copy of the acquire that reaches Redis after the release leaves no key.",
		Real: true, run: lateAcquireCommand},
	{Name: "slow-reply", Text: "One slow reply on a free lock delays it, no more.", Rows: "L-25", Real: true, run: slowReply},
	{Name: "one-lost-renewal", Text: "A renewal that fails once is repeated in time.", Rows: "L-13", Real: true, run: oneLostRenewal},
	{Name: "unanswered-renewals", Text: "When renewals stay unanswered, the lease ends before anybody else can hold the lock.",
		Rows: "L-48", Real: true, run: unansweredRenewals},
	{Name: "killed-connections", Text: "With all connections killed again and again the lease lives, or ends before anybody else holds the lock.",
		Rows: "L-12", Real: true, Alone: true, run: killedConnections},
	{Name: "paused-server", Text: "A server that pauses for less than the TTL costs nobody the lock.", Real: true, Alone: true, run: pausedServer},
	{Name: "script-flush", Text: "SCRIPT FLUSH between acquire, renewal and release costs a round trip each, no more.",
		Rows: "L-42", Real: true, Alone: true, run: scriptFlush},
	{Name: "fence-survives-flush", Text: "Fencing tokens grow although Redis has lost everything.", Rows: "L-44", Real: true, Alone: true, run: fenceSurvivesFlush},
	{Name: "server-down", Text: "Without Redis there is an error, and never a lease.", Rows: "L-49", Real: true, Alone: true, run: serverDown},
	{Name: "silent-server", Text: "A Redis that says nothing is an error, and not taken for a busy lock.",
		Rows: "L-49", Real: true, run: silentServer},
	{Name: "no-late-renewal", Text: "After Release has returned, no renewal has an effect.", Rows: "L-15", Real: true, run: noLateRenewal},
	{Name: "wake-up", Text: "A release at any moment around a waiter's subscription wakes it.", Rows: "L-19", Real: true, run: wakeUp},
	{Name: "wake-up-after-cut", Text: "A waiter whose subscription was cut is woken by the next.", Real: true, Alone: true, run: wakeUpAfterCut},
	{Name: "small-pool", Text: "500 waiters on a pool of 4 share one subscription, and other commands get through.",
		Rows: "L-20", Real: true, Alone: true, run: smallPool},
	{Name: "frozen-node", Text: "A frozen minority costs acquire and release no more than a node's time-out.",
		Rows: "L-40", Real: true, Alone: true, run: frozenNode},
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

func killedConnections(w *World) {
	a, b := w.process(ttl(time.Second)), w.process(ttl(time.Second))
	l := a.acquire("k")
	for range 15 {
		w.admin(func(rdb *redis.Client) {
			rdb.Do(context.Background(), "client", "kill", "type", "normal", "skipme", "yes")
		})
		time.Sleep(200 * time.Millisecond)
		next, err := b.l.Acquire(context.Background(), "k")
		if err == nil {
			want(l.Check() != nil, "two holders")
			_ = next.Release(context.Background())
			return
		}
	}
	if err := l.Release(context.Background()); err != nil {
		wantErr(err, lock.ErrLost, "release")
	}
}

func pausedServer(w *World) {
	a, b := w.process(ttl(1500*time.Millisecond)), w.process(ttl(1500*time.Millisecond))
	l := a.acquire("k")
	for range 3 {
		w.admin(func(rdb *redis.Client) { rdb.Do(context.Background(), "client", "pause", 400) })
		time.Sleep(800 * time.Millisecond)
	}
	b.isBusy("k", "after pauses shorter than the TTL")
	want(l.Check() == nil, "lost by a pause shorter than the TTL: %w", l.Check())
	release(l)
}

func scriptFlush(w *World) {
	flush := func() {
		w.admin(func(rdb *redis.Client) { must(rdb.ScriptFlush(context.Background()).Err()) })
	}
	a := w.process(ttl(1500 * time.Millisecond))
	flush()
	l := a.acquire("k")
	flush()
	time.Sleep(2500 * time.Millisecond)
	want(l.Check() == nil, "renewal after SCRIPT FLUSH: %w", l.Check())
	flush()
	release(l)
	w.gone(5 * time.Second)
}

func fenceSurvivesFlush(w *World) {
	a := w.process()
	last := int64(0)
	for range 3 {
		l := a.acquire("k")
		want(l.Fence() > last, "fence %d after %d", l.Fence(), last)
		last = l.Fence()
		w.admin(func(rdb *redis.Client) { must(rdb.FlushAll(context.Background()).Err()) })
		wantErr(l.Release(context.Background()), lock.ErrLost, "release after a flush")
	}
}

func serverDown(w *World) {
	a := w.process(ttl(time.Second))
	a.warm()
	for _, s := range w.servers {
		s.Kill()
	}
	l, err := a.l.Acquire(context.Background(), "k")
	want(l == nil && err != nil, "a lease without Redis")
	want(!errors.Is(err, lock.ErrBusy), "busy without Redis: %w", err)
}

func silentServer(w *World) {
	a := w.processVia(w.proxied(), func(o *redis.Options) { o.ReadTimeout = 200 * time.Millisecond }, wait(1500*time.Millisecond))
	a.warm()
	w.inject(Fault{Kind: Drop})
	l, err := a.l.Acquire(context.Background(), "k")
	want(l == nil && err != nil, "a lease without Redis")
	want(!errors.Is(err, lock.ErrBusy), "busy without Redis: %w", err)
	w.heal()
	w.cut()
}

// noLateRenewal makes renewals as frequent as they can be.
func noLateRenewal(w *World) {
	a := w.process(ttl(30 * time.Millisecond))
	for range 200 {
		l, err := a.l.Acquire(context.Background(), "k")
		if err != nil {
			continue // a TTL so short can pass on the way
		}
		time.Sleep(time.Millisecond)
		if err := l.Release(context.Background()); err == nil {
			want(len(w.keys()) <= len(w.servers)/2, "a key after its release") // a quorum finishes the rest behind
		}
	}
	w.gone(5 * time.Second)
}

// wakeUp: the release comes 0 to 4 ms after the waiter began. Without its message the waiter would look again after
// seconds only.
func wakeUp(w *World) {
	a, b := w.process(), w.process(wait(-1))
	for i := range 40 {
		l := a.acquire("k")
		got := make(chan Lease, 1)
		go func() { l, _ := b.l.Acquire(context.Background(), "k"); got <- l }()
		time.Sleep(time.Duration(i) * 100 * time.Microsecond)
		release(l)
		select {
		case next := <-got:
			want(next != nil, "the waiter failed")
			release(next)
		case <-time.After(1500 * time.Millisecond):
			release(<-got)
			breakIt("round %d: the waiter was not woken", i)
		}
	}
}

func wakeUpAfterCut(w *World) {
	a, b := w.process(), w.process(wait(-1))
	l := a.acquire("k")
	got := make(chan Lease, 1)
	go func() { l, _ := b.l.Acquire(context.Background(), "k"); got <- l }()
	time.Sleep(300 * time.Millisecond)
	w.admin(func(rdb *redis.Client) { rdb.Do(context.Background(), "client", "kill", "type", "pubsub") })
	time.Sleep(100 * time.Millisecond)
	release(l)
	select {
	case next := <-got:
		want(next != nil, "the waiter failed")
		release(next)
	case <-time.After(5 * time.Second):
		release(<-got)
		breakIt("the waiter was not woken")
	}
}

func smallPool(w *World) {
	a := w.process()
	b := w.processVia(nil, func(o *redis.Options) { o.PoolSize = 4 }, wait(-1))
	var leases []Lease
	for i := range 500 {
		leases = append(leases, a.acquire(string(rune('一'+i))))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan Lease, 500)
	for i := range 500 {
		go func() { l, _ := b.l.Acquire(ctx, string(rune('一'+i))); done <- l }()
	}
	time.Sleep(time.Second)
	pubsub := 0
	for _, rdb := range w.admins {
		text, err := rdb.Do(context.Background(), "client", "list", "type", "pubsub").Text()
		must(err)
		pubsub = max(pubsub, lines(text))
	}
	began := time.Now()
	err := b.clients[0].Set(context.Background(), w.prefix+"other", 1, time.Minute).Err()
	took := time.Since(began)
	for _, l := range leases {
		release(l)
	}
	for range 500 {
		l := <-done
		want(l != nil, "a waiter failed")
		_ = l.Release(context.Background())
	}
	cancel()
	want(pubsub <= 1, "%d subscription connections", pubsub)
	want(err == nil && took < 2*time.Second, "another command took %v: %v", took, err)
}

func lines(s string) (n int) {
	for _, c := range s {
		if c == '\n' {
			n++
		}
	}
	return n
}

// frozenNode takes the best of a few rounds, as the machine may be slow, a frozen node always is.
func frozenNode(w *World) {
	a := w.process(func(o *lock.Options) { o.NodeTimeout = 50 * time.Millisecond })
	a.warm()
	must(w.servers[0].Freeze())
	w.atEnd(func() { must(w.servers[0].Thaw()) })
	best := time.Hour
	for range 10 {
		began := time.Now()
		l, err := a.l.Acquire(context.Background(), "k")
		acquired := time.Since(began)
		if errors.Is(err, lock.ErrBusy) {
			continue
		}
		want(err == nil, "acquire with a frozen node: %w", err)
		began = time.Now()
		release(l)
		best = min(best, max(acquired, time.Since(began)))
	}
	want(best <= 60*time.Millisecond, "with a frozen node acquire or release took %v", best)
}

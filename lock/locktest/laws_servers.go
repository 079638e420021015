package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
)

var serverFaults = []Law{
	{Name: "killed-connections", Text: "With all connections killed again and again the lease lives, or ends before anybody else holds the lock.",
		Rows: "L-12", Real: true, Alone: true, run: killedConnections},
	{Name: "paused-server", Text: "A server that pauses for less than the TTL costs nobody the lock.", Real: true, Alone: true, run: pausedServer},
	{Name: "long-pause", Text: "When it pauses for longer, the lease ends before anybody else holds the lock.",
		Real: true, Alone: true, run: longPause},
	{Name: "demoted-server", Text: "A server that became a read-only replica grants nothing, and its holders' leases end in time.",
		Rows: "L-49, S-17", Real: true, Alone: true, run: demotedServer},
	{Name: "out-of-memory", Text: "A server without memory refuses new locks with an error, and old ones can be released.",
		Rows: "L-49", Real: true, Alone: true, run: outOfMemory},
	{Name: "script-flush", Text: "SCRIPT FLUSH between acquire, renewal and release costs a round trip each, no more.",
		Rows: "L-42", Real: true, Alone: true, run: scriptFlush},
	{Name: "fence-survives-flush", Text: "Fencing tokens grow although Redis has lost everything.", Rows: "L-44", Real: true, Alone: true, run: fenceSurvivesFlush},
	{Name: "server-down", Text: "Without Redis there is an error, and never a lease.", Rows: "L-49", Real: true, Alone: true, run: serverDown},
	{Name: "silent-server", Text: "A Redis that says nothing is an error, and not taken for a busy lock.",
		Rows: "L-49", Real: true, run: silentServer},
	{Name: "frozen-node", Text: "A frozen minority costs acquire and release no more than a node's time-out.",
		Rows: "L-40", Real: true, Alone: true, run: frozenNode},
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

func longPause(w *World) {
	a, b := w.process(ttl(time.Second)), w.process(wait(patience))
	l := a.acquire("k")
	w.admin(func(rdb *redis.Client) { rdb.Do(context.Background(), "client", "pause", 2500) })
	next := b.acquire("k")
	want(l.Check() != nil, "another holder, and Check is nil")
	release(next)
	_ = l.Release(context.Background())
}

// demotedServer makes it the replica of a server that does not exist: it keeps what it has and takes nothing.
func demotedServer(w *World) {
	a, b := w.process(ttl(time.Second)), w.process(ttl(time.Second))
	b.warm()
	l := a.acquire("k")
	w.admin(func(rdb *redis.Client) { must(rdb.Do(context.Background(), "replicaof", "127.0.0.1", "1").Err()) })
	other, err := b.l.Acquire(context.Background(), "other")
	want(other == nil && err != nil, "a lease from a replica")
	want(!errors.Is(err, lock.ErrBusy), "busy instead of an error: %w", err)
	eventually(5*time.Second, func() bool { return l.Check() != nil }, "the lease ends")
	_ = l.Release(context.Background())
	w.admin(func(rdb *redis.Client) { must(rdb.Do(context.Background(), "replicaof", "no", "one").Err()) })
	w.gone(10 * time.Second)
}

func outOfMemory(w *World) {
	a := w.process()
	a.warm()
	l := a.acquire("k")
	limit := func(bytes string) {
		w.admin(func(rdb *redis.Client) { must(rdb.ConfigSet(context.Background(), "maxmemory", bytes).Err()) })
	}
	limit("1")
	other, err := a.l.Acquire(context.Background(), "other")
	want(other == nil && err != nil, "a lease without memory")
	want(!errors.Is(err, lock.ErrBusy), "busy instead of an error: %w", err)
	release(l)
	limit("0")
	w.gone(5 * time.Second)
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
	a := w.processVia(w.proxied(), func(o *redis.Options) { o.ReadTimeout = 200 * time.Millisecond }, wait(5*time.Second))
	a.warm()
	w.inject(Fault{Kind: Drop})
	l, err := a.l.Acquire(context.Background(), "k")
	want(l == nil && err != nil, "a lease without Redis")
	want(!errors.Is(err, lock.ErrBusy), "busy without Redis: %w", err)
	w.heal()
	w.cut()
}

// frozenNode looks at every round: who waited for the frozen node would need a node's time-out, which is so long here
// that a slow machine is no excuse. Without waiting it is a matter of a millisecond.
func frozenNode(w *World) {
	a := w.process()
	a.warm()
	must(w.servers[0].Freeze())
	w.atEnd(func() { must(w.servers[0].Thaw()) })
	for i := range 30 {
		began := time.Now()
		l := a.acquire("k")
		acquired := time.Now()
		release(l)
		slowest := max(acquired.Sub(began), time.Since(acquired))
		want(slowest <= nodeTimeout/2, "round %d: acquire or release took %v, a node's time-out is %v", i, slowest, nodeTimeout)
	}
}

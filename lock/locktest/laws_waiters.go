package locktest

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var waiterFaults = []Law{
	{Name: "no-late-renewal", Text: "After Release has returned, no renewal has an effect.", Rows: "L-15", Real: true, run: noLateRenewal},
	{Name: "wake-up", Text: "A release at any moment around a waiter's subscription wakes it.", Rows: "L-19", Real: true, run: wakeUp},
	{Name: "wake-up-after-cut", Text: "A waiter whose subscription was cut is woken by the next.", Real: true, Alone: true, run: wakeUpAfterCut},
	{Name: "small-pool", Text: "500 waiters on a pool of 4 share one subscription, and other commands get through.",
		Rows: "L-20", Real: true, Alone: true, run: smallPool},
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
		got := b.waiter("k")
		time.Sleep(time.Duration(i) * 100 * time.Microsecond)
		release(l)
		wokenIn(1500*time.Millisecond, got, fmt.Sprintf("round %d: the waiter was not woken", i))
	}
}

func wakeUpAfterCut(w *World) {
	a, b := w.process(), w.process(wait(-1))
	l := a.acquire("k")
	got := b.waiter("k")
	time.Sleep(300 * time.Millisecond)
	w.admin(func(rdb *redis.Client) { rdb.Do(context.Background(), "client", "kill", "type", "pubsub") })
	time.Sleep(100 * time.Millisecond)
	release(l)
	wokenIn(5*time.Second, got, "the waiter was not woken")
}

// wokenIn: the waiter has the lock within the time, and lets it go again. One that was not woken is waited for, so that
// it leaves nothing behind.
func wokenIn(within time.Duration, got <-chan Lease, otherwise string) {
	select {
	case next := <-got:
		want(next != nil, "the waiter failed")
		release(next)
	case <-time.After(within):
		release(<-got)
		breakIt("%s", otherwise)
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

package locktest

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
)

func oneAttempt(w *World) {
	a, b := w.process(), w.process()
	l := a.acquire("k")
	began := time.Now()
	b.isBusy("k", "one attempt")
	want(time.Since(began) < patience/2, "one attempt took %v", time.Since(began))
	release(l)
}

func waitEnds(w *World) {
	a, b, c := w.process(), w.process(wait(150*time.Millisecond)), w.process(wait(-1))
	l := a.acquire("k")
	began := time.Now()
	_, err := b.l.Acquire(context.Background(), "k")
	wantErr(err, lock.ErrBusy, "a spent wait")
	want(time.Since(began) >= 150*time.Millisecond && time.Since(began) < patience/2, "waited %v, not 150ms", time.Since(began))
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error, 1)
	go func() { _, err := c.l.Acquire(ctx, "k"); got <- err }()
	time.AfterFunc(100*time.Millisecond, cancel)
	select {
	case err = <-got:
	case <-time.After(patience):
		breakIt("a cancelled waiter did not return")
	}
	wantErr(err, lock.ErrBusy, "a cancelled wait")
	wantErr(err, context.Canceled, "a cancelled wait")
	release(l)
}

func waiterGetsIt(w *World) {
	a, b := w.process(), w.process(wait(-1))
	l := a.acquire("k")
	got := b.waiter("k")
	time.Sleep(50 * time.Millisecond)
	release(l)
	select {
	case next := <-got:
		want(next != nil, "the waiter failed")
		release(next)
	case <-time.After(patience / 2):
		breakIt("the waiter still waits")
	}
}

func manyWaiters(w *World) {
	a, b := w.process(wait(4*patience)), w.process(wait(4*patience))
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	waiters, rounds := 64, 10
	if !w.servers[0].Real() { // it makes a new interpreter for every script
		waiters, rounds = 16, 3
	}
	for i := range waiters {
		wg.Go(func() {
			for range rounds {
				l, err := []*Actor{a, b}[i%2].l.Acquire(context.Background(), "k")
				if err != nil {
					errs <- err
					return
				}
				_ = l.Release(context.Background())
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		breakIt("a waiter starved: %w", err)
	}
}

// contentionIsCheap: every holder keeps the lock for so long that waiters who ask again and again are found out.
func contentionIsCheap(w *World) {
	const waiters, perAcquire = 32, 12
	a, b := w.behind(wait(4*patience)), w.behind(wait(4*patience))
	a.warm()
	b.warm()
	w.commands()
	var wg sync.WaitGroup
	errs := make(chan error, waiters)
	for i := range waiters {
		wg.Go(func() {
			l, err := []*Actor{a, b}[i%2].l.Acquire(context.Background(), "k")
			if err == nil {
				time.Sleep(40 * time.Millisecond)
				err = l.Release(context.Background())
			}
			errs <- err
		})
	}
	wg.Wait()
	for range waiters {
		err := <-errs
		want(err == nil, "a waiter: %w", err)
	}
	n := w.commands()
	want(n <= perAcquire*waiters*len(w.servers), "%d commands on %d servers for %d acquires", n, len(w.servers), waiters)
}

func waitingIsCheap(w *World) {
	l := w.process().acquire("k")
	b := w.behind(wait(-1))
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _, _ = b.l.Acquire(ctx, "k") })
	}
	n, quiet := 0, 0
	for range 7 { // they have to settle first; and one quiet second may be a slow machine's
		w.commands()
		time.Sleep(time.Second)
		if n = w.commands(); n >= 8 {
			quiet = 0
		} else if quiet++; quiet == 2 {
			break
		}
	}
	cancel()
	wg.Wait()
	release(l)
	want(quiet == 2, "%d commands in a second by 8 waiters", n)
}

func keyWithoutExpiry(w *World) {
	l := w.process().acquire("k")
	key := w.name()
	w.admin(func(rdb *redis.Client) { rdb.Persist(context.Background(), key) })
	b := w.behind(wait(500 * time.Millisecond))
	_, err := b.l.Acquire(context.Background(), "k")
	wantErr(err, lock.ErrBusy, "a key that never lapses")
	n := w.commands()
	want(n <= 60*len(w.servers), "%d commands in half a second", n)
	_ = l.Release(context.Background())
}

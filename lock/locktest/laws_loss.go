package locktest

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
)

// foreignRelease: A's key is lost, B acquires, A releases.
func foreignRelease(w *World) {
	a, b, c := w.process(), w.process(), w.process()
	l := a.acquire("k")
	w.lose()
	b.acquire("k")
	_ = l.Release(context.Background())
	c.isBusy("k", "after the late release of a former holder")
}

func foreignReleaseInGap(w *World) {
	holds := &lock.Holds{}
	b, c := w.process(), w.process()
	var broke any
	hasGap := false
	holds.On(lock.HoldReleaseBetween, 0, 1, func() {
		defer func() { broke = recover() }() // this runs below the lock's own code
		hasGap = true
		w.lose()
		b.acquire("k")
	})
	a := w.process(func(o *lock.Options) { o.Holds = holds })
	l := a.acquire("k")
	_ = l.Release(context.Background())
	if broke != nil {
		panic(broke)
	}
	if !hasGap {
		b.acquire("k")
	}
	c.isBusy("k", "after a release that was stopped between its commands")
}

// exactToken puts a longer token in the place of A's.
func exactToken(w *World) {
	ctx := context.Background()
	a := w.process()
	l := a.acquire("k")
	key := w.name()
	w.admin(func(rdb *redis.Client) {
		if v, err := rdb.Get(ctx, key).Result(); err == nil {
			rdb.Set(ctx, key, v+"0", time.Minute)
		} else if h, err := rdb.HGetAll(ctx, key).Result(); err == nil {
			for field := range h {
				rdb.HDel(ctx, key, field)
				rdb.HSet(ctx, key, field+"0", h[field])
			}
		}
	})
	err := l.Release(ctx)
	want(len(w.keys()) == len(w.servers), "the release removed another token")
	wantErr(err, lock.ErrLost, "release")
}

func releaseTellsLoss(w *World) {
	l := w.process().acquire("k")
	w.lose()
	wantErr(l.Release(context.Background()), lock.ErrLost, "release of a lost lock")
	wantErr(l.Release(context.Background()), lock.ErrLost, "second release")
}

func lossEndsContext(w *World) {
	l := w.process(ttl(900 * time.Millisecond)).acquire("k")
	w.lose()
	wantErr(ended(l, 2*time.Second), lock.ErrLost, "cause")
	wantErr(l.Check(), lock.ErrLost, "Check")
	want(l.Remaining() == 0, "Remaining is %v after the loss", l.Remaining())
}

// foreignRenewal watches a key of another owner over several of A's renewal periods.
func foreignRenewal(w *World) {
	ctx := context.Background()
	l := w.process(ttl(900 * time.Millisecond)).acquire("k")
	key := w.name()
	w.admin(func(rdb *redis.Client) { rdb.Del(ctx, key) })
	time.Sleep(350 * time.Millisecond) // one renewal period: nothing may appear
	want(len(w.keys()) == 0, "a key was created by a renewal")
	w.admin(func(rdb *redis.Client) { rdb.Set(ctx, key, "another", time.Minute) })
	last := time.Minute
	for range 10 {
		time.Sleep(40 * time.Millisecond)
		left, err := w.admins[0].PTTL(ctx, key).Result()
		want(err == nil && left > 0 && left <= last, "the next holder's key has %v left after %v", left, last)
		last = left
	}
	want(l.Release(ctx) != nil, "release of a lost lock succeeded")
	want(len(w.keys()) == len(w.servers), "the next holder's key was removed")
}

// checkBeforeOthers cuts A off from Redis and watches which comes first: the end of its lease or the end of its key.
func checkBeforeOthers(w *World) {
	a := w.process(ttl(800 * time.Millisecond))
	l := a.acquire("k")
	a.die()
	eventually(5*time.Second, func() bool { return len(w.keys()) == 0 }, "the key lapses")
	want(l.Check() != nil, "the key has lapsed and Check is nil")
	want(l.Remaining() == 0, "the key has lapsed and Remaining is %v", l.Remaining())
}

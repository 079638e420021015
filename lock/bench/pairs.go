package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lock"
	"seckill/lock/locktest"
)

// pair is one uncontended acquire and release.
type pair struct {
	name  string
	run   func() error
	times []time.Duration
}

// measure runs the pairs in turns, in another order every time, so that whatever the machine does meanwhile, and whatever
// one of them leaves behind, hits all of them alike.
func measure(pairs []*pair, rounds int) error {
	for i := range rounds + rounds/10 {
		for _, at := range mrand.Perm(len(pairs)) {
			p := pairs[at]
			began := time.Now()
			if err := p.run(); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if i >= rounds/10 { // the first tenth warms up
				p.times = append(p.times, time.Since(began))
			}
		}
	}
	for _, p := range pairs {
		slices.Sort(p.times)
	}
	return nil
}

// at is a quantile of the sorted times.
func (p *pair) at(q float64) time.Duration { return p.times[int(q*float64(len(p.times)-1))] }

// raw is what every lock is compared with: SET NX with an expiry, and the compare-and-delete script.
func raw(rdb *redis.Client) *pair {
	source, err := lock.Sources.ReadFile("unlock.lua")
	if err != nil {
		panic(err)
	}
	unlock := redis.NewScript(string(source))
	ctx := context.Background()
	return &pair{name: "raw SET NX + script", run: func() error {
		token := rand.Text()
		if ok, err := rdb.SetNX(ctx, "raw", token, 30*time.Second).Result(); err != nil || !ok {
			return fmt.Errorf("set: %v %w", ok, err)
		}
		return unlock.Run(ctx, rdb, []string{"raw"}, token).Err()
	}}
}

// of is the pair of a lock.
func of(name string, l locktest.Locker) *pair {
	ctx := context.Background()
	return &pair{name: name, run: func() error {
		lease, err := l.Acquire(ctx, name)
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}}
}

// print writes the Markdown table; the first pair is the measure of the others.
func print(out io.Writer, pairs []*pair) {
	fmt.Fprintln(out, "| acquire + release, uncontended | p10 | p50 | p99 | pairs per second, relative to raw (p10; p50) |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|")
	for _, p := range pairs {
		ratio := func(q float64) float64 { return float64(pairs[0].at(q)) / float64(p.at(q)) }
		fmt.Fprintf(out, "| %s | %v | %v | %v | %.2f; %.2f |\n", p.name, round(p.at(.1)), round(p.at(.5)), round(p.at(.99)), ratio(.1), ratio(.5))
	}
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Nanosecond) }

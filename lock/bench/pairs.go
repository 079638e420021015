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
	name    string
	run     func() error
	times   []time.Duration
	medians []time.Duration // by round
}

// batch is how many pairs of one lock follow each other.
const batch = 25

// measure runs the pairs in rounds, a batch of each in every round and in another order every time, so that whatever the
// machine does meanwhile, and whatever one of them leaves behind, hits all of them alike. The first tenth warms up.
func measure(pairs []*pair, rounds int) error {
	for i := range rounds + rounds/10 + 1 {
		for _, at := range mrand.Perm(len(pairs)) {
			p := pairs[at]
			times := make([]time.Duration, batch)
			for j := range times {
				began := time.Now()
				if err := p.run(); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
				times[j] = time.Since(began)
			}
			if i > rounds/10 {
				slices.Sort(times)
				p.times, p.medians = append(p.times, times...), append(p.medians, quantile(times, .5))
			}
		}
	}
	for _, p := range pairs {
		slices.Sort(p.times)
	}
	return nil
}

// quantile is one of sorted values.
func quantile[T any](sorted []T, q float64) T { return sorted[int(q*float64(len(sorted)-1))] }

// relative are the pair's speeds in every round, 1 being that of the same round's raw pair; sorted.
func (p *pair) relative(raw *pair) []float64 {
	ratios := make([]float64, len(p.medians))
	for i, m := range p.medians {
		ratios[i] = float64(raw.medians[i]) / float64(m)
	}
	slices.Sort(ratios)
	return ratios
}

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
	fmt.Fprintln(out, "| acquire + release, uncontended | p50 | p99 | pairs per second, raw = 1 (p10–p90 of the rounds) |")
	fmt.Fprintln(out, "| --- | --: | --: | --: |")
	for _, p := range pairs {
		r := p.relative(pairs[0])
		fmt.Fprintf(out, "| %s | %v | %v | %.2f (%.2f–%.2f) |\n", p.name, round(quantile(p.times, .5)), round(quantile(p.times, .99)),
			quantile(r, .5), quantile(r, .1), quantile(r, .9))
	}
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Nanosecond) }

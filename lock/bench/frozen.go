package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"seckill/lock"
	"seckill/lock/locktest"
)

// frozen measures what a frozen minority costs redlock: one of the servers is stopped, as by SIGSTOP, and thawed again.
// An acquire or a release that waited for it would take the node's time-out.
func frozen(out io.Writer, servers []*locktest.Server, r lock.Resources, rounds int) error {
	const nodeTimeout = 50 * time.Millisecond
	ctx := context.Background()
	l, err := lock.Open("redlock", r, lock.Options{Prefix: "frozen:", NodeTimeout: nodeTimeout, Wait: time.Second})
	if err != nil {
		return err
	}
	defer l.Close(ctx)
	warm, err := l.Acquire(ctx, "warm up")
	if err != nil {
		return err
	}
	if err := warm.Release(ctx); err != nil {
		return err
	}
	last := servers[len(servers)-1]
	if err := last.Freeze(); err != nil {
		return err
	}
	defer last.Thaw()
	var acquires, releases []time.Duration
	for range rounds {
		began := time.Now()
		lease, err := l.Acquire(ctx, "k")
		if err != nil {
			return err
		}
		held := time.Now()
		if err := lease.Release(ctx); err != nil {
			return err
		}
		acquires, releases = append(acquires, held.Sub(began)), append(releases, time.Since(held))
	}
	fmt.Fprintf(out, "\n| redlock, 1 of %d nodes frozen, node time-out %v, %d rounds | p50 | p99 | max |\n| --- | --: | --: | --: |\n",
		len(servers), nodeTimeout, rounds)
	for _, row := range []struct {
		name  string
		times []time.Duration
	}{{"acquire", acquires}, {"release", releases}} {
		slices.Sort(row.times)
		fmt.Fprintf(out, "| %s | %v | %v | %v |\n", row.name, round(quantile(row.times, .5)), round(quantile(row.times, .99)), round(quantile(row.times, 1)))
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"

	"seckill/repository"
	"seckill/repository/backend"
)

// engines are the running backends: those that were started for this run, and the addresses of all.
type engines struct {
	addresses
	stops []func() error
}

// start starts what the flags ask for and brings the schema of a database of our own up to date. nodes is how many
// independent Redis servers are needed; the first serves everything else as well. Close the result, also after an error.
func (e *engineFlags) start(ctx context.Context, nodes int) (*engines, error) {
	run := &engines{addresses: addresses{redis: e.redis, nodes: list(e.nodes), db: e.db}}
	if nodes > 1 && len(run.nodes) == 0 && !started(e.redis) {
		return run, usage("the stage redlock needs independent servers: --redlock-nodes")
	}
	if started(e.redis) {
		if err := run.startRedis(ctx, e.redis, nodes); err != nil {
			return run, err
		}
	}
	if started(e.db) {
		return run, run.startDB(ctx, e.db)
	}
	return run, nil
}

func (r *engines) startRedis(ctx context.Context, kind string, nodes int) error {
	if len(r.nodes) > 0 {
		nodes = 1 // the nodes have addresses of their own
	}
	s, err := backend.OpenRedis(ctx, kind, nodes)
	if err != nil {
		return fmt.Errorf("--redis %s: %w", kind, err)
	}
	r.stops = append(r.stops, s.Stop)
	r.redis = s.URLs[0]
	if nodes > 1 {
		r.nodes = s.URLs
	}
	return nil
}

func (r *engines) startDB(ctx context.Context, kind string) error {
	d, err := backend.OpenDB(ctx, kind)
	if err != nil {
		return fmt.Errorf("--db %s: %w", kind, err)
	}
	r.stops = append(r.stops, d.Stop)
	r.db = d.DSN
	if _, err := repository.Migrate(ctx, d.DSN); err != nil {
		return fmt.Errorf("--db %s: %w", kind, err)
	}
	return nil
}

// Close stops what was started, in the reverse order.
func (r *engines) Close() error {
	var errs []error
	for i := len(r.stops) - 1; i >= 0; i-- {
		errs = append(errs, r.stops[i]())
	}
	r.stops = nil
	return errors.Join(errs...)
}

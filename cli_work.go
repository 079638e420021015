package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"seckill/lock"
)

// workFlags are the settings of a process that only works: no HTTP.
type workFlags struct {
	engineFlags
	lifeFlags
	holds      []string
	parentPipe bool
}

func workCommand(std stdio) *cobra.Command {
	w := &workFlags{}
	cmd := command("work", "Write accepted orders and take turns at the jobs, without serving requests", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			if err := w.validate(); err != nil {
				return err
			}
			ctx := cmd.Context()
			if w.parentPipe {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				defer cancel()
				go endWith(std.in, cancel)
			}
			return w.work(ctx, std)
		})
	f := cmd.Flags()
	w.engineFlags.bind(f)
	w.lifeFlags.bind(f)
	f.StringArrayVar(&w.holds, "hold", nil, "hold points, as for serve")
	f.BoolVar(&w.parentPipe, "parent-pipe", false, "end when stdin closes")
	_ = f.MarkHidden("parent-pipe")
	return cmd
}

func (w *workFlags) validate() error {
	if started(w.redis) || started(w.db) {
		return usage("work needs the --redis and --db addresses that the servers use; it starts none of its own")
	}
	for _, h := range w.holds {
		if _, err := parseHold(h); err != nil {
			return usage("%w", err)
		}
	}
	return errors.Join(w.engineFlags.validate(), w.lifeFlags.validate())
}

// work runs the workers and the jobs until ctx ends.
func (w *workFlags) work(ctx context.Context, std stdio) (err error) {
	log := slog.New(slog.NewTextHandler(std.err, nil))
	say := eventWriter(std.out)
	holds, err := armHolds(w.holds, say)
	if err != nil {
		return usage("%w", err)
	}
	a := &app{}
	defer func() { err = errors.Join(err, a.Close()) }()
	l, rdb, err := a.connectLife(ctx, addresses{redis: w.redis, db: w.db}, &w.lifeFlags, holds, log)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	if err := a.startLife(l, lock.Resources{Redis: rdb}, 0); err != nil {
		return err
	}
	say(event{Event: eventListening}) // to Redis and the database; there is no URL
	<-ctx.Done()
	return nil
}

// connectLife connects to running engines for a command that serves no requests.
func (a *app) connectLife(ctx context.Context, at addresses, f *lifeFlags, holds *lock.Holds, log *slog.Logger) (*life, redis.UniversalClient, error) {
	store, err := a.openStore(ctx, at, 0)
	if err != nil {
		return nil, nil, err
	}
	rdb, _, err := a.openRedis(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	ids := store.IDs(nil)
	a.closers = append(a.closers, ids.Close)
	return newLife(f, store, rdb, ids, holds, log), rdb, nil
}

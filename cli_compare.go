package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seckill/loadtest"
	"seckill/repository"
	"seckill/service"
)

// compareFlags say what is compared.
type compareFlags struct {
	engineFlags
	stages, scenarios string
	config            loadtest.Config
	work, ttl, wait   optional
	out               string
	format            *choice
}

func compareCommand(std stdio) *cobra.Command {
	c := &compareFlags{}
	cmd := command("compare", "Run stages in scenarios under load and tell which oversold", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), std) })
	cmd.Long = "compare starts Redis, a database and several servers, lets users click, and judges the orders.\n\n" +
		"Without --stages and --scenarios it runs the set that tells the main steps apart, in about a minute.\n" +
		"Exit code 0: every row is as its stage claims; 1: some row is not."
	c.bind(cmd.Flags())
	return cmd
}

func (c *compareFlags) bind(f *pflag.FlagSet) {
	c.engineFlags.bind(f)
	f.StringVar(&c.stages, "stages", "", "stages or tracks, separated by commas, or all")
	f.StringVar(&c.scenarios, "scenarios", "", "single, multi, slow, late, crash, nested, or all")
	f.IntVar(&c.config.Processes, "processes", 2, "server processes, but for single, which has one")
	f.IntVar(&c.config.Stock, "stock", 0, "units on sale; 0: the scenario's preset, as for the next ones")
	f.IntVar(&c.config.Users, "users", 0, "distinct users")
	f.IntVar(&c.config.Clicks, "clicks", 0, "requests of each user, at the same moment")
	f.IntVar(&c.config.Workers, "workers", 0, "requests under way at once")
	f.Var(&c.work, "work", "how long each order works between its reads and its write; auto: the scenario's preset")
	f.Var(&c.ttl, "ttl", "TTL of the locks")
	f.Var(&c.wait, "wait", "how long an order waits for its lock")
	f.IntVar(&c.config.Repeat, "repeat", 1, "times each row is run")
	f.Uint64Var(&c.config.Seed, "seed", 1, "seed of the order in which users click; 0: from the clock")
	f.StringVar(&c.out, "out", "report", "folder for report files; empty: none")
	c.format = choiceFlag(f, "format", "table", []string{"table", "json", "markdown", "matrix"},
		"what is printed to stdout; matrix: verdicts alone, in Markdown, a column for each scenario")
}

// run validates everything before it starts anything.
func (c *compareFlags) run(ctx context.Context, std stdio) (err error) {
	rows, stages, err := picks(c.stages, c.scenarios)
	if err != nil {
		return err
	}
	c.config.Picks, c.config.Stages = rows, measurable(stages, "")
	c.config.Work, c.config.TTL, c.config.Wait = c.work.d, c.ttl.d, c.wait.d
	c.config.Engines = c.again()
	c.config.Seed = seedOr(c.config.Seed, time.Now())
	if c.config.Processes < 1 || c.config.Repeat < 1 {
		return usage("--processes and --repeat must be at least 1")
	}
	if _, err := c.config.Plans(); err != nil {
		return usage("%w", err)
	}
	if err := c.engineFlags.validate(); err != nil {
		return err
	}
	nodes := 1
	if slices.ContainsFunc(stages, func(s service.Stage) bool { return s.Lock == "redlock" }) {
		nodes = redlockNodes
	}
	run, err := c.start(ctx, nodes)
	defer func() { err = errors.Join(err, run.Close()) }()
	if err != nil {
		return interrupted(ctx, err)
	}
	report, folder, err := c.measure(ctx, run.addresses, stages, std)
	if err != nil {
		return interrupted(ctx, err)
	}
	return c.publish(report, folder, std)
}

// interrupted says so in one word instead of what every part made of it.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// measure runs the rows on running engines.
func (c *compareFlags) measure(ctx context.Context, at addresses, stages []service.Stage, std stdio) (
	r loadtest.Report, folder *loadtest.Folder, err error) {
	env, engine, err := c.environment(ctx, at)
	if err != nil {
		return r, nil, err
	}
	c.config.Stages = measurable(stages, engine)
	plans, err := c.config.Plans()
	if err != nil {
		return r, nil, err
	}
	fleet, err := newFleet(at)
	if err != nil {
		return r, nil, err
	}
	defer fleet.Close()
	runner := loadtest.Runner{Fleet: fleet, Progress: loadtest.NewProgress(std.err, isTerminal(std.err))}
	if c.out != "" {
		if folder, err = loadtest.NewFolder(c.out, time.Now()); err != nil {
			return r, nil, fmt.Errorf("--out: %w", err)
		}
		runner.Results = folder.Results
	}
	rows, err := runner.Run(ctx, plans)
	return loadtest.Report{Env: env, Config: c.config.Settings(), Seed: c.config.Seed, Rows: rows}, folder, err
}

// environment asks the engines what they are. The second result is the engine whose claims hold.
func (e *engineFlags) environment(ctx context.Context, at addresses) (loadtest.Env, string, error) {
	env := loadtest.Env{Go: runtime.Version(), CPUs: runtime.NumCPU()}
	store, err := repository.Open(ctx, at.db, repository.Options{})
	if err != nil {
		return env, "", fmt.Errorf("database: %w", err)
	}
	defer func() { _ = store.Close() }()
	rdb, err := openRedis(at.redis)
	if err != nil {
		return env, "", err
	}
	defer func() { _ = rdb.Close() }()
	redisInfo, err := repository.NewRedis(rdb).Engine(ctx)
	if err != nil {
		return env, "", fmt.Errorf("redis does not answer: %w", err)
	}
	db := store.Engine()
	env.Redis = loadtest.Engine{Kind: kindOf(e.redis), Version: named(redisInfo)}
	env.DB = loadtest.Engine{Kind: kindOf(e.db), Version: named(db)}
	return env, service.EngineOf(db.Kind, db.Version), nil
}

func named(i repository.EngineInfo) string {
	if i.Version == "" {
		return i.Kind
	}
	return i.Kind + " " + i.Version
}

// publish prints the report and turns its verdict into the exit code.
func (c *compareFlags) publish(r loadtest.Report, folder *loadtest.Folder, std stdio) error {
	write := map[string]func(io.Writer) error{"table": r.WriteTable, "json": r.WriteJSON, "markdown": r.WriteMarkdown, "matrix": r.WriteMatrix}
	if err := write[c.format.value](std.out); err != nil {
		return err
	}
	if folder != nil {
		if err := folder.Write(r); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(std.err, "report: %s\n", folder.Path())
	}
	if !r.AsClaimed() {
		return failed(errors.New(r.Summary()))
	}
	return nil
}

// isTerminal tells a terminal from a file and from a pipe. /dev/null passes too, and does not mind.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

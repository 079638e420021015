package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seckill/loadtest"
	"seckill/service"
)

// compareFlags say what is compared.
type compareFlags struct {
	engineFlags
	stages, scenarios string
	config            loadtest.Config
	work, ttl, wait   optional
	targets           string
	out               string
	format            *choice
	changed           func(flag string) bool
}

func compareCommand(std stdio) *cobra.Command {
	c := &compareFlags{}
	cmd := command("compare", "Run stages in scenarios under load and tell which oversold", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), std) })
	cmd.Long = "compare starts Redis, a database and several servers, lets users click, and judges the orders.\n\n" +
		"Without --stages and --scenarios it runs the set that tells the main steps apart, in about a minute.\n" +
		"With --repeat each round runs all rows in an order of its own, and the table shows medians and ranges.\n" +
		"With --targets it drives lab servers that run already, in the scenarios single and multi.\n" +
		"Exit code 0: every row is as its stage claims; 1: some row is not."
	c.bind(cmd.Flags())
	c.changed = cmd.Flags().Changed
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
	f.IntVar(&c.config.Rate, "rate", 0, "requests that begin each second whether or not answers come (open loop); 0: as fast as --workers are")
	f.DurationVar(&c.config.Warmup, "warmup", 0, "sell a voucher that does not count for so long before each row, but where it would use hold points up")
	f.IntVar(&c.config.Repeat, "repeat", 1, "times each row is run, in rounds with shuffled rows")
	f.Uint64Var(&c.config.Seed, "seed", 1, "seed of the order of users, and of rows with --repeat; 0: from the clock")
	f.StringVar(&c.targets, "targets", "", "base URLs of lab servers to drive in place of own ones, separated by commas")
	f.StringVar(&c.out, "out", "report", "folder for report files; empty: none")
	c.format = choiceFlag(f, "format", "table", reportFormats[:4],
		"what is printed to stdout; matrix: verdicts alone, in Markdown, a column for each scenario")
}

// run validates everything before it starts anything.
func (c *compareFlags) run(ctx context.Context, std stdio) (err error) {
	if err := c.aim(); err != nil {
		return err
	}
	rows, stages, err := picks(c.stages, c.scenarios)
	if err != nil {
		return err
	}
	c.config.Picks, c.config.Stages = rows, measurable(stages, "")
	c.config.Work, c.config.TTL, c.config.Wait = c.work.d, c.ttl.d, c.wait.d
	c.config.Seed = seedOr(c.config.Seed, time.Now())
	if c.config.Processes < 1 || c.config.Repeat < 1 {
		return usage("--processes and --repeat must be at least 1")
	}
	if _, err := c.config.Plans(); err != nil {
		return usage("%w", err)
	}
	if len(c.config.Targets) > 0 {
		return c.compareTargets(ctx, stages, std)
	}
	return c.compareOwn(ctx, stages, std)
}

// compareOwn starts engines and servers.
func (c *compareFlags) compareOwn(ctx context.Context, stages []service.Stage, std stdio) (err error) {
	if err := c.engineFlags.validate(); err != nil {
		return err
	}
	c.config.Engines = c.again()
	nodes := 1
	if slices.ContainsFunc(stages, func(s service.Stage) bool { return s.Lock == "redlock" }) {
		nodes = redlockNodes
	}
	run, err := c.start(ctx, nodes)
	defer func() { err = errors.Join(err, run.Close()) }()
	if err != nil {
		return interrupted(ctx, err)
	}
	env, engine, err := c.environment(ctx, run.addresses)
	if err != nil {
		return interrupted(ctx, err)
	}
	servers, err := newFleet(run.addresses)
	if err != nil {
		return err
	}
	defer servers.Close()
	c.config.Stages = measurable(stages, engine)
	return c.measure(ctx, servers, env, std)
}

// interrupted says so in one word instead of what every part made of it.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// measure runs the rows on the fleet and publishes the report.
func (c *compareFlags) measure(ctx context.Context, servers loadtest.Fleet, env loadtest.Env, std stdio) error {
	plans, err := c.config.Plans()
	if err != nil {
		return err
	}
	runner := loadtest.Runner{Fleet: servers, Progress: loadtest.NewProgress(std.err, isTerminal(std.err))}
	var folder *loadtest.Folder
	started := time.Now()
	if c.out != "" {
		if folder, err = loadtest.NewFolder(c.out, started); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		runner.Results = folder.Results
	}
	rows, err := runner.Run(ctx, plans)
	report := c.config.Report(env, started, rows)
	if err != nil {
		report.Missing = len(plans) - len(rows)
		return errors.Join(interrupted(ctx, err), keepRows(report, folder, std))
	}
	return c.publish(report, folder, std)
}

// keepRows saves what was measured before a comparison was stopped: it may have taken an hour.
func keepRows(r loadtest.Report, folder *loadtest.Folder, std stdio) error {
	if folder == nil || len(r.Rows) == 0 {
		return nil
	}
	_, _ = fmt.Fprintf(std.err, "incomplete report: %s\n", folder.Path())
	return folder.Write(r, stageTexts())
}

// publish prints the report and turns its verdict into the exit code.
func (c *compareFlags) publish(r loadtest.Report, folder *loadtest.Folder, std stdio) error {
	if err := writeReport(std.out, r, c.format.value); err != nil {
		return err
	}
	if folder != nil {
		if err := folder.Write(r, stageTexts()); err != nil {
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

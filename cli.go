package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seckill/repository"
)

// Exit codes.
const (
	exitFailed = 1 // a row of compare is not as claimed, or a check failed
	exitUsage  = 2 // unknown command, flag or value
	exitCannot = 3 // could not run: a port in use, a missing program, an interruption
)

// stdio is what a command reads and writes.
type stdio struct {
	in  io.Reader
	out io.Writer // what was asked for, and nothing else
	err io.Writer // everything about the getting there
}

// exitError gives an error its exit code.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}
func failed(err error) error { return exitError{exitFailed, err} }
func cannot(err error) error { return exitError{exitCannot, err} }

// run runs one command line and returns the exit code. It returns when everything the command started has ended.
func run(ctx context.Context, args []string, std stdio) int {
	root := newRoot(std)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	// What carries no code comes from cobra: an unknown command, a wrong number of arguments.
	coded := exitError{code: exitUsage, err: err}
	errors.As(err, &coded)
	hint := ""
	if coded.code == exitUsage {
		hint = " (seckill --help lists what there is)"
	}
	_, _ = fmt.Fprintf(std.err, "seckill: %s%s\n", oneLine(err), hint)
	return coded.code
}

// oneLine keeps the lines of an error apart, such as those of joined errors.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if words := strings.Fields(line); len(words) > 0 {
			parts = append(parts, strings.Join(words, " "))
		}
	}
	return strings.Join(parts, "; ")
}

func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "seckill",
		Short: "Flash sales of vouchers: a lesson, a measuring instrument and a reference service",
		Long: "seckill sells vouchers in every way from broken to right, measures which way oversells, and shows why.\n\n" +
			"Every flag can also be given as an environment variable: --redlock-nodes is SECKILL_REDLOCK_NODES.\n" +
			"Exit codes: 0 done; 1 a result is not as claimed; 2 bad usage; 3 could not run.",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return fromEnvironment(cmd.Flags(), os.LookupEnv) },
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{exitUsage, err} })
	root.AddCommand(serveCommand(std), workCommand(std), compareCommand(std), reportCommand(std), benchCommand(std), reconcileCommand(std), replayCommand(std),
		jobCommand(std), showCommand(std), stagesCommand(),
		tokenCommand(std), fleetCommand(std), usersCommand(std), kitCommand(std), migrateCommand(std), healthCommand(std), versionCommand(std))
	return root
}

// command makes a cobra command of a function. What the function returns without an exit code could not be run, but for
// an address that is none, which every command with --db may meet.
func command(use, short string, args cobra.PositionalArgs, f func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		err := f(cmd, args)
		var coded exitError
		if err == nil || errors.As(err, &coded) {
			return err
		}
		if errors.Is(err, repository.ErrDSN) {
			return usage("%w", err)
		}
		return cannot(err)
	}}
}

// envName is the environment variable of a flag.
func envName(flag string) string {
	return "SECKILL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that the command line did not set from the environment. An empty variable counts as
// none, because that is what docker compose passes for a variable without a value.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := lookup(envName(f.Name))
		if f.Changed || !ok || value == "" || f.Name == "help" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil && first == nil {
			first = usage("%s=%q: %w", envName(f.Name), value, err)
		}
	})
	return first
}

// withoutSettings is the environment without our variables: a child gets its settings by flags alone.
func withoutSettings(env []string) []string {
	var rest []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "SECKILL_") {
			rest = append(rest, kv)
		}
	}
	return rest
}

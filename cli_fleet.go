package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seckill/loadtest"
	"seckill/service"
)

// maxFleet bounds the servers of one host.
const maxFleet = 32

// fleetFlags say which servers are started for a load generator.
type fleetFlags struct {
	engineFlags
	spec      loadtest.Spec
	port      int
	wait, ttl optional
}

func fleetCommand(std stdio) *cobra.Command {
	f := &fleetFlags{}
	cmd := command("fleet", "Run several lab servers that share Redis and the database, for an outside load generator",
		cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), std) })
	cmd.Long = "Starts what compare starts for one row, and keeps it running: the engines, and servers on --port and the ports\n" +
		"after it. Prints their URLs, separated by commas, when all of them accept requests."
	f.bind(cmd.Flags())
	return cmd
}

func (f *fleetFlags) bind(fs *pflag.FlagSet) {
	f.engineFlags.bind(fs)
	fs.IntVar(&f.spec.Processes, "processes", 2, "servers")
	fs.IntVar(&f.port, "port", 8081, "port of the first server; 0: any free ports")
	fs.StringVar(&f.spec.Stage, "stage", service.DefaultStage, "how orders are placed; seckill stages lists the names")
	fs.DurationVar(&f.spec.Work, "work", 0, "how long every order computes between its reads and its write")
	fs.Var(&f.wait, "wait", "how long an order waits for its lock; auto: as the stage says")
	fs.Var(&f.ttl, "ttl", "TTL of the locks; auto: as the stage says")
	fs.BoolVar(&f.spec.Nested, "nested", false, "the order check and the save each take the lock")
	fs.StringArrayVar(&f.spec.Holds, "hold", nil, "hold point of the first server, as for serve; repeatable")
}

func (f *fleetFlags) validate() error {
	if f.spec.Processes < 1 || f.spec.Processes > maxFleet {
		return usage("--processes must be 1 to %d", maxFleet)
	}
	if f.port < 0 || f.port+f.spec.Processes > 65536 {
		return usage("--port %d leaves no room for %d servers", f.port, f.spec.Processes)
	}
	return f.engineFlags.validate()
}

// run starts everything, prints the URLs, and waits until ctx ends.
func (f *fleetFlags) run(ctx context.Context, std stdio) (err error) {
	if err := f.validate(); err != nil {
		return err
	}
	stage, err := service.StageByName(f.spec.Stage)
	if err != nil {
		return usage("%w", err)
	}
	nodes := 1
	if stage.Lock == "redlock" {
		nodes = redlockNodes
	}
	f.spec.Wait, f.spec.TTL = stage.Wait, stage.TTL
	for _, o := range []struct {
		given *time.Duration
		to    *time.Duration
	}{{f.wait.d, &f.spec.Wait}, {f.ttl.d, &f.spec.TTL}} {
		if o.given != nil {
			*o.to = *o.given
		}
	}
	run, err := f.start(ctx, nodes)
	defer func() { err = errors.Join(err, run.Close()) }()
	if err != nil {
		return unlessEnded(ctx, err)
	}
	servers, err := newFleet(run.addresses)
	if err != nil {
		return err
	}
	defer servers.Close()
	servers.port = f.port
	crew, err := servers.Start(ctx, f.spec)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer crew.Stop()
	if _, err := fmt.Fprintln(std.out, strings.Join(crew.URLs(), ",")); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

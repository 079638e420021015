package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// jobLocks are the locks of the scheduled job's story: its first version, its second, and the one that works.
var jobLocks = []string{"hash", "incr", "lua"}

// jobFlags say how the scheduled job is run.
type jobFlags struct {
	redis     string
	processes int
	lock      *choice
	every     time.Duration
	ticks     int
	holds     []string
	// worker makes this process one of the copies.
	worker     bool
	parentPipe bool
}

func jobCommand(std stdio) *cobra.Command {
	j := &jobFlags{}
	cmd := command("job", "Run one scheduled job on several processes and tell how many ran it each time", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			if err := j.validate(); err != nil {
				return err
			}
			if j.worker {
				return j.work(cmd.Context(), std)
			}
			return j.lead(cmd.Context(), std)
		})
	f := cmd.Flags()
	f.StringVar(&j.redis, "redis", embedded, "embedded, spawn (redis-server or valkey-server from PATH) or a redis:// address")
	f.IntVar(&j.processes, "processes", 3, "processes that each have a copy of the job")
	j.lock = choiceFlag(f, "lock", "lua", jobLocks, "lock that is to let one copy run")
	f.DurationVar(&j.every, "every", 2*time.Second, "time from one run to the next")
	f.IntVar(&j.ticks, "ticks", 0, "end after so many runs; 0: at Ctrl-C")
	f.StringArrayVar(&j.holds, "hold", nil, "hold point of every copy, as for serve")
	f.BoolVar(&j.worker, "worker", false, "be one of the copies")
	f.BoolVar(&j.parentPipe, "parent-pipe", false, "end when stdin closes")
	_, _ = f.MarkHidden("worker"), f.MarkHidden("parent-pipe")
	return cmd
}

func (j *jobFlags) validate() error {
	if j.processes < 1 || j.processes > 32 || j.every < 100*time.Millisecond || j.ticks < 0 {
		return usage("--processes must be 1 to 32, --every at least 100ms, --ticks not negative")
	}
	for _, h := range j.holds {
		if _, err := parseHold(h); err != nil {
			return usage("%w", err)
		}
	}
	return (&engineFlags{redis: j.redis, db: embedded}).validate()
}

// report is what one copy said.
type report struct {
	process string
	event   event
}

// lead starts the copies and counts who ran.
func (j *jobFlags) lead(ctx context.Context, std stdio) (err error) {
	run := &engines{addresses: addresses{redis: j.redis}}
	defer func() { err = errors.Join(err, run.Close()) }()
	if started(j.redis) {
		if err := run.startRedis(ctx, j.redis, 1); err != nil {
			return interrupted(ctx, err)
		}
	}
	fleet, err := newFleet(run.addresses)
	if err != nil {
		return err
	}
	defer fleet.Close()
	reports := make(chan report, 64)
	copies, err := j.startCopies(ctx, fleet, run.redis, reports)
	defer copies.Stop()
	if err != nil {
		return interrupted(ctx, err)
	}
	return j.count(ctx, std.out, copies, reports)
}

func (j *jobFlags) startCopies(ctx context.Context, f *fleet, redis string, reports chan<- report) (*crew, error) {
	c := &crew{}
	starting, startCtx := errgroup.WithContext(ctx)
	for i := range j.processes {
		child := newChild(fmt.Sprintf("p%d", i+1))
		child.on = func(e event) {
			if e.Event != eventTick {
				return
			}
			select {
			case reports <- report{child.name, e}:
			case <-ctx.Done():
			case <-child.asked: // nobody counts any more
			}
		}
		c.children = append(c.children, child)
		args := []string{"job", "--worker", "--parent-pipe", "--redis=" + redis, "--lock=" + j.lock.value, "--every=" + j.every.String()}
		for _, h := range j.holds {
			args = append(args, "--hold="+h)
		}
		starting.Go(func() error { return child.start(startCtx, f, args) })
	}
	return c, starting.Wait()
}

// count prints a line for each slot that all copies have reported.
func (j *jobFlags) count(ctx context.Context, out io.Writer, copies *crew, reports <-chan report) error {
	slots := map[string][]report{}
	once, total := 0, 0
	alive := time.NewTicker(time.Second)
	defer alive.Stop()
	for ctx.Err() == nil && (j.ticks == 0 || total < j.ticks) {
		select {
		case <-ctx.Done():
		case <-alive.C:
			if deaths := copies.Deaths(); len(deaths) > 0 {
				return failed(fmt.Errorf("a process died: %v", deaths))
			}
		case r := <-reports:
			slot := r.event.Slot
			if slots[slot] = append(slots[slot], r); len(slots[slot]) < j.processes {
				continue
			}
			ran, err := j.print(out, slot, slots[slot])
			if err != nil {
				return err
			}
			delete(slots, slot)
			total++
			if ran == 1 {
				once++
			}
		}
	}
	_, err := fmt.Fprintf(out, "%d of %d ticks ran exactly once\n", once, total)
	return err
}

// print shows one slot and returns how many copies ran.
func (j *jobFlags) print(out io.Writer, slot string, reports []report) (int, error) {
	ran, problem := whoRan(reports)
	if problem != "" {
		return 0, failed(errors.New(problem))
	}
	_, err := fmt.Fprintf(out, "%s  ran on %d of %d processes (%s)\n", slot, len(ran), j.processes, strings.Join(ran, ", "))
	return len(ran), err
}

func whoRan(reports []report) (ran []string, problem string) {
	for _, r := range reports {
		if r.event.Error != "" {
			problem = r.process + ": " + r.event.Error
		}
		if r.event.Ran {
			ran = append(ran, r.process)
		}
	}
	return ran, problem
}

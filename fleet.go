package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"seckill/loadtest"
)

// fleet starts servers as child processes of this very program. It implements loadtest.Fleet.
type fleet struct {
	exe     string
	engines addresses
	port    int // of the first server, the others follow; 0: any free ports
	starts  chan func()
	ended   sync.WaitGroup
}

// newFleet needs the addresses of running backends. Close it when all its crews are stopped.
func newFleet(engines addresses) (*fleet, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &fleet{exe: exe, engines: engines, starts: make(chan func())}
	f.ended.Go(f.startOnOneThread)
	return f, nil
}

// startOnOneThread runs the starts of all children on one thread that lives as long as the fleet: on Linux a child is
// told of the death of the thread that started it, and Go ends threads when it likes.
func (f *fleet) startOnOneThread() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := range f.starts {
		start()
	}
}

// Close ends the fleet's own goroutine.
func (f *fleet) Close() {
	close(f.starts)
	f.ended.Wait()
}

// Start implements loadtest.Fleet.
func (f *fleet) Start(ctx context.Context, s loadtest.Spec) (loadtest.Crew, error) {
	c := &crew{}
	starting, ctx := errgroup.WithContext(ctx)
	for i := range s.Processes {
		child := newChild(fmt.Sprintf("p%d", i+1))
		c.children = append(c.children, child)
		args := f.arguments(s, i)
		starting.Go(func() error { return child.start(ctx, f, args) })
	}
	if err := starting.Wait(); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// arguments are the command line of server i: what a person would type to see the same.
func (f *fleet) arguments(s loadtest.Spec, i int) []string {
	port := f.port
	if port != 0 {
		port += i
	}
	args := []string{
		"serve", "--parent-pipe", "--lab", fmt.Sprintf("--addr=127.0.0.1:%d", port), fmt.Sprintf("--process=p%d", i+1),
		"--stage=" + s.Stage, "--work=" + s.Work.String(), "--wait=" + s.Wait.String(), "--log-level=warn",
	}
	args = append(args, f.engines.flags()...)
	if s.TTL > 0 {
		args = append(args, "--ttl="+s.TTL.String())
	}
	if len(f.engines.nodes) > 0 {
		// Nodes that share two processors with the load answer late without being down.
		args = append(args, "--redlock-node-timeout=250ms")
	}
	if s.Nested {
		args = append(args, "--nested")
	}
	if i == 0 {
		for _, h := range s.Holds {
			args = append(args, "--hold="+h)
		}
	}
	return args
}

// crew is the children of one row. It implements loadtest.Crew.
type crew struct{ children []*child }

func (c *crew) URLs() []string {
	urls := make([]string, len(c.children))
	for i, child := range c.children {
		urls[i] = child.url
	}
	return urls
}

func (c *crew) Dead(i int) bool { return c.children[i].isDead() }

func (c *crew) Deaths() map[int]string {
	deaths := map[int]string{}
	for i, child := range c.children {
		if how := child.death(); how != "" {
			deaths[i] = how
		}
	}
	return deaths
}

func (c *crew) Said(i int) string { return c.children[i].words.last() }

func (c *crew) Stopped() int {
	n := 0
	for _, child := range c.children {
		n += int(child.stops.Load())
	}
	return n
}

// Stop ends the children side by side and waits for them.
func (c *crew) Stop() {
	var all sync.WaitGroup
	for _, child := range c.children {
		all.Go(child.stop)
	}
	all.Wait()
}

var errNotRunning = errors.New("the process does not run")

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	startLimit = 30 * time.Second // until a child accepts requests
	stopLimit  = 10 * time.Second // from the request to end until it is killed
)

// child is one server process.
type child struct {
	name  string
	url   string      // set before start returns
	on    func(event) // is told of every event; nil: nobody
	stops atomic.Int32

	cmd   *exec.Cmd
	stdin io.Closer // closing it asks the child to end
	ready chan string
	asked chan struct{} // closed when stop asks it to end
	done  chan struct{} // closed when the process has ended

	mu       sync.Mutex
	running  bool
	stopping bool
	how      string // how it ended before it was asked to
	words    tail   // the end of its stderr
}

func newChild(name string) *child {
	return &child{name: name, ready: make(chan string, 1), asked: make(chan struct{}), done: make(chan struct{})}
}

// start runs the program and returns when it accepts requests, has ended, or takes too long.
func (c *child) start(ctx context.Context, f *fleet, args []string) error {
	c.cmd = exec.Command(f.exe, args...)
	c.cmd.Env = withoutSettings(os.Environ())
	c.cmd.SysProcAttr = childAttributes()
	c.cmd.Stdout, c.cmd.Stderr = &lineWriter{each: c.heard}, &c.words
	c.cmd.WaitDelay = time.Second
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	c.stdin = stdin
	result := make(chan error)
	f.starts <- func() { result <- c.cmd.Start() }
	if err := <-result; err != nil {
		return fmt.Errorf("starting %s: %w", c.name, err)
	}
	c.mu.Lock()
	c.running = true
	c.mu.Unlock()
	go c.wait()
	select {
	case c.url = <-c.ready:
		return nil
	case <-c.done:
		return fmt.Errorf("process %s did not start: %s", c.name, c.death())
	case <-time.After(startLimit):
		return fmt.Errorf("process %s did not start within %v: %s", c.name, startLimit, c.words.last())
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *child) wait() {
	err := c.cmd.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	if !c.stopping {
		c.how = c.cmd.ProcessState.String()
		if last := c.words.last(); last != "" {
			c.how += ": " + last
		}
	}
	_ = err // what went wrong is in the process state
	close(c.done)
}

// heard acts on what the child says.
func (c *child) heard(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	if c.on != nil {
		c.on(e)
	}
	switch e.Event {
	case eventListening:
		select {
		case c.ready <- e.URL:
		default:
		}
	case eventStopping:
		c.stops.Add(1)
		time.AfterFunc(time.Duration(e.ForMS)*time.Millisecond, func() { _ = c.signal(wakeProcess) })
	}
}

// signal is a no-op error once the process has been waited for: its number may be another's by then.
func (c *child) signal(send func(*os.Process) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		return errNotRunning
	}
	return send(c.cmd.Process)
}

// stop asks the child to end, wakes it in case it stands still, and kills it when it takes too long.
func (c *child) stop() {
	c.mu.Lock()
	if !c.stopping {
		close(c.asked)
	}
	c.stopping = true
	running := c.running
	c.mu.Unlock()
	if !running {
		return
	}
	_ = c.stdin.Close()
	_ = c.signal(wakeProcess)
	select {
	case <-c.done:
	case <-time.After(stopLimit):
		_ = c.signal((*os.Process).Kill)
		<-c.done
	}
}

func (c *child) isDead() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *child) death() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.how
}

// Kill implements loadtest.Crew.
func (c *crew) Kill(i int) error { return c.children[i].signal((*os.Process).Kill) }

// Pause implements loadtest.Crew.
func (c *crew) Pause(i int, d time.Duration) error {
	child := c.children[i]
	if err := child.signal(stopProcess); err != nil {
		return err
	}
	time.AfterFunc(d, func() { _ = child.signal(wakeProcess) })
	return nil
}

// lineWriter hands complete lines on.
type lineWriter struct {
	each func([]byte)
	rest []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.each(line)
		l.rest = rest
	}
}

// tail keeps the end of what is written to it. Safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if extra := len(t.end) - tailSize; extra > 0 {
		t.end = append(t.end[:0], t.end[extra:]...)
	}
	return len(p), nil
}

// last is the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.end)), "\n")
	return lines[len(lines)-1]
}

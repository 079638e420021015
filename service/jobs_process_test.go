package service_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/lock"
	"seckill/repository/backend/backendtest"
	"seckill/service"
)

// janitorTTL is how long a dead process keeps the job from the others in this test: long against a machine that
// stalls, so that no living holder loses its lock.
const janitorTTL = 6 * time.Second

// busy tells each time that the lock is another's.
type busy struct {
	lock.Locker
	tell func()
}

func (b busy) Acquire(ctx context.Context, key string) (*lock.Lease, error) {
	lease, err := b.Locker.Acquire(ctx, key)
	if errors.Is(err, lock.ErrBusy) {
		b.tell()
	}
	return lease, err
}

// janitorProcess is a process of its own with one job. It says on a pipe that all processes share what happens to it,
// and each run of its job waits for a word on stdin.
func janitorProcess(redisURL, name string) error {
	o, err := redis.ParseURL(redisURL)
	if err != nil {
		return err
	}
	shared, lines := os.NewFile(3, "shared"), bufio.NewScanner(os.Stdin)
	say := func(word string) { _, _ = fmt.Fprintf(shared, "%s %s\n", word, name) } // the parent misses a lost line
	goOn := make(chan struct{})
	go func() {
		for lines.Scan() {
			goOn <- struct{}{}
		}
		os.Exit(0) // the parent has ended
	}()
	opened, err := lock.Open("watchdog", lock.Resources{Redis: redis.NewClient(o)}, lock.Options{TTL: janitorTTL})
	if err != nil {
		return err
	}
	j := service.Janitor{
		Locker: busy{opened, func() { say("busy") }}, Log: slog.New(slog.DiscardHandler),
		Duties: []service.Duty{{Name: "test", Every: 20 * time.Millisecond, Run: func(ctx context.Context) error {
			say("begin")
			select {
			case <-goOn:
				say("end")
			case <-ctx.Done():
				say("lost")
			}
			return nil
		}}},
	}
	j.Run(context.Background())
	return nil
}

// crew are the processes of one test.
type crew struct {
	t      *testing.T
	redis  string
	said   *bufio.Scanner
	write  *os.File
	procs  map[string]*exec.Cmd
	stdins map[string]io.Writer
}

func (c *crew) start(name string) {
	c.t.Helper()
	p := exec.Command(os.Args[0], "-test.run=^TestJanitor_OneProcessAtATime$")
	p.Env = append(os.Environ(), "JANITOR_TEST="+c.redis+" "+name)
	p.ExtraFiles = []*os.File{c.write}
	in, err := p.StdinPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, p.Start())
	c.procs[name], c.stdins[name] = p, in
}

func (c *crew) goOn(name string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.stdins[name], "go on")
	require.NoError(c.t, err)
}

// kill ends a process with SIGKILL.
func (c *crew) kill(name string) {
	c.t.Helper()
	require.NoError(c.t, c.procs[name].Process.Kill())
	_ = c.procs[name].Wait() // killed
	delete(c.procs, name)
}

// next is what was said next, by whom.
func (c *crew) next() (word, name string) {
	c.t.Helper()
	require.True(c.t, c.said.Scan(), "nobody says anything any more: %v", c.said.Err())
	word, name, _ = strings.Cut(c.said.Text(), " ")
	return word, name
}

// begins waits for the next run and tells whose it is. Nobody may have run since the last one ended but the killed.
func (c *crew) begins() string {
	c.t.Helper()
	for {
		if word, name := c.next(); word != "busy" {
			require.Equal(c.t, "begin", word, name)
			return name
		}
	}
}

// alone watches a run until the other process has tried twice to join in: the second time it began after the run did.
func (c *crew) alone(inside string) {
	c.t.Helper()
	for refused := 0; refused < 2; {
		word, name := c.next()
		require.Equal(c.t, "busy", word, "%s, while %s runs the job", name, inside)
		if name != inside {
			refused++
		}
	}
}

// ends waits for the end of a run.
func (c *crew) ends(inside string) {
	c.t.Helper()
	for {
		if word, name := c.next(); word != "busy" {
			require.Equal(c.t, []string{"end", inside}, []string{word, name})
			return
		}
	}
}

// A job that every process has runs in one of them at a time, and when that one is killed another takes it over.
func TestJanitor_OneProcessAtATime(t *testing.T) {
	if child := os.Getenv("JANITOR_TEST"); child != "" {
		redisURL, name, _ := strings.Cut(child, " ")
		if err := janitorProcess(redisURL, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	eachRedis(t, func(t *testing.T, url string) {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		c := &crew{t: t, redis: url, said: bufio.NewScanner(read), write: write, procs: map[string]*exec.Cmd{}, stdins: map[string]io.Writer{}}
		t.Cleanup(func() {
			for name := range c.procs {
				c.kill(name)
			}
			require.NoError(t, errors.Join(read.Close(), write.Close()))
		})
		require.NoError(t, read.SetReadDeadline(time.Now().Add(2*time.Minute)))
		c.start("p1")
		c.start("p2")
		for range 5 {
			inside := c.begins()
			c.alone(inside)
			c.goOn(inside)
			c.ends(inside)
		}
		dies := c.begins()
		c.alone(dies)
		c.kill(dies)
		next := c.begins()
		require.NotEqual(t, dies, next, "the living process takes the job over")
		c.start("p3")
		c.alone(next)
		c.goOn(next)
		c.ends(next)
	})
}

// eachRedis runs the test on an embedded and on a real Redis, each of its own.
func eachRedis(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("embedded", func(t *testing.T) { test(t, backendtest.EmbeddedRedis(t, 1).URLs[0]) })
	t.Run("server", func(t *testing.T) { test(t, backendtest.RedisNodes(t, 1).URLs[0]) })
}

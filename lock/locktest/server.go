package locktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Server is one Redis that laws run on.
type Server struct {
	Addr string
	cmd  *exec.Cmd // nil: embedded
}

// needServer skips a test for which there is no redis-server, or fails it where one is required.
func needServer(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	const reason = "redis-server is not on PATH (Debian: apt-get install redis-server)"
	if os.Getenv("SECKILL_REQUIRE_SERVERS") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// NeedServer is needServer for the tests of other packages.
func NeedServer(t testing.TB) { t.Helper(); needServer(t) }

// Embedded starts n embedded servers whose expiries follow the real clock. They stop with the test.
func Embedded(t testing.TB, n int) []*Server { return embedded(t, n) }

// Spawn starts n real servers on free loopback ports. They stop with the test. Each may get further arguments.
func Spawn(t testing.TB, n int, args ...string) []*Server { return spawned(t, n, args...) }

func embedded(t testing.TB, n int) []*Server {
	servers := make([]*Server, n)
	for i := range servers {
		mini := miniredis.RunT(t)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			follow(mini, stop)
		}()
		t.Cleanup(func() { close(stop); <-stopped })
		servers[i] = &Server{Addr: mini.Addr()}
	}
	return servers
}

// follow moves miniredis' clock, which stands still by itself.
func follow(mini *miniredis.Miniredis, stop <-chan struct{}) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case now := <-tick.C:
			mini.FastForward(now.Sub(last))
			last = now
		case <-stop:
			return
		}
	}
}

func spawned(t testing.TB, n int, args ...string) []*Server {
	t.Helper()
	servers, err := start(n, args...)
	t.Cleanup(func() { stopAll(servers) })
	if err != nil {
		t.Fatal(err)
	}
	return servers
}

// start starts n servers and waits until they answer.
func start(n int, args ...string) (servers []*Server, err error) {
	for range n {
		s := &Server{}
		if err := s.start(args); err != nil {
			return servers, err
		}
		servers = append(servers, s)
	}
	for _, s := range servers {
		err = errors.Join(err, s.ready())
	}
	return servers, err
}

func stopAll(servers []*Server) {
	for _, s := range servers {
		s.stop()
	}
}

func (s *Server) start(args []string) error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.Addr = free.Addr().String()
	_, port, _ := net.SplitHostPort(s.Addr)
	free.Close()
	args = append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", os.TempDir(), "--repl-diskless-sync-delay", "0"}, args...)
	s.cmd = exec.Command("redis-server", args...)
	return s.cmd.Start()
}

func (s *Server) ready() error {
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer rdb.Close()
	var err error
	for range 500 {
		if err = rdb.Ping(context.Background()).Err(); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("redis-server on %s is not ready: %w", s.Addr, err)
}

func (s *Server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Kill ends the server as a crash does.
func (s *Server) Kill() { s.stop() }

// Freeze stops the server's process: connections stay open and nothing is answered. Thaw lets it go on.
func (s *Server) Freeze() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

// Real says whether it is a redis-server.
func (s *Server) Real() bool { return s.cmd != nil }

// Client is a plain client of the server.
func (s *Server) Client() *redis.Client { return redis.NewClient(&redis.Options{Addr: s.Addr}) }

// Start is Spawn outside of a test; stop ends the servers, also after an error.
func Start(n int, args ...string) (servers []*Server, stop func(), err error) {
	servers, err = start(n, args...)
	return servers, func() { stopAll(servers) }, err
}

package locktest

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Server is one Redis that laws run on.
type Server struct {
	Addr    string
	process *process // nil: embedded
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

// start starts n servers, side by side, and waits until they answer.
func start(n int, args ...string) ([]*Server, error) {
	servers, errs := make([]*Server, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			servers[i] = &Server{}
			servers[i].process, servers[i].Addr, errs[i] = launch(args)
		})
	}
	wg.Wait()
	return servers, errors.Join(errs...)
}

func stopAll(servers []*Server) {
	for _, s := range servers {
		if s.process != nil {
			s.process.kill()
		}
	}
}

// Kill ends the server as a crash does.
func (s *Server) Kill() { s.process.kill() }

// Freeze stops the server's process: connections stay open and nothing is answered. Thaw lets it go on.
func (s *Server) Freeze() error { return s.process.signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw() error { return s.process.signal(syscall.SIGCONT) }

// Real says whether it is a redis-server.
func (s *Server) Real() bool { return s.process != nil }

// Client is a plain client of the server.
func (s *Server) Client() *redis.Client { return redis.NewClient(&redis.Options{Addr: s.Addr}) }

// Start is Spawn outside of a test; stop ends the servers, also after an error.
func Start(n int, args ...string) (servers []*Server, stop func(), err error) {
	servers, err = start(n, args...)
	return servers, func() { stopAll(servers) }, err
}

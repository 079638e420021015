package locktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// process is one redis-server of our own. It dies with us (on Linux), however we end.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it was waited for
}

const (
	readyTime = 30 * time.Second // for a start on a slow machine
	portTries = 3                // the port may be taken between its choice and the server's bind
)

// errNotOurs: the port is served by another process, or by none.
var errNotOurs = errors.New("redis-server did not get its port")

// launch starts a redis-server on a free loopback port and waits until it answers. It keeps nothing on disk.
func launch(args []string) (p *process, addr string, err error) {
	for range portTries {
		if addr, err = freeAddr(); err != nil {
			return nil, "", err
		}
		if p, err = startOn(addr, args); err != nil {
			return nil, "", err
		}
		if err = p.ready(addr); err == nil {
			return p, addr, nil
		}
		p.kill()
		if !errors.Is(err, errNotOurs) {
			break
		}
	}
	return nil, "", fmt.Errorf("redis-server on %s: %w", addr, err)
}

func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

func startOn(addr string, args []string) (*process, error) {
	_, port, _ := net.SplitHostPort(addr)
	args = append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", os.TempDir(), "--repl-diskless-sync-delay", "0"}, args...)
	p := &process{cmd: exec.Command("redis-server", args...), exited: make(chan struct{})}
	p.cmd.SysProcAttr = dieWithUs()
	started := make(chan error)
	go p.run(started)
	return p, <-started
}

// run starts the process and waits for it, on a thread that lives as long: to Linux the parent that a process dies
// with is the thread that forked it, and Go ends threads that it does not need.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.exited)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait()
	}
}

// ready waits until the server answers and checks that it is ours.
func (p *process) ready(addr string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(readyTime)
	for {
		pid, err := whoServes(addr)
		switch {
		case err == nil && pid == strconv.Itoa(p.cmd.Process.Pid):
			return nil
		case err == nil:
			return errNotOurs
		}
		select {
		case <-p.exited:
			return errNotOurs
		case <-late:
			return err
		case <-tick.C:
		}
	}
}

// whoServes is the process id of the server. While nobody listens it asks nothing, as go-redis would log that.
func whoServes(addr string) (pid string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	_ = conn.Close()
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer rdb.Close()
	info, err := rdb.Info(context.Background(), "server").Result()
	_, rest, _ := strings.Cut(info, "process_id:")
	pid, _, _ = strings.Cut(rest, "\r\n")
	return pid, err
}

// kill ends the process, frozen or not, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	readyTimeout = 60 * time.Second // a cold database on a slow disk
	readyPoll    = 10 * time.Millisecond
	portTries    = 3
)

// errExited: the server ended before it answered, most likely because its port was taken in between.
var errExited = errors.New("the server ended while starting")

// server is one spawned process.
type server struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process was waited for
	out    tail
	once   sync.Once
	err    error    // of stopping
	dir    *tempDir // removed by stop; nil when it is somebody else's
}

// startServer runs the program. The caller must stop it.
func startServer(dir *tempDir, program string, args ...string) (*server, error) {
	return startServerAs(nil, dir, program, args...)
}

// startServerAs runs the program as another user; nil: as ours. The user is changed before the program starts and
// not by the program itself (--user=…): a change of user makes the kernel forget Pdeathsig.
func startServerAs(as *account, dir *tempDir, program string, args ...string) (*server, error) {
	s := &server{cmd: exec.Command(program, args...), exited: make(chan struct{}), dir: dir}
	s.cmd.SysProcAttr = procAttr(as)
	s.cmd.Dir = dir.path
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.WaitDelay = time.Second // a grandchild may hold the output open
	started := make(chan error)
	go s.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return s, nil
}

// run starts the process and waits for it, on an operating system thread that no other goroutine may use and that
// lives as long as the process does. Linux sends Pdeathsig when the thread that forked ends, and Go ends threads
// that it does not need: forked from any goroutine, a healthy server could be killed at some quiet moment.
func (s *server) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := s.cmd.Start()
	started <- err
	if err == nil {
		s.cmd.Wait() // how it ended is of no interest: it was stopped, or it is a missed ready
		close(s.exited)
	}
}

// waitReady calls ask until it returns nil, the process ends, or ctx or the time-out does.
func (s *server) waitReady(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("%w: %s", errExited, s.out.String())
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer: %w (%v)", filepath.Base(s.cmd.Path), ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// stop kills the server, waits until it is gone and removes its directory. Nothing of it is worth an orderly end.
func (s *server) stop() error {
	s.once.Do(func() {
		select {
		case <-s.exited:
		default:
			killGroup(s.cmd.Process.Pid)
			<-s.exited
		}
		s.err = s.dir.remove()
	})
	return s.err
}

func (s *server) signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// onFreePort calls start with a free port, and with others when the server ends at once. Between finding the port
// and the server's bind any process may take it; only the server itself can tell.
func onFreePort(start func(port int) error) error {
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		err = start(port)
		if try == portTries || !errors.Is(err, errExited) {
			return err
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// lookPath finds the first program that is installed, on PATH or where servers live that users have not on PATH.
func lookPath(install string, programs ...string) (string, error) {
	for _, p := range programs {
		for _, dir := range []string{"", "/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/libexec/mysqld"} {
			if path, err := exec.LookPath(filepath.Join(dir, p)); err == nil {
				return path, nil
			}
		}
	}
	return "", &MissingError{Programs: programs, Install: install}
}

// run executes a program to its end, as another user when as is not nil, with its temporary files in tmp.
func run(ctx context.Context, as *account, tmp, program string, args ...string) error {
	runtime.LockOSThread() // as in server.run: the forking thread must outlive the program
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = procAttr(as)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(program), err, lastLines(string(out)))
	}
	return err
}

// tail keeps the end of what a server prints, for the error when it does not start.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf.Len() > 64<<10 {
		t.buf.Reset()
	}
	return t.buf.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lastLines(t.buf.String())
}

// lastLines is what to quote of a program's output: its last lines marked as errors, else its last lines.
func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	var marked []string
	for _, l := range lines {
		if strings.Contains(l, "ERROR") {
			marked = append(marked, l)
		}
	}
	if len(marked) > 0 {
		lines = marked
	}
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}

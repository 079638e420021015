package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAMissingProgramIsNamedWithItsRemedy(t *testing.T) {
	_, err := lookPath("apt-get install redis-server", "no-such-redis", "no-such-valkey")
	require.ErrorIs(t, err, ErrMissing)
	require.EqualError(t, err, "neither of no-such-redis, no-such-valkey was found on PATH; install one, for example: "+
		"apt-get install redis-server")
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, []string{"no-such-redis", "no-such-valkey"}, missing.Programs)
}

func TestAnUnknownKindIsRefused(t *testing.T) {
	_, err := OpenRedis(t.Context(), "docker", 1)
	require.ErrorContains(t, err, `"docker"`)
	_, err = OpenDB(t.Context(), "docker")
	require.ErrorContains(t, err, `"docker"`)
}

func ourDirs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+strconv.Itoa(os.Getpid())+"-*"))
	require.NoError(t, err)
	return dirs
}

func redisProgram(t *testing.T) string {
	t.Helper()
	p, err := lookPath("apt-get install redis-server", RedisPrograms...)
	if err != nil && os.Getenv("SECKILL_REQUIRE_SERVERS") != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
	return p
}

// A port that somebody took between our finding it and the server's bind is not the end.
func TestATakenPortIsTriedElsewhere(t *testing.T) {
	program := redisProgram(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	r, tries := &Redis{}, 0
	before := len(ourDirs(t))
	err = onFreePort(func(port int) error {
		if tries++; tries == 1 {
			port = taken.Addr().(*net.TCPAddr).Port
		}
		return r.spawnOn(t.Context(), program, port)
	})
	require.NoError(t, err)
	require.Equal(t, 2, tries)
	require.Len(t, r.nodes, 1)
	require.Len(t, ourDirs(t), before+1, "the first try left no directory behind")
	require.NoError(t, r.Stop())
	require.Len(t, ourDirs(t), before)
}

func TestTriesAreBounded(t *testing.T) {
	tries := 0
	err := onFreePort(func(int) error { tries++; return errExited })
	require.ErrorIs(t, err, errExited)
	require.Equal(t, portTries, tries)
	tries = 0
	other := errors.New("other")
	require.ErrorIs(t, onFreePort(func(int) error { tries++; return other }), other)
	require.Equal(t, 1, tries)
}

// A start that is called off leaves neither processes nor directories.
func TestACancelledStartLeavesNothing(t *testing.T) {
	redisProgram(t)
	before := len(ourDirs(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := SpawnRedis(ctx, 2)
	require.ErrorIs(t, err, context.Canceled)
	_, err = SpawnDB(ctx)
	require.Error(t, err)
	require.Len(t, ourDirs(t), before)
}

// A server outlives the thread of the goroutine that asked for it. (Forked on that thread, Pdeathsig would kill it.)
func TestAServerOutlivesTheThreadThatAskedForIt(t *testing.T) {
	redisProgram(t)
	got := make(chan *Redis)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		r, err := SpawnRedis(t.Context(), 1)
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	r := <-got
	s := r.nodes[0].(*server)
	select {
	case <-s.exited:
		t.Fatal("the server died with the thread")
	case <-time.After(200 * time.Millisecond): // nothing signals that something does not happen
	}
	require.NoError(t, r.Stop())
	require.NoError(t, r.Stop(), "a second time")
	require.False(t, alive(s.cmd.Process.Pid))
}

// helperEnv makes the test binary a parent that starts a server, says so and waits to be killed.
const helperEnv = "BACKEND_TEST_PARENT"

func init() {
	switch os.Getenv(helperEnv) {
	case "redis":
		r, err := SpawnRedis(context.Background(), 1)
		parent(err, func() *server { return r.nodes[0].(*server) })
	case "db":
		db, err := SpawnDB(context.Background())
		parent(err, func() *server { return db.node.(*server) })
	}
}

func parent(err error, get func() *server) {
	if err != nil {
		panic(err)
	}
	fmt.Println(get().cmd.Process.Pid, get().dir.path)
	select {}
}

// kill -9 of the program takes its servers with it (on Linux), also those that run as another user, and the next
// start removes what they left.
func TestNoServerOutlivesAKilledParent(t *testing.T) {
	redisProgram(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has Pdeathsig")
	}
	kinds := []string{"redis"}
	if _, err := lookPath("", DBPrograms...); err == nil {
		kinds = append(kinds, "db")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			tmp := t.TempDir() // other programs on this machine sweep the usual one
			// The database's user must be able to pass.
			require.NoError(t, os.Chmod(filepath.Dir(tmp), 0o711))
			pid, dir := startAndKillParent(t, kind, tmp)
			require.Eventually(t, func() bool { return !alive(pid) }, 20*time.Second, 5*time.Millisecond)
			require.DirExists(t, dir)
			sweep(tmp)
			require.NoDirExists(t, dir)
		})
	}
}

// startAndKillParent returns the pid and the directory of the server that the parent had started. Should the server
// outlive it, against all promises, the clean-up kills it.
func startAndKillParent(t *testing.T, kind, tmp string) (pid int, dir string) {
	t.Helper()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperEnv+"="+kind, "TMPDIR="+tmp)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	_, err = fmt.Fscan(out, &pid, &dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		if alive(pid) {
			killGroup(pid)
		}
	})
	require.True(t, alive(pid))
	require.NoError(t, parent.Process.Kill())
	parent.Wait()
	return pid, dir
}

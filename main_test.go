package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"seckill/repository/backend/backendtest"
)

// asProgram makes the test binary behave as the program itself, so that the tests run real processes, and with -race
// race-checked ones, without a second build. Children inherit it.
const asProgram = "RUN_AS_SECKILL"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	os.Exit(backendtest.Main(m))
}

// result of a command line.
type result struct {
	code     int
	out, err string
}

// seckill runs a command line inside of this process; children are processes of their own.
func seckill(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	code := run(ctx, args, stdio{strings.NewReader(""), &out, &errs})
	return result{code, out.String(), errs.String()}
}

// program is the program as a process of its own, in a temporary directory of its own, with a mark by which it and all
// its descendants are found.
type program struct {
	*exec.Cmd
	mark, temp string
	out, err   *tail
}

func newProgram(t *testing.T, args ...string) *program {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	p := &program{Cmd: exec.Command(exe, args...), mark: "E2E_MARK=" + rand.Text(), temp: t.TempDir(), out: &tail{}, err: &tail{}}
	p.Env = append(withoutSettings(os.Environ()), p.mark, "TMPDIR="+p.temp)
	p.Dir = t.TempDir()
	p.Stdout, p.Stderr = p.out, p.err
	return p
}

// begin starts it, and kills it at the end of the test if it still runs by then.
func (p *program) begin(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
}

// ends waits for it and returns its exit code.
func (p *program) ends(t *testing.T) int {
	t.Helper()
	_ = p.Wait() // the exit code is the result
	return p.ProcessState.ExitCode()
}

// left are the processes that carry the mark. Only Linux shows them.
func (p *program) left(t *testing.T) (pids []string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range environs {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(p.mark)) {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	return pids
}

func (p *program) leavesNoProcess(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "linux" {
		require.True(t, becomes(func() bool { return len(p.left(t)) == 0 }), "processes left")
	}
}

// leavesNothing: no process and no temporary file is left.
func (p *program) leavesNothing(t *testing.T) {
	t.Helper()
	p.leavesNoProcess(t)
	files, err := os.ReadDir(p.temp)
	require.NoError(t, err)
	require.Empty(t, files, "temporary files left")
}

// all is everything that was kept.
func (t *tail) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}

// eventually waits until the text has been written.
func eventually(t *testing.T, to *tail, text string) {
	t.Helper()
	if !becomes(func() bool { return strings.Contains(to.all(), text) }) {
		t.Fatalf("never wrote %q but: %s", text, to.all())
	}
}

// becomes tells whether the condition comes true within a minute.
func becomes(f func() bool) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if f() {
			return true
		}
	}
	return false
}

// refused checks that a refusal is one clear line with the right exit code.
func refused(t *testing.T, r result, code int, words string) {
	t.Helper()
	require.Equal(t, code, r.code, r.err)
	require.Contains(t, r.err, words)
	require.NotContains(t, strings.TrimSpace(r.err), "\n", "more than a line")
	require.Empty(t, r.out)
}

package backend

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// deadPID is the pid of a process that has just ended.
func deadPID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	require.NoError(t, cmd.Run())
	return cmd.Process.Pid
}

func makeDir(t *testing.T, root, name string, withLock bool) string {
	t.Helper()
	dir := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	if withLock {
		require.NoError(t, os.WriteFile(filepath.Join(dir, lockName), nil, 0o600))
	}
	return dir
}

// The sweep takes what dead processes of this program left, and nothing else.
func TestSweep(t *testing.T) {
	root, dead := t.TempDir(), deadPID(t)
	stale := makeDir(t, root, fmt.Sprintf("seckill-%d-1", dead), true)
	keep := []string{
		makeDir(t, root, fmt.Sprintf("seckill-%d-1", os.Getpid()), true),  // ours
		makeDir(t, root, fmt.Sprintf("seckill-%d-1", os.Getppid()), true), // a live process's
		makeDir(t, root, fmt.Sprintf("seckill-%d-2", dead), false),        // not made by newTempDir
		makeDir(t, root, "seckill-notes-1", true),
		makeDir(t, root, "seckill--5-1", true),
		makeDir(t, root, "other-1-1", true),
	}
	// A process in another pid namespace: its pid looks dead here, but it holds its lock.
	locked := makeDir(t, root, fmt.Sprintf("seckill-%d-3", dead), true)
	f, err := os.OpenFile(filepath.Join(locked, lockName), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, lockFile(f))

	sweep(root)
	require.NoDirExists(t, stale)
	for _, dir := range append(keep, locked) {
		require.DirExists(t, dir)
	}
}

func TestTempDirIsNamedAndRemoved(t *testing.T) {
	d, err := newTempDir()
	require.NoError(t, err)
	require.Contains(t, filepath.Base(d.path), fmt.Sprintf("seckill-%d-", os.Getpid()))
	require.NoError(t, d.remove())
	require.NoDirExists(t, d.path)
}

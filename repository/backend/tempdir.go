package backend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// tempPrefix begins the name of every directory: seckill-<pid>-<random>.
const tempPrefix = "seckill-"

// tempDir is a temporary directory of this process. It holds a lock on a file in it for as long as it lives, so
// that a process in another pid namespace, which can't judge by the pid, does not take it for a stale one.
type tempDir struct {
	path string
	lock *os.File
}

var sweepOnce sync.Once

func newTempDir() (*tempDir, error) {
	sweepOnce.Do(func() { sweep(os.TempDir()) })
	path, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", tempPrefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	d := &tempDir{path: path}
	if d.lock, err = os.Create(filepath.Join(path, lockName)); err == nil {
		err = lockFile(d.lock)
	}
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

const lockName = ".lock"

// remove deletes the directory with all in it.
func (d *tempDir) remove() error {
	if d.lock != nil {
		d.lock.Close()
	}
	return os.RemoveAll(d.path)
}

// sweep removes the directories that processes left behind which are dead now. What it can't remove stays.
func sweep(root string) {
	dirs, _ := filepath.Glob(filepath.Join(root, tempPrefix+"*-*"))
	for _, dir := range dirs {
		if stale(dir) {
			os.RemoveAll(dir)
		}
	}
}

// stale tells whether dir was made by newTempDir in a process that is dead: no process has its pid, and nobody
// holds its lock.
func stale(dir string) bool {
	pid, _, ok := strings.Cut(strings.TrimPrefix(filepath.Base(dir), tempPrefix), "-")
	n, err := strconv.Atoi(pid)
	if !ok || err != nil || n <= 0 || n == os.Getpid() || alive(n) {
		return false
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if err != nil {
		return false // not ours to judge: another user's, or not made here
	}
	defer lock.Close()
	return lockFile(lock) == nil
}

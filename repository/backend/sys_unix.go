//go:build unix

package backend

import (
	"errors"
	"os"
	"syscall"
)

// alive tells whether a process has this pid, also when it is another user's.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// lockFile locks the file without waiting. The kernel lets go of it when the process ends, however it ends.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// killGroup kills the process and whatever it started itself.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// credential is what a process needs to run as the account; nil for our own.
func credential(as *account) *syscall.Credential {
	if as == nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
}

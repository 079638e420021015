//go:build unix

package main

import (
	"os"
	"syscall"
	"time"
)

// stopSelf stops this process. Some other thread may take the signal, so the caller must not run on before it arrived.
func stopSelf(time.Duration) {
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	time.Sleep(20 * time.Millisecond)
}

// killSelf ends this process as a crash would: nothing is cleaned up.
func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// stopProcess and wakeProcess make a child stand still and go on.
func stopProcess(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func wakeProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

//go:build !unix

package main

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// stopSelf can only hold up the caller where processes can't be stopped.
func stopSelf(d time.Duration) { time.Sleep(d) }

// killSelf ends this process without cleaning up.
func killSelf() { os.Exit(137) }

func stopProcess(*os.Process) error { return errors.New("processes can't be stopped on this system") }
func wakeProcess(*os.Process) error { return nil }

func childAttributes() *syscall.SysProcAttr { return nil }

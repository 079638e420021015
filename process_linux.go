package main

import "syscall"

// childAttributes: a child dies when the thread that started it does, so that not even a killed parent leaves one
// behind, and it is in a group of its own, so that Ctrl-C reaches the parent alone, which then stops it in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

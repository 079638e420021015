//go:build unix && !linux

package main

import "syscall"

// childAttributes: a group of its own, so that Ctrl-C reaches the parent alone, which then stops the child in order.
// A child whose parent was killed ends itself when its stdin closes.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

//go:build !linux

package locktest

import "syscall"

// dieWithUs: only Linux can have a server die with a killed parent.
func dieWithUs() *syscall.SysProcAttr { return nil }

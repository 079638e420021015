//go:build unix && !linux

package backend

import "syscall"

// procAttr puts a server into a process group of its own, so that Ctrl-C on the terminal reaches this program alone
// and it can stop its servers in order. Only Linux can have the server die with a killed parent.
func procAttr(as *account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: credential(as)}
}

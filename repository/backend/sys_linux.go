package backend

import "syscall"

// procAttr puts a server into a process group of its own, so that Ctrl-C on the terminal reaches this program alone
// and it can stop its servers in order, and has the kernel kill the server when this program dies.
//
// The kernel ties Pdeathsig to the thread that forked, not to the process. See server.run.
func procAttr(as *account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: credential(as)}
}

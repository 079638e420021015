package locktest

import "syscall"

// dieWithUs has the kernel kill a server whose parent died, and keeps Ctrl-C on the terminal from it.
func dieWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

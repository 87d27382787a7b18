// Attributes of child processes on Linux.

package processes

import "syscall"

// attributes put a process into a group of its own, which does not outlive the
// test, however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

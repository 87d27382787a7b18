// Prompt acknowledgements by TCP_QUICKACK: tcp(7).

package peers

import (
	"net"
	"syscall"
)

// acknowledgeNow acknowledges what has come. The option does not last, so that it must be set
// after each read. A failure costs only time.
func acknowledgeNow(c *net.TCPConn) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
		})
	}
}

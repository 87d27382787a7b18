//go:build !linux

// Systems without TCP_QUICKACK.

package peers

import "net"

func acknowledgeNow(*net.TCPConn) {}

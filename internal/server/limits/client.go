// The client of a request, because clients share memory, time and connections.

package limits

import (
	"net"
	"net/http"
	"net/netip"
)

// ClientOf returns the client of a request: its IPv4 address, or its IPv6 network of 64 bits,
// because one machine may have any address of such a network. All clients behind one proxy are one
// client.
func ClientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	addr = addr.Unmap()
	if addr.Is4() {
		return addr.String()
	}
	network, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return addr.String()
	}
	return network.String()
}

// Who a request is from, where clients share what there is.

package httpapi

import (
	"net"
	"net/http"
	"net/netip"
)

// clientOf names the client of a request: its address, of IPv6 the network of 64 bits,
// in which one machine may have any address. All clients behind a proxy are one.
func clientOf(r *http.Request) string {
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

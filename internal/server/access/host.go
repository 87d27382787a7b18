// The Host header, against rebinding. A web page may point the name of its own host at this
// machine. To a browser it then has the node's origin.

package access

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// CheckHostSyntax rejects a host if it is not HOST or HOST:PORT (RFC 3986, section 3.2.2). An empty
// one is accepted, because old clients send none.
func CheckHostSyntax(host string) error {
	if host == "" {
		return nil
	}
	if _, ok := splitHost(host); !ok {
		return problem.Errorf(problem.KindBadRequest, "Host", "%q is no HOST or HOST:PORT", problem.Clip(host))
	}
	return nil
}

// Check rejects a request to a loopback address if its Host is not a name of this machine. If a
// token is needed, Check accepts all, because no page has the token. Beyond loopback it accepts all
// too, because the operator has opened the node to everybody who reaches it. No name is looked up.
func (h Hosts) Check(r *http.Request, t Tokens) error {
	if t.needed() || r.Host == "" || h.has(r.Host) {
		return nil
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return nil
	}
	return problem.Errorf(problem.KindForbidden, "Host", "%q is no name of this machine: a web page could have made it one. "+
		"Use localhost or 127.0.0.1; behind a proxy, serve with --public-url, --accept-host or a token", problem.Clip(r.Host))
}

// Hosts are the accepted names in requests to loopback, besides addresses and localhost. They are
// lower-case, and have no final dot.
type Hosts []string

// NewHosts returns the machine's own name, whole and up to its first dot, the host of the public
// URL, and the names of more.
func NewHosts(publicURL string, more []string) Hosts {
	var h Hosts
	if own, err := os.Hostname(); err == nil && own != "" {
		own = canonicalHost(own)
		short, _, _ := strings.Cut(own, ".")
		h = append(h, own, short)
	}
	if u, err := url.Parse(publicURL); err == nil && publicURL != "" {
		if name, ok := splitHost(u.Host); ok {
			h = append(h, name)
		}
	}
	for _, name := range more {
		h = append(h, canonicalHost(name))
	}
	return h
}

// CheckHosts returns an error if one of the texts is not a host without a port.
func CheckHosts(names []string) error {
	for _, name := range names {
		if got, ok := splitHost(name); !ok || got != canonicalHost(name) {
			return fmt.Errorf("http: %q is not the name of a host, such as db.example.org, without a port", name)
		}
	}
	return nil
}

func (h Hosts) has(host string) bool {
	name, ok := splitHost(host)
	if !ok {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(h, name)
}

// splitHost returns the canonical name or address of a Host header, without port and brackets. ok
// is false if it is malformed.
func splitHost(host string) (name string, ok bool) {
	if rest, is := strings.CutPrefix(host, "["); is { // an IPv6 address
		address, port, closed := strings.Cut(rest, "]")
		ip, err := netip.ParseAddr(address)
		return address, closed && err == nil && ip.Is6() && (port == "" || port[0] == ':' && isPort(port[1:]))
	}
	name, port, _ := strings.Cut(host, ":")
	if name == "" || !isPort(port) {
		return "", false
	}
	for _, c := range []byte(name) {
		if !isHostByte(c) {
			return "", false
		}
	}
	return canonicalHost(name), true
}

// isHostByte reports whether a byte may be in a registered name: unreserved ones, sub-delims and
// the percent sign of RFC 3986, and bytes of UTF-8.
func isHostByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("-._~%!$&'()*+,;=", c) >= 0
}

func isPort(text string) bool {
	if text == "" {
		return true // "localhost:" is the default port
	}
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil && text[0] != '+'
}

func canonicalHost(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

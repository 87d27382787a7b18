// The Host header, against rebinding: a web page may have the name of its own host
// point at this machine, and is then of the node's origin to a browser.

package httpapi

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
)

// checkHostSyntax rejects what is no HOST or HOST:PORT (RFC 3986, section 3.2.2).
// An empty Host is one that an old client did not send.
func checkHostSyntax(host string) error {
	if host == "" {
		return nil
	}
	if _, ok := splitHost(host); !ok {
		return errorf(KindBadRequest, "Host", "%q is no HOST or HOST:PORT", clip(host))
	}
	return nil
}

// checkHost rejects what comes to a loopback address under a name that is not this
// machine's. If a token is needed no page has it, and beyond loopback the operator
// has said that all who reach the node may use it. No name is looked up.
func (a *API) checkHost(r *http.Request) error {
	if len(a.tokens.clients) > 0 || r.Host == "" || a.hosts.has(r.Host) {
		return nil
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return nil
	}
	return errorf(KindForbidden, "Host", "%q is no name of this machine: a web page could have made it one. "+
		"Use localhost or 127.0.0.1; behind a proxy, serve with --public-url, --accept-host or a token", clip(r.Host))
}

// hosts are the names under which requests to loopback may come, beside addresses
// and localhost. They are lower-case, and without a dot at their end.
type hosts []string

// newHosts returns the machine's own name, whole and up to its first dot, the host of
// the public URL, and those of more.
func newHosts(publicURL string, more []string) hosts {
	var h hosts
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

// checkHosts says which of the texts is not a host without a port.
func checkHosts(names []string) error {
	for _, name := range names {
		if got, ok := splitHost(name); !ok || got != canonicalHost(name) {
			return fmt.Errorf("http: %q is not the name of a host, such as db.example.org, without a port", name)
		}
	}
	return nil
}

func (h hosts) has(host string) bool {
	name, ok := splitHost(host)
	if !ok {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(h, name)
}

// splitHost returns the canonical name or address in a Host header, without port
// and brackets.
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

// isHostByte reports whether a byte may be in a registered name: unreserved ones,
// sub-delims and the percent sign of RFC 3986, and bytes of UTF-8.
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

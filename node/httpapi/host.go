// The Host header, against rebinding: a web page may have the name of its own host
// point at this machine, and is then of the node's origin to a browser.

package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// checkHost refuses what comes to a loopback address under a name that is not this
// machine's. Where a token is needed no page has it, and beyond loopback the
// operator has said that all who reach the node may use it.
func (a *API) checkHost(r *http.Request) error {
	if a.token.required || r.Host == "" || isOwnName(r.Host) || hostOf(r.Host) == hostOfURL(a.options.PublicURL) {
		return nil
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return nil
	}
	return errorf(KindForbidden, "Host", "%q is no name of this machine: a web page could have made it one. "+
		"Use localhost or 127.0.0.1; behind a proxy, serve with --public-url or a token", clip(r.Host))
}

// isOwnName tells whether a Host header is an address, localhost, or a name without
// a domain: what nobody can have a page under that comes from elsewhere.
func isOwnName(host string) bool {
	name := hostOf(host)
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost")
}

// hostOf returns a Host header's name without its port, in lower case.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func hostOfURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return hostOf(u.Host)
}

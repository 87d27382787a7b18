// The allowed hosts and addresses of requests.

package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrHost is the error if the operator did not allow a URL.
var ErrHost = errors.New("not allowed by the operator")

// Hosts is the operator's list of allowed hosts. It is safe for concurrent use.
//
// There are two checks. The URL's host and port are checked against all rules, before a request and
// at every redirect. The dialled address is checked against the public ranges and the rules that
// are addresses. A name in the list gives no access to private addresses, because its owner may
// point it anywhere.
type Hosts struct {
	names    []nameRule
	prefixes []prefixRule
}

// nameRule is "host" or, with below, "*.host".
type nameRule struct {
	name  string // lower case, without the dot at the end
	below bool
	port  portRule
}

// prefixRule is an address or a network.
type prefixRule struct {
	prefix netip.Prefix
	port   portRule
}

// portRule is a port, "*" for any, or "" for those of http and https.
type portRule string

func (r portRule) allows(port string) bool {
	switch r {
	case "":
		return port == "80" || port == "443"
	case "*":
		return true
	}
	return string(r) == port
}

// ParseHosts parses a list of allowed hosts. An entry is one of
//
//	example.org         the host, at the ports 80 and 443
//	example.org:8890    at this port
//	example.org:*       at any port
//	*.example.org       all hosts below the domain, but not itself; ports as above
//	192.0.2.1:8080      an address; IPv6 with a port in brackets
//	10.0.0.0/8          the addresses of a network, at any port
//
// Names are in ASCII (Punycode). A name gives access to public addresses only. If it stands for an
// address of this machine, a private network or a link, an entry must allow that address too.
func ParseHosts(entries []string) (*Hosts, error) {
	h := &Hosts{}
	for _, entry := range entries {
		if err := h.add(strings.TrimSpace(entry)); err != nil {
			return nil, fmt.Errorf("allowed host %q: %w", entry, err)
		}
	}
	return h, nil
}

func (h *Hosts) add(entry string) error {
	// 1. A network.
	if strings.Contains(entry, "/") && !strings.Contains(entry, "://") {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			return errors.New("neither a network such as 10.0.0.0/8 nor a host: write it without a path")
		}
		if prefix.Addr().Is4In6() {
			return errors.New("write the network as one of IPv4")
		}
		h.prefixes = append(h.prefixes, prefixRule{prefix: prefix.Masked(), port: "*"})
		return nil
	}
	// 2. An address, maybe with a port.
	host, port, err := splitPort(entry)
	if err != nil {
		return err
	}
	if address, err := netip.ParseAddr(host); err == nil {
		address = address.Unmap()
		if address.Zone() != "" {
			return errors.New("an address with a zone")
		}
		h.prefixes = append(h.prefixes, prefixRule{netip.PrefixFrom(address, address.BitLen()), port})
		return nil
	}
	rule := nameRule{port: port}
	host, rule.below = strings.CutPrefix(host, "*.")
	if rule.name, err = normalName(host); err != nil {
		return err
	}
	h.names = append(h.names, rule)
	return nil
}

// splitPort splits "host", "host:port", "[v6]:port", "[v6]" and "v6".
func splitPort(entry string) (host string, port portRule, err error) {
	if inner, ok := strings.CutPrefix(entry, "["); ok && strings.HasSuffix(inner, "]") {
		return strings.TrimSuffix(inner, "]"), "", nil
	}
	if strings.Count(entry, ":") != 1 && !strings.HasPrefix(entry, "[") {
		return entry, "", nil // a name, or an address of IPv6
	}
	host, text, err := net.SplitHostPort(entry)
	if err != nil {
		return "", "", err
	}
	if text == "*" {
		return host, "*", nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", "", fmt.Errorf("the port is %q, not 1 to 65535 or *", text)
	}
	return host, portRule(strconv.FormatUint(number, 10)), nil
}

// normalName returns a host name in lower case and without a final dot. It rejects texts that are a
// name to one resolver and an address to another.
func normalName(host string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case name == "" || strings.Contains(name, "*"):
		return "", errors.New("a host is named, or all below a domain: example.org, *.example.org")
	case len(name) > 253:
		return "", errors.New("the name of the host is too long")
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 0x80:
			return "", errors.New("the name of the host is not ASCII: write it in Punycode (xn--...)")
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.':
		default:
			return "", fmt.Errorf("%q is not in the name of a host", c)
		}
	}
	labels := strings.Split(name, ".")
	if slices.Contains(labels, "") {
		return "", errors.New("the name of the host has an empty part")
	}
	// Some resolvers read 2130706433, 0x7f.1 and 127.1 as 127.0.0.1.
	if c := labels[len(labels)-1][0]; c >= '0' && c <= '9' {
		return "", errors.New("an address is written in full: 192.0.2.1")
	}
	return name, nil
}

// Check returns nil if requests to a URL are allowed, by its scheme, host and port.
func (h *Hosts) Check(u *url.URL) error {
	// 1. Scheme, user and port.
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w: the scheme is %q, only http and https are", ErrHost, u.Scheme)
	}
	if u.User != nil {
		return fmt.Errorf("%w: the IRI has a user in it", ErrHost)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	} else if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return fmt.Errorf("%w: the port %q is none", ErrHost, port)
	} else {
		port = strconv.FormatUint(number, 10)
	}
	// 2. If the host is an address, only rules for addresses may allow it.
	host := u.Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		address = address.Unmap()
		if address.Zone() == "" && slices.ContainsFunc(h.prefixes, func(r prefixRule) bool {
			return r.prefix.Contains(address) && r.port.allows(port)
		}) {
			return nil
		}
		return fmt.Errorf("%w: the address %s, port %s", ErrHost, host, port)
	}
	// 3. Otherwise a rule for names must match.
	name, err := normalName(host)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHost, err)
	}
	if slices.ContainsFunc(h.names, func(r nameRule) bool { return r.matches(name) && r.port.allows(port) }) {
		return nil
	}
	return fmt.Errorf("%w: the host %s, port %s", ErrHost, name, port)
}

func (r nameRule) matches(name string) bool {
	if r.below {
		return strings.HasSuffix(name, "."+r.name)
	}
	return name == r.name
}

// checkAddress returns nil if an address may be reached. It must be the address that the system
// will dial.
func (h *Hosts) checkAddress(address netip.AddrPort) error {
	ip := address.Addr()
	if ip.Zone() == "" {
		ip = ip.Unmap()
		if isPublic(ip) {
			return nil
		}
		port := strconv.Itoa(int(address.Port()))
		for _, r := range h.prefixes {
			if r.prefix.Contains(ip) && (r.port == "" || r.port.allows(port)) {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: the host has an address that is not public; the operator can allow that address beside the host's name", ErrHost)
}

// isPublic reports whether an address is in the public internet. It is not if it belongs to this
// machine, a private network, a link, a group or a reserved range (RFC 6890 and the registries in
// it).
func isPublic(ip netip.Addr) bool {
	if ip.Is4() {
		return !slices.ContainsFunc(reserved4, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	if nat64.Contains(ip) { // its last four bytes are an IPv4 address
		b := ip.As16()
		return isPublic(netip.AddrFrom4([4]byte(b[12:])))
	}
	return global6.Contains(ip) &&
		!slices.ContainsFunc(reserved6, func(p netip.Prefix) bool { return p.Contains(ip) })
}

var (
	reserved4 = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	)
	// All routed addresses of IPv6 are in global6. 6to4 and Teredo are in it too, but contain IPv4
	// addresses, so they are reserved.
	global6   = netip.MustParsePrefix("2000::/3")
	reserved6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// Relations of two pages: their order, their domains, and the class of a link between them.

package weburl

import (
	"bytes"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Compare compares two IRIs in the order of pages: by the keys of their hosts, then by their
// bytes. It returns 0 only if a and b are equal.
func Compare(a, b string) int {
	if a == b {
		return 0
	}
	var bufA, bufB [128]byte
	if c := bytes.Compare(appendHostKey(bufA[:0], a), appendHostKey(bufB[:0], b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// Domain returns the registered domain of the host with this key. A registry of the public suffix
// list gives such a domain to one owner. The domain is reversed as the key is, and the key begins
// with it. For "org.example.www:8080" it is "org.example". If a host is itself such a suffix, an
// address or a key without a host, it is its own domain. Ports are dropped, because they have the
// domain of their host.
//
// Nothing stored may depend on domains, because they change when the list does.
func Domain(hostKey string) string {
	host := cutPort(hostKey)
	if host == "" || host[0] == '[' || host[len(host)-1] == ':' || isNumeric(host) {
		return host
	}
	var buf [128]byte
	name := string(appendReversed(buf[:0], host))
	domain, err := publicsuffix.EffectiveTLDPlusOne(name)
	if err != nil {
		return host
	}
	return host[:len(domain)]
}

// cutPort returns a host key without its port.
func cutPort(hostKey string) string {
	colon := strings.LastIndexByte(hostKey, ':')
	if colon < 0 || colon == len(hostKey)-1 || colon < strings.LastIndexByte(hostKey, ']') {
		return hostKey
	}
	return hostKey[:colon]
}

// Relation is the distance between the two ends of a link.
type Relation uint8

const (
	// SameHost: the host keys are equal.
	SameHost Relation = iota
	// SameDomain: the host keys differ, the domains are equal.
	SameDomain
	// OtherDomain: the domains differ.
	OtherDomain
)

// String returns the relation in words.
func (r Relation) String() string {
	switch r {
	case SameHost:
		return "same host"
	case SameDomain:
		return "same domain"
	}
	return "other domain"
}

// Class returns the relation of the pages src and dst, given as IRIs. Inter-host links are those
// of SameDomain and OtherDomain; inter-domain links are those of OtherDomain.
func Class(src, dst string) Relation { return KeyClass(HostKey(src), HostKey(dst)) }

// KeyClass is [Class] for host keys.
func KeyClass(src, dst string) Relation {
	if src == dst {
		return SameHost
	}
	// Compare two labels first, because most hosts differ within the shortest possible domain.
	// The list is searched only if they are equal.
	src, dst = cutPort(src), cutPort(dst)
	switch {
	case src == dst:
		return SameDomain
	case twoLabels(src) != twoLabels(dst):
		return OtherDomain
	case Domain(src) == Domain(dst):
		return SameDomain
	}
	return OtherDomain
}

// twoLabels returns the first two labels of a host key without its port. They are labels of its
// domain too, whatever the list says.
func twoLabels(host string) string {
	first := strings.IndexByte(host, '.') + 1
	if first == 0 {
		return host
	}
	if second := strings.IndexByte(host[first:], '.'); second >= 0 {
		return host[:first+second]
	}
	return host
}

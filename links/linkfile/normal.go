// Normalization of IRIs of http and https.

package linkfile

import (
	"bytes"

	"github.com/trefoildb/trefoil/triple/iri"
)

// appendNormal appends an IRI with a scheme. If the scheme is http or https, it normalizes the
// IRI: scheme and host in lower case, a path, no dot segments, no fragment. The port is dropped
// if it is empty or the scheme's own (RFC 3986, 6.2.2.1, 6.2.2.3 and 6.2.3). User information
// stays. Other IRIs stay as they are.
func appendNormal(dst, text []byte) ([]byte, error) {
	// 1. Other schemes stay as they are.
	n := schemeLen(text)
	scheme, port := "http:", "80"
	switch {
	case bytes.EqualFold(text[:n], []byte("http:")):
	case bytes.EqualFold(text[:n], []byte("https:")):
		scheme, port = "https:", "443"
	default:
		return append(dst, text...), nil
	}
	rest, ok := bytes.CutPrefix(text[n:], []byte("//"))
	if !ok {
		return dst, errNoHost
	}
	// 2. Split off the fragment, then the authority. It ends at the path or the query.
	if i := bytes.IndexByte(rest, '#'); i >= 0 {
		rest = rest[:i]
	}
	authority := rest
	if i := bytes.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	rest = rest[len(authority):]

	// 3. Append the authority. A ':' inside of brackets belongs to an IPv6 address and is no
	// port.
	start := len(dst)
	dst = append(append(dst, scheme...), "//"...)
	host := authority
	if i := bytes.LastIndexByte(authority, '@'); i >= 0 {
		dst = append(dst, authority[:i+1]...)
		host = authority[i+1:]
	}
	if i := bytes.LastIndexByte(host, ':'); i > bytes.LastIndexByte(host, ']') {
		if digits := host[i+1:]; len(digits) == 0 || string(digits) == port {
			host = host[:i]
		}
	}
	if len(host) == 0 || host[0] == ':' {
		return dst[:start], errNoHost
	}
	at := len(dst)
	dst = append(dst, host...)
	lower(dst[at:])
	// 4. Append path and query. Dot segments are rare, so the IRI is resolved only if it may have
	// some.
	if len(rest) == 0 || rest[0] != '/' {
		dst = append(dst, '/')
	}
	dst = append(dst, rest...)
	if bytes.Contains(rest, []byte("/.")) {
		dst = append(dst[:start], withoutDots(dst[start:])...)
	}
	return dst, nil
}

// withoutDots returns an IRI of http or https without the dot segments of its path. It resolves
// the IRI as a reference against a base of the same scheme.
func withoutDots(text []byte) string {
	n := schemeLen(text)
	base, err := iri.NewBase(string(text[:n]) + "//base/")
	if err != nil { // it has a scheme
		return string(text)
	}
	return base.Resolve(string(text[n:]))
}

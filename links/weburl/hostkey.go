// Host keys: parsing an IRI, and building the key of its host.

package weburl

import (
	"bytes"
	"net/netip"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// HostKey returns the key of the IRI's host, see the package comment. It is
// never empty.
func HostKey(iri string) string {
	var buf [128]byte
	return string(appendHostKey(buf[:0], iri))
}

// AppendHostKey appends the key of the IRI's host to dst and returns the result. dst must not
// overlap iri. It keeps nothing of iri. It allocates only if dst has no room or the host is
// unusual.
func AppendHostKey(dst, iri []byte) []byte {
	return appendHostKey(dst, unsafe.String(unsafe.SliceData(iri), len(iri)))
}

func appendHostKey(dst []byte, iri string) []byte {
	scheme, rest := cutScheme(iri)
	if scheme == "" {
		return append(dst, ':')
	}
	if len(rest) >= 2 && rest[0] == '/' && rest[1] == '/' {
		if a := splitAuthority(rest[2:]); a.host != "" {
			start := len(dst)
			if dst = appendHost(dst, a); len(dst) > start {
				return appendPort(dst, scheme, a.port)
			}
		}
	}
	return append(appendLower(dst, scheme), ':')
}

// cutScheme returns the scheme and the text behind its colon. If there is no scheme, both are
// empty.
func cutScheme(iri string) (scheme, rest string) {
	for i := range len(iri) {
		switch c := iri[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return iri[:i], iri[i+1:]
		default:
			return "", ""
		}
	}
	return "", ""
}

// class is a set of kinds of bytes, as far as an authority distinguishes them.
type class uint8

const (
	classEnd   class = 1 << iota // behind the authority
	classAt                      // behind user info
	classColon                   // before a port, maybe
	classClose                   // of an IPv6 address
	classOdd                     // not ASCII, or the start of an escape
	className                    // neither digit nor dot
)

// classes are the kinds of each byte.
var classes = func() (of [256]class) {
	for c := range of {
		switch {
		case c == '/' || c == '?' || c == '#' || c == '\\':
			of[c] = classEnd
		case c == '@':
			of[c] = classAt
		case c == ':':
			of[c] = classColon | className
		case c == ']':
			of[c] = classClose | className
		case c == '%' || c >= utf8.RuneSelf:
			of[c] = classOdd | className
		case (c < '0' || c > '9') && c != '.':
			of[c] = className
		}
	}
	return of
}()

// authority is the part of an IRI between its two slashes and its path.
type authority struct {
	// host may be an IPv6 address between brackets.
	host, port string
	// seen is the kinds of the host's bytes.
	seen class
}

// splitAuthority returns the authority at the front of rest. It reads rest once.
func splitAuthority(rest string) authority {
	end, from, colon := len(rest), 0, -1
	var seen, beforeColon class
	for i := range len(rest) {
		c := classes[rest[i]]
		if c&(classEnd|classAt|classColon) != 0 {
			if c&classEnd != 0 {
				end = i
				break
			}
			if c&classAt != 0 {
				from, colon, seen = i+1, -1, 0
				continue
			}
			colon, beforeColon = i, seen
		}
		seen |= c
	}
	if colon < 0 || seen&classClose != 0 && strings.LastIndexByte(rest[colon:end], ']') >= 0 {
		return authority{host: rest[from:end], seen: seen}
	}
	return authority{rest[from:colon], rest[colon+1 : end], beforeColon}
}

// appendPort appends a colon and the port, unless it is the scheme's own.
func appendPort(dst []byte, scheme, port string) []byte {
	if port == "" {
		return dst
	}
	if isDigits(port) {
		for len(port) > 1 && port[0] == '0' {
			port = port[1:]
		}
		if port == ownPort(scheme) {
			return dst
		}
	}
	return appendLower(append(dst, ':'), port)
}

// ownPort returns the default port of a scheme, or "" if it has none.
func ownPort(scheme string) string {
	switch {
	case len(scheme) > len("https"):
		return ""
	case strings.EqualFold(scheme, "http"), strings.EqualFold(scheme, "ws"):
		return "80"
	case strings.EqualFold(scheme, "https"), strings.EqualFold(scheme, "wss"):
		return "443"
	case strings.EqualFold(scheme, "ftp"):
		return "21"
	}
	return ""
}

// appendHost appends the key of a host without its port. If the host is a single dot, it appends
// nothing, because a dot is no name.
func appendHost(dst []byte, a authority) []byte {
	host, numeric := a.host, a.seen&className == 0
	if host[0] == '[' && host[len(host)-1] == ']' {
		return appendAddress(dst, host)
	}
	if a.seen&classOdd != 0 {
		host = string(appendASCIIName(nil, host))
		numeric = isNumeric(host)
	}
	host = strings.TrimSuffix(host, ".")
	if numeric {
		return append(dst, host...)
	}
	return appendReversed(dst, host)
}

// appendAddress appends an IPv6 address with its brackets.
func appendAddress(dst []byte, host string) []byte {
	text, zone, zoned := strings.Cut(host[1:len(host)-1], "%")
	address, err := netip.ParseAddr(text)
	if err != nil || !address.Is6() {
		return appendLower(dst, host)
	}
	dst = address.AppendTo(append(dst, '['))
	if zoned {
		dst = append(append(dst, '%'), zone...)
	}
	return append(dst, ']')
}

// appendReversed appends a name with its labels in reverse order and its ASCII letters in lower
// case.
func appendReversed(dst []byte, name string) []byte {
	start := len(dst)
	dst = append(dst, name...)
	key := dst[start:]
	at, end := 0, len(name)
	for i := len(name) - 1; i >= -1; i-- {
		if i >= 0 && name[i] != '.' {
			continue
		}
		for _, c := range []byte(name[i+1 : end]) {
			key[at] = lowerASCII[c]
			at++
		}
		if i >= 0 {
			key[at] = '.'
			at++
		}
		end = i
	}
	return dst
}

// lowerASCII is each byte, ASCII letters in lower case.
var lowerASCII = func() (of [256]byte) {
	for c := range of {
		of[c] = byte(c)
		if 'A' <= c && c <= 'Z' {
			of[c] |= 0x20
		}
	}
	return of
}()

// appendASCIIName appends a name in ASCII form, as far as it has one. It is meant for a name with
// bytes that are not ASCII or are percent-encoded.
func appendASCIIName(dst []byte, name string) []byte {
	labels := appendUnescaped(make([]byte, 0, len(name)), name)
	for {
		label, rest, more := bytes.Cut(labels, []byte{'.'})
		dst = appendASCIILabel(dst, label)
		if !more {
			return dst
		}
		dst = append(dst, '.')
		labels = rest
	}
}

// appendUnescaped appends s. It decodes a percent-encoded byte if it means the same in a host
// name decoded: if it is unreserved or not ASCII.
func appendUnescaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := hexDigit(s[i+1]), hexDigit(s[i+2])
			if c := hi<<4 | lo; hi|lo < 16 && (c >= utf8.RuneSelf || isUnreserved(c)) {
				dst = append(dst, c)
				i += 2
				continue
			}
		}
		dst = append(dst, s[i])
	}
	return dst
}

// hexDigit returns the value of a hexadecimal digit. It returns 0xff if c is none.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xff
}

// isUnreserved reports whether c is an unreserved character of RFC 3986, section 2.3.
func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// isNumeric reports whether a name has only digits and dots.
func isNumeric(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return true
}

// isDigits reports whether s has only digits.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// appendLower appends s with its ASCII letters in lower case.
func appendLower(dst []byte, s string) []byte {
	start := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[start:] {
		dst[start+i] = lowerASCII[c]
	}
	return dst
}

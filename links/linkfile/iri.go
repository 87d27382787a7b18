// IRIs from fields of link files.

package linkfile

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// Reasons for rejecting a field. Users read these texts.
var (
	errNoIRI    = errors.New("this is no absolute IRI: it has no scheme such as http: (host names without one are an option)")
	errNoName   = errors.New("this is neither an absolute IRI nor the name of a host")
	errEmpty    = errors.New("the IRI is missing")
	errNoHost   = errors.New("this IRI of http or https has no host")
	errLongTerm = triple.ErrTermTooLong
)

// Classes of bytes in IRIs.
const (
	byteForbidden = 1 << iota // percent-encoded
	byteHigh                  // above ASCII: part of a character, if it is UTF-8
)

var byteClass = func() (table [256]uint8) {
	for c := range table {
		switch {
		case !triple.IsIRIByte(byte(c)):
			table[c] = byteForbidden
		case c >= utf8.RuneSelf:
			table[c] = byteHigh
		}
	}
	return table
}()

// appendEncoded appends text and percent-encodes bytes if an IRI must not have them. It reports
// whether it changed anything.
func appendEncoded(dst, text []byte) (_ []byte, changed bool) {
	class := uint8(0)
	for _, c := range text {
		class |= byteClass[c]
	}
	if class == 0 || class == byteHigh && utf8.Valid(text) {
		return append(dst, text...), false
	}
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(text); {
		c := text[i]
		size := 1
		encode := byteClass[c] == byteForbidden
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			encode = r == utf8.RuneError && size == 1
		}
		if encode {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, text[i:i+size]...)
		}
		i += size
	}
	return dst, true
}

// schemeLen returns the length of the scheme at the front of text, with its colon. It returns 0
// if there is none.
func schemeLen(text []byte) int {
	for i, c := range text {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// naming turns fields into IRIs.
type naming struct {
	bare, normalize bool
	counts          *Counts
	scratch         []byte
}

// append appends the IRI of a field. On an error dst stays as it was.
func (n *naming) append(dst, field []byte) ([]byte, error) {
	start := len(dst)
	field = trimSpaces(field)
	if len(field) == 0 {
		return dst, errEmpty
	}
	// 1. Decide between an IRI and a bare host. A field without a scheme must be a host.
	scheme := schemeLen(field)
	encode := appendEncoded
	if n.bare && isBareHost(field, scheme) {
		encode = appendBareHost
	} else if scheme == 0 && n.bare {
		return dst, errNoName
	} else if scheme == 0 {
		return dst, errNoIRI
	}
	// 2. Encode, and normalize if the options say so. Encoding comes first, because appendNormal
	// expects an IRI without forbidden bytes.
	var changed bool
	var err error
	if n.normalize {
		n.scratch, changed = encode(n.scratch[:0], field)
		dst, err = appendNormal(dst, n.scratch)
	} else {
		dst, changed = encode(dst, field)
	}
	// 3. Enforce the limit on terms, because a longer IRI cannot be stored.
	if err == nil && len(dst)-start > triple.MaxTermBytes {
		err = errLongTerm
	}
	if err != nil {
		return dst[:start], err
	}
	if changed {
		n.counts.Changed++
	}
	return dst, nil
}

// isBareHost reports whether a field is a host name. scheme is the length of its scheme. A host
// name is labels with dots between them, or a bracketed address. Labels have letters, digits,
// '-', '_' and characters above ASCII; if there is no dot, they must not be digits only. A port,
// path, query or fragment may follow. A name before a port is no scheme if it has a dot or is
// localhost.
func isBareHost(field []byte, scheme int) bool {
	// 1. Cut off the path and the port. A field such as mailto:1 is an IRI, because its "host"
	// has no dot.
	host := field
	if i := bytes.IndexAny(field, "/?#"); i >= 0 {
		host = field[:i]
	}
	if field[0] == '[' {
		end := bytes.IndexByte(host, ']')
		return end > 1 && isPort(host[end+1:])
	}
	if i := bytes.IndexByte(host, ':'); i >= 0 {
		if !isPort(host[i:]) || len(host) == i+1 {
			return false
		}
		host = host[:i]
		if scheme > 0 && bytes.IndexByte(host, '.') < 0 && string(bytes.ToLower(host)) != "localhost" {
			return false
		}
	}
	// 2. Check the labels: no label but the last may be empty.
	labels, digits := 1, true
	before := byte('.')
	for i, c := range host {
		switch {
		case c == '.' && before != '.':
			if i+1 < len(host) {
				labels++
			}
		case c >= '0' && c <= '9':
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_' || c >= utf8.RuneSelf:
			digits = false
		default:
			return false
		}
		before = c
	}
	return len(host) > 0 && (labels > 1 || !digits)
}

// isPort reports whether text is empty or a colon and at most five digits.
func isPort(text []byte) bool {
	if len(text) == 0 {
		return true
	}
	for _, c := range text[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text[0] == ':' && len(text) <= 1+5
}

// appendBareHost appends http:// and the field. The host gets lower case and loses a last dot. If
// there is no path, a '/' follows the host.
func appendBareHost(dst, field []byte) (_ []byte, changed bool) {
	dst = append(dst, "http://"...)
	host, rest := field, []byte(nil)
	if i := bytes.IndexAny(field, "/?#"); i >= 0 {
		host, rest = field[:i], field[i:]
	}
	name, port := host, []byte(nil)
	if i := bytes.LastIndexByte(host, ':'); i > bytes.LastIndexByte(host, ']') {
		name, port = host[:i], host[i:]
	}
	start := len(dst)
	dst, changed = appendEncoded(dst, bytes.TrimSuffix(name, []byte{'.'}))
	lower(dst[start:])
	dst = append(dst, port...)
	if len(rest) == 0 || rest[0] != '/' {
		dst = append(dst, '/')
	}
	dst, restChanged := appendEncoded(dst, rest)
	return dst, changed || restChanged
}

// lower makes the ASCII letters of text lower case, except in percent-encodings.
func lower(text []byte) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%':
			i += 2
		case c >= 'A' && c <= 'Z':
			text[i] = c | 0x20
		}
	}
}

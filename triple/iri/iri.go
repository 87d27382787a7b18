// Package iri resolves relative IRI references against a base by the algorithm of RFC 3986, section
// 5.2. It applies it to IRIs as RFC 3987 requires: characters above ASCII are ordinary ones. It
// normalises nothing beyond that algorithm: no case folding, no percent-encoding, no default ports.
package iri

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// Resolve returns the IRI of a reference at an absolute base. If there are many references at one
// base, [NewBase] is faster.
func Resolve(base, ref string) (string, error) {
	b, err := NewBase(base)
	if err != nil {
		return "", err
	}
	return b.Resolve(ref), nil
}

// Base is a base IRI, split into its parts. The zero Base is no base.
type Base struct {
	iri    string
	prefix string // scheme, ':' and, if there is one, "//" and the authority
	scheme string // scheme with its ':'
	path   string
	query  string // with its '?'; "" if there is none
	// authority is true if prefix has an authority (it may be empty, as in file:///).
	authority bool
}

// NewBase returns the base with the given absolute IRI. It drops a fragment, because a base has
// none. It returns the error of [triple.CheckIRI] if the IRI is malformed.
func NewBase(iri string) (Base, error) {
	if err := triple.CheckIRI(iri); err != nil {
		return Base{}, fmt.Errorf("base: %w", err)
	}
	p := split(iri)
	b := Base{scheme: p.scheme, path: p.path, query: p.query, authority: p.hasAuthority}
	b.prefix = iri[:len(p.scheme)+len(p.authority)]
	b.iri = iri[:len(iri)-len(p.fragment)]
	return b, nil
}

// IsZero reports whether b is no base at all.
func (b Base) IsZero() bool { return b.scheme == "" }

// String returns the base IRI, without a fragment; "" for the zero Base.
func (b Base) String() string { return b.iri }

// Resolve returns the IRI of ref at base b. If ref has a scheme, it is absolute and returned
// unchanged, even with dot segments. If b is zero, ref is returned unchanged too. Time and memory
// are linear in both.
func (b Base) Resolve(ref string) string {
	if b.IsZero() || HasScheme(ref) {
		return ref
	}
	if ref == "" {
		return b.iri
	}
	r := split(ref)
	switch {
	case r.hasAuthority:
		return b.scheme + r.authority + removeDots(r.path) + r.query + r.fragment
	case r.path == "" && r.query == "":
		return b.iri + r.fragment
	case r.path == "":
		return b.prefix + b.path + r.query + r.fragment
	case r.path[0] == '/':
		return b.prefix + removeDots(r.path) + r.query + r.fragment
	}
	return b.prefix + removeDots(b.merge(r.path)) + r.query + r.fragment
}

// merge puts a relative path after the base's last slash (section 5.2.3).
func (b Base) merge(path string) string {
	if b.authority && b.path == "" {
		return "/" + path
	}
	return b.path[:strings.LastIndexByte(b.path, '/')+1] + path
}

// HasScheme reports whether ref starts with a scheme and a colon: it is then an absolute IRI and
// not a relative reference.
func HasScheme(ref string) bool { return schemeLen(ref) > 0 }

// schemeLen returns the length of the scheme with its colon, or 0 if there is none.
func schemeLen(ref string) int {
	for i := 0; i < len(ref); i++ {
		c := ref[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// parts are the components of an IRI reference, each with its delimiters: scheme + authority + path
// + query + fragment is the reference.
type parts struct {
	scheme, authority, path, query, fragment string
	hasAuthority                             bool
}

func split(ref string) parts {
	var p parts
	n := schemeLen(ref)
	p.scheme, ref = ref[:n], ref[n:]
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref, p.fragment = ref[:i], ref[i:]
	}
	if i := strings.IndexByte(ref, '?'); i >= 0 {
		ref, p.query = ref[:i], ref[i:]
	}
	if strings.HasPrefix(ref, "//") {
		p.hasAuthority = true
		i := strings.IndexByte(ref[2:], '/')
		if i < 0 {
			p.authority = ref
			return p
		}
		p.authority, ref = ref[:2+i], ref[2+i:]
	}
	p.path = ref
	return p
}

// removeDots removes "." and ".." segments from a path (section 5.2.4).
func removeDots(path string) string {
	if !strings.Contains(path, "/.") && !strings.HasPrefix(path, ".") {
		return path
	}
	// The cases are the steps of the algorithm; in is its input buffer and must shrink in each.
	out := make([]byte, 0, len(path))
	for in := path; in != ""; {
		switch {
		case strings.HasPrefix(in, "../"):
			in = in[3:]
		case strings.HasPrefix(in, "./"):
			in = in[2:]
		case strings.HasPrefix(in, "/./"):
			in = in[2:]
		case in == "/.":
			in = "/"
		case strings.HasPrefix(in, "/../"):
			in = in[3:]
			out = dropSegment(out)
		case in == "/..":
			in = "/"
			out = dropSegment(out)
		case in == "." || in == "..":
			in = ""
		default:
			// A plain segment moves to the output, with its leading slash if it has one.
			end := strings.IndexByte(in[1:], '/') + 1
			if end == 0 {
				end = len(in)
			}
			out = append(out, in[:end]...)
			in = in[end:]
		}
	}
	return string(out)
}

// dropSegment removes the last segment and its slash from a path.
func dropSegment(path []byte) []byte {
	return path[:max(bytes.LastIndexByte(path, '/'), 0)]
}

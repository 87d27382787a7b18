// IRI references.

package turtle

import (
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/iri"
)

// iriRef parses the IRIREF at pos, resolves it and returns the absolute IRI. repeats must be true
// if the same IRI probably comes again, because it is then interned.
func (p *parser) iriRef(repeats bool) (string, error) {
	// 1. Find the end, and check only the bytes of the classes in it.
	n, classes, err := p.iriLen()
	if err != nil {
		return "", err
	}
	ref := p.buf[p.pos+1 : p.pos+n-1]
	if classes&cHigh != 0 && !utf8.Valid(ref) {
		bad := invalidUTF8(ref)
		return "", p.failIn(inIRI, 1+bad, "invalid UTF-8 (byte 0x%02X)", ref[bad])
	}
	if classes&cEscape != 0 {
		if ref, err = p.unescapeIRI(ref); err != nil {
			return "", err
		}
	}
	// 2. Copy the bytes, because the buffer is reused.
	var s string
	if repeats {
		s = p.intern(ref)
	} else {
		s = string(ref)
	}
	// 3. Resolve a relative IRI. Most IRIs are absolute and need no copy here.
	if !iri.HasScheme(s) {
		switch {
		case p.baseLost:
			return "", p.failAcross(outside, n, "relative IRI <%s> after a malformed base", clip(ref))
		case p.base.IsZero():
			return "", p.failAcross(outside, n, "relative IRI <%s> and no base", clip(ref))
		}
		s = p.base.Resolve(s)
	}
	if len(s) > triple.MaxTermBytes {
		return "", p.failAcross(outside, n, "%v", triple.ErrTermTooLong)
	}
	p.pos += n
	return s, nil
}

// iriLen returns the length of the IRIREF at pos with its brackets, and the classes (cHigh,
// cEscape) of its bytes.
func (p *parser) iriLen() (n int, classes uint16, err error) {
	n = 1
	for {
		b := p.buf[p.pos:]
		for n < len(b) {
			class := ascii[b[n]]
			if class&(cIRI|cHigh|cEscape) == 0 {
				if b[n] == '>' {
					return n + 1, classes, nil
				}
				return 0, 0, p.failIn(inIRI, n, "%q is not allowed in an IRI; expected '>'", rune(b[n]))
			}
			classes |= class
			n++
		}
		if !p.fill() {
			return 0, 0, p.failAcross(inIRI, n, "the IRI that starts here has no '>'")
		}
	}
}

// unescapeIRI returns ref, the inside of the IRIREF at pos, without its \u and \U escapes. The
// result is in p.scratch.
func (p *parser) unescapeIRI(ref []byte) ([]byte, error) {
	p.scratch = p.scratch[:0]
	for i := 0; i < len(ref); {
		if ref[i] != '\\' {
			p.scratch = append(p.scratch, ref[i])
			i++
			continue
		}
		r, size, why := numericEscape(ref[i:])
		if why == "" && r < utf8.RuneSelf && ascii[r]&cIRI == 0 {
			why = "the escape stands for a character that is not allowed in an IRI"
		}
		if why != "" {
			return nil, p.failIn(inIRI, 1+i, "%s", why)
		}
		p.scratch = utf8.AppendRune(p.scratch, r)
		i += size
	}
	return p.scratch, nil
}

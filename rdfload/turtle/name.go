// Prefixed names and blank node labels.

package turtle

import (
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// rune decodes the code point at n bytes after pos. It returns an error if the UTF-8 is invalid,
// and size 0 at the end of the input.
func (p *parser) rune(n int) (r rune, size int, err error) {
	if !p.need(n + utf8.UTFMax) {
		if p.tooLong {
			return 0, 0, p.fail(n, "")
		}
		if p.pos+n >= len(p.buf) {
			return 0, 0, nil
		}
	}
	r, size = utf8.DecodeRune(p.buf[p.pos+n:])
	if r == utf8.RuneError && size == 1 {
		return 0, 0, p.fail(n, "invalid UTF-8 (byte 0x%02X)", p.buf[p.pos+n])
	}
	return r, size, nil
}

// nameLen returns the length of the run of PN_CHARS and '.' at n bytes after pos, without the dots
// at its end.
func (p *parser) nameLen(n int) (int, error) {
	// end is the end of the last character that is not a dot: a name must not end with dots.
	start, end := n, n
	for {
		for b := p.buf[p.pos:]; n < len(b) && ascii[b[n]]&cName != 0; n++ {
			end = n + 1
		}
		// The fast loop ends at the first byte that is not ASCII, or at the buffer's end; peek
		// reads more.
		c := p.peek(n)
		switch {
		case c < 0:
			if p.tooLong {
				return 0, p.fail(0, "")
			}
			return end - start, nil
		case ascii[c]&cName != 0:
			n++
			end = n
		case c == '.':
			n++
		case c >= utf8.RuneSelf:
			r, size, err := p.rune(n)
			if err != nil {
				return 0, err
			}
			if size == 0 || !triple.IsNamePart(r) {
				return end - start, nil
			}
			n += size
			end = n
		default:
			return end - start, nil
		}
	}
}

// prefixLen returns the length of the PN_PREFIX at pos, or 0 if there is none.
func (p *parser) prefixLen() (int, error) {
	c := p.peek(0)
	if c < 0 {
		return 0, nil
	}
	if c >= utf8.RuneSelf {
		r, _, err := p.rune(0)
		if err != nil || !triple.IsNameStart(r) {
			return 0, err
		}
	} else if ascii[c]&cLetter == 0 {
		return 0, nil
	}
	return p.nameLen(0)
}

// keyword returns the word at pos without consuming it. It returns nil if the word is the prefix of
// a prefixed name. The bytes are in the buffer, and valid until the next read.
func (p *parser) keyword() ([]byte, error) {
	// Check the buffer first, because names are nearly always ASCII and in the buffer.
	b := p.buf[p.pos:]
	for i := 0; i < len(b); i++ {
		if ascii[b[i]]&cName == 0 {
			if b[i] == ':' {
				return nil, nil
			}
			break
		}
	}
	n, err := p.prefixLen()
	if err != nil || n == 0 || p.peek(n) == ':' {
		return nil, err
	}
	return p.buf[p.pos : p.pos+n], nil
}

// prefixedName parses PNAME_LN or PNAME_NS at pos and returns the IRI. repeats must be true if the
// same IRI probably comes again, because it is then interned.
func (p *parser) prefixedName(repeats bool) (string, error) {
	n, err := p.prefixLen()
	if err != nil {
		return "", err
	}
	if p.peek(n) != ':' {
		return "", p.expected("a prefixed name")
	}
	namespace, ok := p.prefixes[string(p.buf[p.pos:p.pos+n])]
	if !ok {
		return "", p.fail(0, "prefix %q is not declared", clip(p.buf[p.pos:p.pos+n+1]))
	}
	// 1. Find the end of the local name, and append it to the namespace without its backslashes.
	size, escaped, err := p.localLen(n + 1)
	if err != nil {
		return "", err
	}
	local := p.buf[p.pos+n+1 : p.pos+n+1+size]
	p.scratch = append(p.scratch[:0], namespace...)
	if escaped {
		for i := 0; i < len(local); i++ {
			if local[i] == '\\' {
				i++
			}
			p.scratch = append(p.scratch, local[i])
		}
	} else {
		p.scratch = append(p.scratch, local...)
	}
	if len(p.scratch) > triple.MaxTermBytes {
		return "", p.fail(0, "%v", triple.ErrTermTooLong)
	}
	// 2. Consume the name only now, because errors must be at its start.
	p.pos += n + 1 + size
	if repeats {
		return p.intern(p.scratch), nil
	}
	return string(p.scratch), nil
}

// intern returns b as a string. If it has the same bytes already, it returns the same string.
func (p *parser) intern(b []byte) string {
	if s, ok := p.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(s) <= maxKnownIRIBytes && len(p.known) < maxKnownIRIs {
		p.known[s] = s
	}
	return s
}

// localLen returns the length of the PN_LOCAL at n bytes after pos, or 0 if there is none. escaped
// is true if it has characters escaped by a backslash.
func (p *parser) localLen(n int) (size int, escaped bool, err error) {
	// end is the end of the last character that is not a dot: a local name must not end with dots.
	start, end := n, n
	for {
		for b := p.buf[p.pos:]; n > start && n < len(b) && ascii[b[n]]&cName != 0; n++ {
			end = n + 1
		}
		// The first character has its own rules: n > start is true for all others.
		c := p.peek(n)
		switch {
		case c < 0:
			if p.tooLong {
				return 0, false, p.fail(0, "")
			}
			return end - start, escaped, nil
		case ascii[c]&cName != 0 && (n > start || c != '-') || c == ':':
			n++
			end = n
		case c == '.' && n > start:
			n++
		case c == '%':
			for i := 1; i <= 2; i++ {
				if h := p.peek(n + i); h < 0 || ascii[h]&cHex == 0 {
					return 0, false, p.fail(n, "expected two hexadecimal digits after '%%'")
				}
			}
			n += 3
			end = n
		// The backslash is removed later, because the length counts bytes in the buffer.
		case c == '\\':
			if e := p.peek(n + 1); e < 0 || ascii[e]&cLocalEsc == 0 {
				return 0, false, p.fail(n, "a local name has no such escape; expected one of _~.-!$&'()*+,;=/?#@%% after the backslash")
			}
			escaped = true
			n += 2
			end = n
		case c >= utf8.RuneSelf:
			r, size, err := p.rune(n)
			if err != nil {
				return 0, false, err
			}
			if size == 0 || !triple.IsNamePart(r) || n == start && !triple.IsNameStart(r) {
				return end - start, escaped, nil
			}
			n += size
			end = n
		default:
			return end - start, escaped, nil
		}
	}
}

// blankLabel parses BLANK_NODE_LABEL at pos.
func (p *parser) blankLabel() (triple.Term, error) {
	// 1. The first character must not be '-' or '.'.
	if p.peek(1) != ':' {
		return triple.Term{}, p.fail(0, "expected a blank node label, such as _:b1")
	}
	c := p.peek(2)
	ok := c >= 0 && c != '-' && ascii[c]&cName != 0
	if c >= utf8.RuneSelf {
		r, _, err := p.rune(2)
		if err != nil {
			return triple.Term{}, err
		}
		ok = triple.IsNameStart(r)
	}
	if !ok {
		return triple.Term{}, p.fail(2, "expected a letter, a digit or '_' to start a blank node label")
	}
	// 2. The rest is a name. The label may become longer than in the document.
	n, err := p.nameLen(2)
	if err != nil {
		return triple.Term{}, err
	}
	term := p.blanks.Labelled(p.buf[p.pos+2 : p.pos+2+n])
	if len(term.Value()) > triple.MaxTermBytes {
		return triple.Term{}, p.fail(0, "%v", triple.ErrTermTooLong)
	}
	p.pos += 2 + n
	return term, nil
}

// clip shortens bytes for a message to about 80.
func clip(b []byte) []byte {
	const limit = 80
	if len(b) <= limit {
		return b
	}
	for cut := limit; cut > limit-utf8.UTFMax; cut-- {
		if utf8.RuneStart(b[cut]) {
			return append(b[:cut:cut], "..."...)
		}
	}
	return b[:limit]
}

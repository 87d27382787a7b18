// Literals: strings, numbers and booleans.

package turtle

import (
	"bytes"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// literal parses the RDFLiteral at pos; it must start with the quote q.
func (p *parser) literal(q byte) (triple.Term, error) {
	value, err := p.quoted(q)
	if err != nil {
		return triple.Term{}, err
	}
	var term triple.Term
	size := len(value) // counted as triple.MaxTermBytes requires
	// A language tag or a datatype may follow; both count for the limit of a term.
	switch p.next() {
	case '@':
		lang, err := p.languageTag()
		if err != nil {
			return term, err
		}
		term = triple.NewLang(value, lang)
		size += len(lang)
	case '^':
		datatype, err := p.datatype()
		if err != nil {
			return term, err
		}
		if datatype == triple.RDFLangString || datatype == triple.RDFDirLangString {
			return term, p.fail(0, "a literal of datatype rdf:%s needs a language tag, such as @en", datatype[len(triple.RDF):])
		}
		term = triple.NewTyped(value, datatype)
		if datatype != triple.XSDString {
			size += len(datatype)
		}
	default:
		term = triple.NewString(value)
	}
	if size > triple.MaxTermBytes {
		return term, p.fail(0, "%v", triple.ErrTermTooLong)
	}
	return term, nil
}

// languageTag parses LANG_DIR at pos.
func (p *parser) languageTag() (string, error) {
	// 1. The subtags, and a base direction behind them.
	n := 1
	for start := n; ; start = n {
		c := p.peek(n)
		for c >= 0 && (ascii[c]&cLetter != 0 || start > 1 && ascii[c]&cDigit != 0) {
			n++
			c = p.peek(n)
		}
		if n == start {
			return "", p.fail(n, "expected a language tag, such as @en or @de-AT")
		}
		if c != '-' {
			break
		}
		if p.peek(n+1) == '-' {
			var err error
			if n, err = p.direction(n + len("--")); err != nil {
				return "", err
			}
			break
		}
		n++
	}
	// 2. Copy the tag.
	if p.tooLong {
		return "", p.fail(0, "")
	}
	tag := string(p.buf[p.pos+1 : p.pos+n])
	if err := triple.NewLang("", tag).CheckLanguage(); err != nil {
		return "", p.fail(0, "%v", err)
	}
	p.pos += n
	return tag, nil
}

// direction returns the end of the base direction at n bytes after pos.
func (p *parser) direction(n int) (int, error) {
	start := n
	for c := p.peek(n); c >= 0 && ascii[c]&cLetter != 0; c = p.peek(n) {
		n++
	}
	if word := string(p.buf[p.pos+start : p.pos+n]); word != "ltr" && word != "rtl" {
		return n, p.fail(start, "expected the base direction ltr or rtl after \"--\", found %q", clip([]byte(word)))
	}
	return n, nil
}

// datatype parses '^^' and an IRI.
func (p *parser) datatype() (string, error) {
	if p.peek(1) != '^' {
		return "", p.fail(1, "expected \"^^\" and a datatype")
	}
	p.pos += 2
	if p.next() == '<' {
		return p.iriRef(true)
	}
	return p.prefixedName(true)
}

// quoted parses the string at pos and returns its lexical form. The string must start with the
// quote q.
func (p *parser) quoted(q byte) (string, error) {
	// 1. Count the quotes: one, two for the empty string, or three.
	open, in := 1, inSingle
	if q == '"' {
		in = inDouble
	}
	if p.peek(1) == int(q) {
		if p.peek(2) != int(q) {
			p.pos += 2
			return "", nil
		}
		open, in = 3, in+long
	}
	// 2. Find the end and check the bytes between the quotes.
	n, escaped, err := p.quotedLen(q, open, in)
	if err != nil {
		return "", err
	}
	inside := p.buf[p.pos+open : p.pos+n-open]
	if !utf8.Valid(inside) {
		bad := invalidUTF8(inside)
		return "", p.failIn(in, open+bad, "invalid UTF-8 (byte 0x%02X)", inside[bad])
	}
	// 3. Decode the escapes into scratch, because the buffer must not change.
	if escaped {
		p.scratch = p.scratch[:0]
		for i := 0; i < len(inside); {
			k := bytes.IndexByte(inside[i:], '\\')
			if k < 0 {
				p.scratch = append(p.scratch, inside[i:]...)
				break
			}
			p.scratch = append(p.scratch, inside[i:i+k]...)
			i += k
			r, size, why := stringEscape(inside[i:])
			if why != "" {
				return "", p.failIn(in, open+i, "%s", why)
			}
			p.scratch = utf8.AppendRune(p.scratch, r)
			i += size
		}
		inside = p.scratch
	}
	if len(inside) > triple.MaxTermBytes {
		return "", p.failAcross(outside, n, "%v", triple.ErrTermTooLong)
	}
	value := string(inside)
	p.pos += n
	// A long string must not leave its buffer for the rest of the document.
	if cap(p.scratch) > keepBuffer {
		p.scratch = nil
	}
	return value, nil
}

// Bytes that end a plain run in a string, by kind of string.
const (
	stopSingle = 1 << iota
	stopDouble
	stopLongSingle
	stopLongDouble
)

var stringStops = func() (table [256]uint8) {
	table['\\'] = stopSingle | stopDouble | stopLongSingle | stopLongDouble
	table['\n'] = stopSingle | stopDouble
	table['\r'] = stopSingle | stopDouble
	table['\''] = stopSingle | stopLongSingle
	table['"'] = stopDouble | stopLongDouble
	return table
}()

// quotedLen returns the length of the string at pos with its quotes; open is their number on either
// side. escaped is true if the string has a backslash.
func (p *parser) quotedLen(q byte, open int, in enclosure) (n int, escaped bool, err error) {
	// 1. Skip plain bytes; the table has one bit for each kind of string.
	stop := uint8(1) << (in - inSingle)
	n = open
	for {
		b := p.buf[p.pos:]
		for n < len(b) && stringStops[b[n]]&stop == 0 {
			n++
		}
		if n >= len(b) {
			if !p.fill() {
				return 0, false, p.failAcross(in, len(b), "the string that starts here is not closed")
			}
			continue
		}
		// 2. A stop byte: an escape, a line break, or a quote. Only the last may end the string.
		switch b[n] {
		case '\\':
			escaped = true
			n += 2
		case '\n', '\r':
			return 0, false, p.failIn(brokenString, n, "line break in a string; expected %q, or \\n for a line break, or three quotes around the string", rune(q))
		default:
			if open == 1 {
				return n + 1, escaped, nil
			}
			if p.peek(n+1) == int(q) && p.peek(n+2) == int(q) {
				return n + 3, escaped, nil
			}
			// The reads of peek may have hit the limit.
			if p.tooLong {
				return 0, false, p.failAcross(in, n, "")
			}
			n++
		}
	}
}

// number parses the NumericLiteral at pos.
func (p *parser) number() (triple.Term, error) {
	// 1. Sign and digits. A '.' belongs to the number only if a digit or an exponent follows,
	// because it may end the statement.
	n := 0
	if c := p.peek(0); c == '+' || c == '-' {
		n++
	}
	datatype := triple.XSDInteger
	start := n
	n = p.digits(n)
	whole := n > start
	if p.peek(n) == '.' {
		c := p.peek(n + 1)
		switch {
		case c >= '0' && c <= '9':
			n = p.digits(n + 1)
			datatype = triple.XSDDecimal
		case whole && (c == 'e' || c == 'E') && p.exponent(n+1) > 0:
			n++
		}
	}
	// 2. The form determines the datatype: an exponent makes it a double.
	if n == start {
		return triple.Term{}, p.fail(0, "expected %s", expectObject)
	}
	if e := p.exponent(n); e > 0 {
		n = e
		datatype = triple.XSDDouble
	}
	// 3. Check the limits, then copy.
	if p.tooLong {
		return triple.Term{}, p.fail(0, "")
	}
	if n > triple.MaxTermBytes-len(datatype) {
		return triple.Term{}, p.failAcross(outside, n, "%v", triple.ErrTermTooLong)
	}
	value := string(p.buf[p.pos : p.pos+n])
	p.pos += n
	return triple.NewTyped(value, datatype), nil
}

// digits returns n moved past the digits there.
func (p *parser) digits(n int) int {
	for c := p.peek(n); c >= '0' && c <= '9'; c = p.peek(n) {
		n++
	}
	return n
}

// exponent returns n moved past the EXPONENT there, or 0 if there is none.
func (p *parser) exponent(n int) int {
	if c := p.peek(n); c != 'e' && c != 'E' {
		return 0
	}
	n++
	if c := p.peek(n); c == '+' || c == '-' {
		n++
	}
	if end := p.digits(n); end > n {
		return end
	}
	return 0
}

// Lines of one link each: edges and hosts.

package linkfile

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// edgeParser reads edges and hosts. Consecutive lines form one page if they have the same source.
type edgeParser struct {
	w       window
	naming  naming
	maxLine int
	hosts   bool

	// raw is the beginning of the last source's lines, up to and with the delimiter. Invariant:
	// if raw is not empty, source is the valid IRI of raw.
	raw, source []byte
	text        []byte // the page's links are slices of it
	reject      []byte
}

func newEdgeParser(r io.Reader, opts Options, counts *Counts) *edgeParser {
	hosts := opts.Format == Hosts
	return &edgeParser{w: newWindow(r, &opts), maxLine: opts.MaxLine, hosts: hosts,
		naming: naming{bare: opts.BareHosts || hosts, normalize: opts.Normalize, counts: counts}}
}

func (e *edgeParser) position() Position { return Position{Offset: e.w.offset, Line: e.w.line} }
func (e *edgeParser) rejected() []byte   { return e.reject }

func (e *edgeParser) next(page *Page) error {
	e.text = reuse(e.text)
	for {
		// 1. End the page if the next line has another source or cannot be read. The line stays
		// unread.
		line, size, err := e.w.peekLine(e.maxLine)
		switch {
		case len(page.Links) > 0 && (err != nil || !bytes.HasPrefix(line, e.raw)):
			return nil
		case err == errTooLong:
			return e.rejectLong(line)
		case err != nil:
			return err
		}
		// 2. Resolve the source, unless the line begins as the last one did.
		if len(page.Links) == 0 && !bytes.HasPrefix(line, e.raw) || len(e.raw) == 0 {
			if meansNothing(line) {
				e.w.skipLine(size)
				continue
			}
			if at, err := e.setSource(line); err != nil {
				return e.rejectLine(line, size, at, err.Error())
			}
		}
		// 3. Append the link. If the line is wrong and the page has links, the next call must
		// reject it: a call returns a page or an error.
		link, at, msg := e.link(line)
		if msg != "" {
			if len(page.Links) > 0 {
				return nil // this line begins the next call
			}
			return e.rejectLine(line, size, at, msg)
		}
		page.Source = e.source
		page.Links = append(page.Links, link)
		e.w.skipLine(size)
		if len(page.Links) == partLinks || len(e.text) >= partBytes {
			return nil
		}
	}
}

// setSource sets the source of a line. On an error, at is the byte of the line with the error.
func (e *edgeParser) setSource(line []byte) (at int, err error) {
	e.raw = e.raw[:0]
	end := bytes.IndexByte(line, '\t')
	if e.hosts {
		if at = bytes.IndexByte(line, '|') + 1; at > 0 {
			if end = bytes.IndexByte(line[at:], '|'); end >= 0 {
				end += at
			}
		} else {
			end = -1
		}
		if end < 0 {
			return 0, errNoHostLine
		}
	}
	if end < 0 {
		return len(line), errNoTarget
	}
	e.source, err = e.naming.append(e.source[:0], line[at:end])
	if err == nil {
		e.raw = append(e.raw, line[:end+1]...)
	}
	return at, err
}

// link returns the link of a line that begins with raw. If msg is not "", it is an error at byte
// at.
func (e *edgeParser) link(line []byte) (l Link, at int, msg string) {
	// 1. Split the line and check its fields, because nothing may be appended if one is wrong.
	at = len(e.raw)
	target, rest := cutTab(line[at:])
	weight, rest := cutTab(rest)
	text, rest := cutTab(rest)
	weight, text = trimSpaces(weight), trimSpaces(text)
	switch rest = bytes.Trim(rest, "\t "); {
	case len(trimSpaces(target)) == 0:
		return l, at, errNoTarget.Error()
	case len(weight) > 0 && !isNumber(weight):
		return l, at + len(target) + 1, "expected a weight, which is a number (lines of several targets are of the formats lists or pages)"
	case len(text) > triple.MaxTermBytes:
		return l, at, errLongTerm.Error()
	case len(rest) > 0:
		return l, bytes.LastIndex(line, rest), "expected the line's end after the link's text"
	}
	// 2. Append the texts. The link's slices must have no room behind them, because text grows.
	start := len(e.text)
	var err error
	if e.text, err = e.naming.append(e.text, target); err != nil {
		return l, at, err.Error()
	}
	l.Target = slice(e.text, start)
	if start = len(e.text); len(weight) > 0 {
		e.text = append(e.text, weight...)
		l.Weight = slice(e.text, start)
	}
	if start = len(e.text); len(text) > 0 {
		e.text = appendUTF8(e.text, text)
		l.Text = slice(e.text, start)
	}
	return l, 0, ""
}

func (e *edgeParser) rejectLine(line []byte, size, at int, msg string) error {
	err := e.w.errorAt(line, min(at, len(line)), msg)
	e.reject = line
	e.w.skipLine(size)
	return err
}

func (e *edgeParser) rejectLong(line []byte) error {
	err := e.w.errorAt(line, 0, longText("line", e.maxLine))
	e.reject = bytes.Clone(line[:min(len(line), keptOf(e.maxLine))])
	e.w.skipRest()
	return err
}

// cutTab cuts a line at its first tab.
func cutTab(line []byte) (field, rest []byte) {
	if i := bytes.IndexByte(line, '\t'); i >= 0 {
		return line[:i], line[i+1:]
	}
	return line, nil
}

// slice returns b[start:] with no capacity behind it.
func slice(b []byte, start int) []byte { return b[start:len(b):len(b)] }

// reuse returns the buffer b, emptied. If b is much larger than a part, it returns nil.
func reuse(b []byte) []byte {
	if cap(b) > 4*partBytes {
		return nil
	}
	return b[:0]
}

// appendUTF8 appends text, with U+FFFD for each byte of invalid UTF-8.
func appendUTF8(dst, text []byte) []byte {
	if utf8.Valid(text) {
		return append(dst, text...)
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		dst = utf8.AppendRune(dst, r)
		text = text[size:]
	}
	return dst
}

// isNumber reports whether text is a number in the syntax of xsd:integer, xsd:decimal or
// xsd:double: a sign, digits with a point among them, an exponent.
func isNumber(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	digits, point := 0, false
	for len(text) > 0 {
		switch c := text[0]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && !point:
			point = true
		case (c == 'e' || c == 'E') && digits > 0:
			return isExponent(text[1:])
		default:
			return false
		}
		text = text[1:]
	}
	return digits > 0
}

func isExponent(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

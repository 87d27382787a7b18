// Lines of a page and all its links: lists and pages.

package linkfile

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

var (
	errNoSource   = errors.New("the page that links is missing")
	errNoTarget   = errors.New("the link's target is missing")
	errNoHostLine = errors.New("expected year|host|host, a tab and a count")

	errLineEnd = errors.New("the line's end")
)

// longText returns the message for a line, field or record over the limit.
func longText(what string, limit int) string {
	return fmt.Sprintf("this %s is longer than %d bytes (raise the limit with --max-line)", what, limit)
}

// listParser reads lists and pages field by field, because a line may have any length.
//
// Invariant: between calls the window is at a line's beginning. If inLine is set, it is in a line
// behind the source: at a tab, at the line's end or at a field.
type listParser struct {
	w        window
	naming   naming
	maxField int
	replace  bool // pages

	inLine bool
	first  bool   // no part of the line has been read
	source []byte // of the line
	start  Position
	column int   // of the window's place in the line, from 1, in code points
	done   int64 // targets of the line, read or rejected
	skip   int64 // Position.Skip of the next line: 1 plus the targets already done

	text   []byte // the page's links are slices of it
	reject []byte
}

func newListParser(r io.Reader, opts Options, counts *Counts) *listParser {
	return &listParser{w: newWindow(r, &opts), maxField: opts.MaxLine, replace: opts.Format == Pages, skip: opts.From.Skip,
		naming: naming{bare: opts.BareHosts, normalize: opts.Normalize, counts: counts}}
}

func (l *listParser) position() Position {
	if l.inLine {
		return Position{Offset: l.start.Offset, Line: l.start.Line, Skip: 1 + l.done}
	}
	return Position{Offset: l.w.offset, Line: l.w.line, Skip: l.skip}
}

func (l *listParser) rejected() []byte { return l.reject }

func (l *listParser) next(page *Page) error {
	// 1. Continue in the line of the last part, or begin a new line.
	l.text = reuse(l.text)
	if !l.inLine {
		if err := l.beginLine(); err != nil {
			return err
		}
	}
	page.Source, page.Replace = l.source, l.replace && l.first
	// 2. Read targets until the part is full. If this call already has links, a wrong target is
	// left to the next one: a call returns a page or an error.
	for len(page.Links) < partLinks && len(l.text) < partBytes {
		field, size, err := l.nextField()
		if err == errLineEnd {
			l.inLine = false
			break
		}
		if err != nil && err != errTooLong {
			return err
		}
		start := len(l.text)
		if err == nil {
			l.text, err = l.naming.append(l.text, field)
		}
		if err != nil {
			if len(page.Links) > 0 || page.Replace {
				break // this field begins the next call
			}
			return l.rejectField(field, size, err)
		}
		page.Links = append(page.Links, Link{Target: slice(l.text, start)})
		l.skipField(field, size)
		l.done++
	}
	// 3. The list continues in the next part unless the line has ended.
	page.More = l.inLine
	l.first = false
	return nil
}

// beginLine goes to the next line with content and reads its source.
func (l *listParser) beginLine() error {
	for {
		// 1. Skip comments without reading their fields, because a comment may be longer than any
		// limit.
		switch c, ok := l.w.peekByte(); {
		case !ok && l.w.err != nil:
			return l.w.err
		case !ok:
			return io.EOF
		case c == '#':
			l.w.skipRest()
			continue
		}
		// 2. Read the source. If the first field is not at the line's beginning, the source is
		// missing.
		l.start, l.column = Position{Offset: l.w.offset, Line: l.w.line}, 1
		field, size, err := l.nextField()
		switch {
		case err == errLineEnd:
			continue
		case err == errTooLong:
			return l.rejectLine(longText("field", l.maxField))
		case err != nil:
			return err
		case l.w.offset > l.start.Offset: // behind a tab
			return l.rejectLine(errNoSource.Error())
		}
		if l.source, err = l.naming.append(l.source[:0], field); err != nil {
			return l.rejectLine(err.Error())
		}
		l.skipField(field, size)
		// 3. Only the line after Options.From has targets to skip.
		l.inLine, l.first, l.done = true, l.skip == 0, 0
		return l.skipDone()
	}
}

// skipDone skips the targets read before this reader began.
func (l *listParser) skipDone() error {
	for ; l.done < l.skip-1; l.done++ {
		field, size, err := l.nextField()
		switch err {
		case nil:
			l.skipField(field, size)
		case errTooLong:
			l.skipLong()
		case errLineEnd:
			return fmt.Errorf("%s:%d: %w: the line has %d links and not the %d that were read before",
				shown(l.w.source), l.start.Line, ErrPosition, l.done, l.skip-1)
		default:
			return err
		}
	}
	l.skip = 0
	return nil
}

// nextField goes to the next field that is not blank and returns it. size is its length without
// the delimiter. At the line's end it skips the end and returns errLineEnd. If the field is over
// the limit, it returns the beginning and errTooLong.
func (l *listParser) nextField() (field []byte, size int, err error) {
	for {
		switch c, ok := l.w.peekByte(); {
		case !ok && l.w.err != nil:
			return nil, 0, l.w.err
		case !ok:
			return nil, 0, errLineEnd
		case c == '\n':
			l.w.skipLine(1)
			return nil, 0, errLineEnd
		case c == '\t':
			l.w.skip(1)
			l.column++
			continue
		}
		field, size, err = l.w.peekField(l.maxField)
		if err != nil || len(trimSpaces(field)) > 0 {
			return field, size, err
		}
		l.skipField(field, size)
	}
}

func (l *listParser) skipField(field []byte, size int) {
	l.column += utf8.RuneCount(field)
	l.w.skip(size)
}

// skipLong skips the field at the window's position, of any length.
func (l *listParser) skipLong() {
	for {
		end := min(l.w.find('\t', &l.w.tabAt), l.w.find('\n', &l.w.endAt))
		text := l.w.buf[l.w.pos:end]
		found := end < len(l.w.buf)
		if !found && !l.w.done {
			text = wholeRunes(text)
		}
		l.column += utf8.RuneCount(text)
		l.w.skip(len(text))
		if found || !l.w.readMore() && l.w.pos == len(l.w.buf) {
			return
		}
	}
}

// wholeRunes returns text without an incomplete character at its end.
func wholeRunes(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if rest := text[len(text)-n:]; utf8.RuneStart(rest[0]) {
			if !utf8.FullRune(rest) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// rejectField rejects a target.
func (l *listParser) rejectField(field []byte, size int, err error) error {
	msg := err.Error()
	if err == errTooLong {
		msg = longText("field", l.maxField)
	}
	rejected := &triple.SyntaxError{Source: l.w.source, Line: l.w.line, Column: l.column, Offset: l.w.offset, Msg: msg}
	l.reject = append(append(l.reject[:0], l.source...), '\t')
	l.reject = append(l.reject, field[:min(len(field), keptOf(l.maxField))]...)
	if err == errTooLong {
		l.skipLong()
	} else {
		l.skipField(field, size)
	}
	l.done++
	return rejected
}

// rejectLine rejects the line. The window must be at the line's source.
func (l *listParser) rejectLine(msg string) error {
	rejected := &triple.SyntaxError{Source: l.w.source, Line: l.w.line, Column: l.column, Offset: l.w.offset, Msg: msg}
	kept := keptOf(l.maxField)
	text, _, _ := l.w.peekLine(kept)
	l.reject = append(l.reject[:0], text[:min(len(text), kept)]...)
	l.w.skipRest()
	l.skip = 0
	return rejected
}

// The part of a file in memory, for formats of lines.

package linkfile

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// byteOrderMark may precede a file.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// errTooLong is returned if the requested text is longer than the limit.
var errTooLong = errors.New("too long")

const (
	windowBytes   = 256 << 10
	largeWindow   = 4 << 20 // a window of this size is released when it is no longer needed
	maxEmptyReads = 100     // how often a reader may return neither bytes nor an error
)

// window is the part of a file in memory. buf[pos:] is unread. Its slices are valid until more
// text is read.
type window struct {
	r      io.Reader
	source string
	buf    []byte
	pos    int
	offset int64 // of buf[pos] in the file
	line   int   // of buf[pos], from 1
	done   bool  // the end, or the reader's error, is reached
	err    error // of the reader

	// The next line end and tab. Invariant: there is none in [offset, at). At at there is one, or
	// the search has not gone further.
	endAt, tabAt int64
}

func newWindow(r io.Reader, opts *Options) window {
	w := window{r: r, source: opts.Source, offset: opts.From.Offset, line: max(opts.From.Line, 1), buf: make([]byte, 0, windowBytes)}
	if w.offset == 0 {
		for len(w.buf) < len(byteOrderMark) && w.readMore() {
		}
		if bytes.HasPrefix(w.buf, byteOrderMark) {
			w.skip(len(byteOrderMark))
		}
	}
	return w
}

// readMore reads more text. It returns false if there is none.
func (w *window) readMore() bool {
	if w.done {
		return false
	}
	w.makeRoom()
	for empty := 0; ; empty++ {
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		if err == nil && n == 0 && empty == maxEmptyReads {
			err = io.ErrNoProgress
		}
		if err != nil {
			w.done = true
			if err != io.EOF { // an error that wraps io.EOF is no end
				w.err = err
			}
		}
		if n > 0 || w.done {
			return n > 0
		}
	}
}

// makeRoom makes room behind buf. If more than half of the window is unread, the window doubles.
// So each byte is moved a constant number of times on average.
func (w *window) makeRoom() {
	if len(w.buf) < cap(w.buf) {
		return
	}
	rest := w.buf[w.pos:]
	switch size := cap(w.buf); {
	case len(rest) > size/2:
		w.buf = append(make([]byte, 0, 2*size), rest...)
	case size > largeWindow && len(rest) <= windowBytes/2:
		w.buf = append(make([]byte, 0, windowBytes), rest...)
	default:
		w.buf = w.buf[:copy(w.buf, rest)]
	}
	w.pos = 0
}

// find returns the index in buf of the first unread c, or len(buf) if there is none. at must be
// &w.endAt or &w.tabAt.
func (w *window) find(c byte, at *int64) int {
	i := w.pos + int(max(*at-w.offset, 0))
	if i < len(w.buf) && w.buf[i] != c {
		if n := bytes.IndexByte(w.buf[i:], c); n >= 0 {
			i += n
		} else {
			i = len(w.buf)
		}
	}
	*at = w.offset + int64(i-w.pos)
	return i
}

// peekLine returns the next line without its end. size includes the end. If a line is longer than
// limit, it returns the beginning and errTooLong. At the file's end it returns io.EOF or the
// reader's error. If the reader failed, a line cut off by it is not returned.
func (w *window) peekLine(limit int) (line []byte, size int, err error) {
	for {
		end := w.find('\n', &w.endAt)
		if line = trimEnd(w.buf[w.pos:end]); len(line) > limit {
			return line, 0, errTooLong
		}
		if end < len(w.buf) {
			return line, end + 1 - w.pos, nil
		}
		if !w.readMore() {
			return w.last(line)
		}
	}
}

// peekByte returns the next byte. It returns false if there is none.
func (w *window) peekByte() (c byte, ok bool) {
	if w.pos == len(w.buf) && !w.readMore() {
		return 0, false
	}
	return w.buf[w.pos], true
}

// peekField returns the text before the next tab or line end. size includes a CR of the line end.
// Errors are those of peekLine.
func (w *window) peekField(limit int) (field []byte, size int, err error) {
	for {
		end := w.find('\n', &w.endAt)
		if tab := w.find('\t', &w.tabAt); tab < end {
			field, size = w.buf[w.pos:tab], tab-w.pos
		} else {
			field, size = trimEnd(w.buf[w.pos:end]), end-w.pos
		}
		if len(field) > limit {
			return field, 0, errTooLong
		}
		if w.pos+size < len(w.buf) {
			return field, size, nil
		}
		if !w.readMore() {
			return w.last(field)
		}
	}
}

// last returns the last line of the file, if it has no line end.
func (w *window) last(line []byte) ([]byte, int, error) {
	switch size := len(w.buf) - w.pos; {
	case w.err != nil:
		return nil, 0, w.err
	case size == 0:
		return nil, 0, io.EOF
	default:
		return line, size, nil
	}
}

// skip advances by n bytes in a line.
func (w *window) skip(n int) {
	w.pos += n
	w.offset += int64(n)
}

// skipLine advances by a line of size bytes.
func (w *window) skipLine(size int) {
	w.skip(size)
	w.line++
}

// skipRest advances behind the line's end, however long the line is.
func (w *window) skipRest() {
	for {
		if end := w.find('\n', &w.endAt); end < len(w.buf) {
			w.skipLine(end + 1 - w.pos)
			return
		}
		w.skip(len(w.buf) - w.pos)
		if !w.readMore() {
			w.line++
			return
		}
	}
}

// errorAt returns an error at byte at of text. text must begin at buf[pos:] and at must be on its
// first line.
func (w *window) errorAt(text []byte, at int, msg string) *triple.SyntaxError {
	return &triple.SyntaxError{Source: w.source, Line: w.line, Column: 1 + utf8.RuneCount(text[:at]),
		Offset: w.offset + int64(at), Msg: msg}
}

// trimEnd cuts off the CR if a line ends in CR LF.
func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// trimSpaces cuts the spaces off both ends of a field.
func trimSpaces(field []byte) []byte {
	for len(field) > 0 && field[0] == ' ' {
		field = field[1:]
	}
	for len(field) > 0 && field[len(field)-1] == ' ' {
		field = field[:len(field)-1]
	}
	return field
}

// meansNothing reports whether a line is a comment or blank.
func meansNothing(line []byte) bool {
	if len(line) > 0 && line[0] == '#' {
		return true
	}
	for _, c := range line {
		if c != ' ' && c != '\t' {
			return false
		}
	}
	return true
}

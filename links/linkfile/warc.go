// Records of WARC files (ISO 28500).

package linkfile

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/trefoildb/trefoil/triple"
)

// A record has this form:
//
//	WARC/1.0 CR LF
//	name: value CR LF         named fields, names in letters of either case; a line
//	...                       that begins with white space goes on with the last one
//	CR LF
//	block                     Content-Length bytes
//	CR LF CR LF
//
// The reader also accepts LF alone for CR LF, and any number of blank lines for the two.

// maxWARCHeader limits a record's header, in bytes. The page's address is in it.
const maxWARCHeader = 1 << 20

// warcHeader is the header of a record, as far as it is used.
type warcHeader struct {
	kind   []byte // WARC-Type
	target []byte // WARC-Target-URI, without angle brackets
	length int64  // Content-Length
}

// warcReader reads records from a window. After a reject the window is at the place to continue.
type warcReader struct {
	window
	maxRecord int
	header    warcHeader
	start     Position // of the current record
	reject    []byte
	lost      bool // the next record must be searched for; see findAgain
}

// next reads the header of the next record. The caller must then read or skip the block.
func (r *warcReader) next() error {
	if err := r.findAgain(); err != nil {
		return err
	}
	if err := r.skipBlank(); err != nil {
		return err
	}
	r.start = Position{Offset: r.offset, Line: r.line}
	r.header = warcHeader{target: r.header.target[:0], kind: r.header.kind[:0], length: -1}
	line, size, err := r.peekLine(maxWARCHeader)
	if err != nil && err != errTooLong {
		return err
	}
	if err == errTooLong || !bytes.HasPrefix(line, []byte("WARC/")) {
		return r.broken("expected a record, which begins with WARC/1.0", line)
	}
	r.skipLine(size)
	if err := r.fields(); err != nil {
		return err
	}
	if r.header.length < 0 {
		return r.broken("this record has no Content-Length", nil)
	}
	return nil
}

// skipBlank skips blank lines.
func (r *warcReader) skipBlank() error {
	for {
		line, size, err := r.peekLine(maxWARCHeader)
		if err != nil || len(line) > 0 {
			if err == errTooLong {
				err = nil
			}
			return err
		}
		r.skipLine(size)
	}
}

// fields reads the named fields and the blank line behind them.
func (r *warcReader) fields() error {
	var value *[]byte // of the last field, if it is wanted
	var length []byte
	for {
		// 1. The header ends at a blank line. It must end within maxWARCHeader, because it may be
		// damaged.
		line, size, err := r.peekLine(maxWARCHeader)
		switch {
		case err == io.EOF:
			return r.broken("the file ends within this record", nil)
		case err == errTooLong || err == nil && r.offset-r.start.Offset > maxWARCHeader:
			return r.broken(longText("record's header", maxWARCHeader), line)
		case err != nil:
			return err
		case len(line) == 0:
			r.skipLine(size)
			return r.setLength(length)
		}
		// 2. A line continues the last field if it begins with white space.
		if line[0] == ' ' || line[0] == '\t' {
			if value != nil {
				*value = append(append(*value, ' '), bytes.TrimSpace(line)...)
			}
		} else {
			name, text, ok := bytes.Cut(line, []byte(":"))
			if !ok {
				return r.broken("expected a named field, which is a name, a colon and a value", line)
			}
			if value = r.field(bytes.TrimSpace(name), &length); value != nil {
				*value = append((*value)[:0], bytes.TrimSpace(text)...)
			}
		}
		r.skipLine(size)
	}
}

// field returns the destination for the value of a named field, or nil if the field is not used.
func (r *warcReader) field(name []byte, length *[]byte) *[]byte {
	switch {
	case bytes.EqualFold(name, []byte("WARC-Type")):
		return &r.header.kind
	case bytes.EqualFold(name, []byte("WARC-Target-URI")):
		return &r.header.target
	case bytes.EqualFold(name, []byte("Content-Length")):
		return length
	}
	return nil
}

func (r *warcReader) setLength(text []byte) error {
	text = bytes.TrimSpace(text)
	r.header.target = withoutBrackets(bytes.TrimSpace(r.header.target))
	if len(text) == 0 {
		return nil
	}
	n, err := strconv.ParseUint(string(text[:min(len(text), 32)]), 10, 62)
	if err != nil {
		return r.broken(fmt.Sprintf("%.40q is no Content-Length", text), nil)
	}
	r.header.length = int64(n)
	return nil
}

// withoutBrackets cuts off angle brackets around an address, because WARC 1.0 had them.
func withoutBrackets(address []byte) []byte {
	if n := len(address); n > 1 && address[0] == '<' && address[n-1] == '>' {
		return address[1 : n-1]
	}
	return address
}

// block returns the record's block without skipping it. It is valid until more of the file is
// read. If a record is too long, it is skipped and rejected.
func (r *warcReader) block() ([]byte, error) {
	if r.header.length > int64(r.maxRecord) {
		err := r.errorAtStart(longText("record", r.maxRecord))
		r.reject = r.beginning()
		return nil, r.skipBlock(err)
	}
	for int64(len(r.buf)-r.pos) < r.header.length {
		if !r.readMore() {
			if r.err != nil {
				return nil, r.err
			}
			return nil, r.broken("the file ends within this record", r.buf[r.pos:])
		}
	}
	n := int(r.header.length)
	return r.buf[r.pos : r.pos+n : r.pos+n], nil
}

// beginning returns the first bytes of the block.
func (r *warcReader) beginning() []byte {
	kept := min(r.header.length, int64(keptOf(r.maxRecord)))
	for int64(len(r.buf)-r.pos) < kept && r.readMore() {
	}
	return bytes.Clone(r.buf[r.pos:min(len(r.buf), r.pos+int(kept))])
}

// skipBlock skips the record's block and returns err, or the reader's error.
func (r *warcReader) skipBlock(err error) error {
	for left := r.header.length; left > 0; {
		if r.pos == len(r.buf) && !r.readMore() {
			if r.window.err != nil {
				return r.window.err
			}
			if err == nil {
				err = r.broken("the file ends within this record", nil)
			}
			return err
		}
		n := min(left, int64(len(r.buf)-r.pos))
		r.line += bytes.Count(r.buf[r.pos:r.pos+int(n)], []byte{'\n'})
		r.skip(int(n))
		left -= n
	}
	return err
}

// broken rejects the record. The search for the next one begins at the window's position. If that
// is the record's first line, it begins behind it.
func (r *warcReader) broken(msg string, text []byte) error {
	r.reject = bytes.Clone(text[:min(len(text), keptOfReject)])
	r.lost = true
	return r.errorAtStart(msg)
}

// errorAtStart returns an error at the start of the current record.
func (r *warcReader) errorAtStart(msg string) *triple.SyntaxError {
	return &triple.SyntaxError{Source: r.source, Line: r.start.Line, Column: 1, Offset: r.start.Offset, Msg: msg}
}

// findAgain does nothing unless the current record is broken. It then goes to the next line that
// begins a record. It must pass the first line of the broken one, because the search would not
// end otherwise.
func (r *warcReader) findAgain() error {
	if !r.lost {
		return nil
	}
	if r.offset == r.start.Offset {
		r.skipRest()
	}
	for {
		line, _, err := r.peekLine(maxWARCHeader)
		switch {
		case err != nil && err != errTooLong:
			return err
		case bytes.HasPrefix(line, []byte("WARC/1.")) || bytes.HasPrefix(line, []byte("WARC/0.")):
			r.lost = false
			return nil
		}
		r.skipRest()
	}
}

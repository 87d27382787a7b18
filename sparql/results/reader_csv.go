// The reader of CSV.

package results

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/triple"
)

// csvDecoder reads the SPARQL 1.2 Query Results CSV Format; lines may end with
// LF alone. Fields are plain strings, since the format does not tell more.
type csvDecoder struct {
	in     *bufio.Reader
	fields []string
	quoted bool // the first field was
	buf    []byte
}

func (d *csvDecoder) begin(h *header) error {
	if err := d.record(); err != nil {
		return unexpectedEnd(err)
	}
	if len(d.fields) == 1 && !d.quoted && (d.fields[0] == "true" || d.fields[0] == "false") {
		value := d.fields[0] == "true"
		h.boolean = &value
		if _, err := d.in.ReadByte(); err != io.EOF {
			return syntaxf("a line after a boolean")
		}
		return nil
	}
	h.vars = []string{}
	if len(d.fields) == 1 && d.fields[0] == "" {
		return nil // no variables
	}
	for _, name := range d.fields {
		if err := h.addVar(name); err != nil {
			return err
		}
	}
	return nil
}

func (d *csvDecoder) next(h *header, row []triple.Term) (bool, error) {
	err := d.record()
	switch {
	case err == io.EOF:
		return false, nil
	case err != nil:
		return false, err
	case len(row) == 0 && len(d.fields) == 1 && d.fields[0] == "":
		return true, nil
	case len(d.fields) != len(row):
		return false, syntaxf("%d fields for %d variables", len(d.fields), len(row))
	}
	for i, s := range d.fields {
		if s == "" {
			continue
		}
		if label, ok := strings.CutPrefix(s, "_:"); ok && label != "" {
			row[i] = blank(label)
		} else if row[i], err = checked(triple.NewString(s)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// record reads a line into fields; io.EOF if there is none.
func (d *csvDecoder) record() error {
	d.fields = d.fields[:0]
	total := 0
	for {
		end, quoted, err := d.field()
		if err == io.EOF && len(d.fields) == 0 && len(d.buf) == 0 && !quoted {
			return io.EOF
		}
		if err != nil && err != io.EOF {
			return err
		}
		if !utf8.Valid(d.buf) {
			return syntaxf("a field that is not UTF-8")
		}
		if len(d.fields) == 0 {
			d.quoted = quoted
		}
		d.fields = append(d.fields, string(d.buf))
		if total += len(d.buf); total > maxRowBytes || len(d.fields) > maxVars {
			return fmt.Errorf("%w: a line of more than %d bytes or %d fields", ErrLimit, maxRowBytes, maxVars)
		}
		if end != ',' {
			return nil
		}
	}
}

// field reads a field into buf, and the byte at its end: a comma or a line feed. err is io.EOF
// if the field ends with the document.
func (d *csvDecoder) field() (end byte, quoted bool, err error) {
	d.buf = d.buf[:0]
	c, err := d.in.ReadByte()
	// 1. A field in quotes may have commas and ends of lines.
	if err == nil && c == '"' {
		if err := d.quotedField(); err != nil {
			return 0, true, err
		}
		quoted = true
		c, err = d.in.ReadByte()
	}
	// 2. Read up to the next comma or end of line. If the field was quoted, one of them must
	// follow at once.
	for ; err == nil; c, err = d.in.ReadByte() {
		switch {
		case c == ',' || c == '\n':
			return c, quoted, nil
		case c == '\r':
			if c, err = d.in.ReadByte(); err != nil || c != '\n' {
				return 0, quoted, syntaxf("a carriage return outside of quotes, without a line feed")
			}
			return '\n', quoted, nil
		case c == '"':
			return 0, quoted, syntaxf("a quote inside of a field without quotes")
		case quoted:
			return 0, quoted, syntaxf("%q after the end of quotes", c)
		}
		if d.buf = append(d.buf, c); len(d.buf) > triple.MaxTermBytes {
			return 0, quoted, fmt.Errorf("%w: a field longer than %d bytes", ErrLimit, triple.MaxTermBytes)
		}
	}
	return 0, quoted, err
}

// quotedField reads the inside of quotes, and the closing one.
func (d *csvDecoder) quotedField() error {
	for {
		c, err := d.in.ReadByte()
		if err != nil {
			return unexpectedEnd(err)
		}
		if c == '"' {
			next, err := d.in.ReadByte()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if next != '"' {
				return d.in.UnreadByte()
			}
		}
		if d.buf = append(d.buf, c); len(d.buf) > triple.MaxTermBytes {
			return fmt.Errorf("%w: a field longer than %d bytes", ErrLimit, triple.MaxTermBytes)
		}
	}
}

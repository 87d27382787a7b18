// Lines of fields with tabs between them, and lines of JSON.

package console

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Printer writes lines.
type Printer struct {
	out  *bufio.Writer
	JSON bool
	line []byte
}

// NewPrinter returns a printer to w. json selects the form that commands choose by it.
func NewPrinter(w io.Writer, json bool) *Printer {
	return &Printer{out: bufio.NewWriterSize(w, 1<<16), JSON: json}
}

// Fields writes a line of fields with tabs between them.
func (p *Printer) Fields(fields ...string) error {
	p.line = p.line[:0]
	for i, field := range fields {
		if i > 0 {
			p.line = append(p.line, '\t')
		}
		p.line = append(p.line, field...)
	}
	_, err := p.out.Write(append(p.line, '\n'))
	return err
}

// Object writes a line of JSON.
func (p *Printer) Object(value any) error {
	out := json.NewEncoder(p.out)
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

// End writes the buffered lines. The lines before an error are correct.
func (p *Printer) End(err error) error { return errors.Join(err, p.out.Flush()) }

// OneLine replaces tabs and line ends in a text by spaces.
func OneLine(text string) string {
	line := []byte(text)
	for i, c := range line {
		if c == '\t' || c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return string(line)
}

// PlainLine returns a text of a server as one line, without characters that a terminal would obey.
func PlainLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return -1
		}
		return c
	}, strings.Join(strings.Fields(text), " "))
}

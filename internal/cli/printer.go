// Lines of fields with tabs between them, and lines of JSON.

package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"strings"
)

// printer writes lines.
type printer struct {
	out  *bufio.Writer
	json bool
	line []byte
}

func (e *env) newPrinter(json bool) *printer {
	return &printer{out: bufio.NewWriterSize(e.stdout, 1<<16), json: json}
}

// fields writes a line of fields with tabs between them.
func (p *printer) fields(fields ...string) error {
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

// object writes a line of JSON.
func (p *printer) object(value any) error {
	out := json.NewEncoder(p.out)
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

// end writes the buffered lines. The lines before an error are correct.
func (p *printer) end(err error) error { return errors.Join(err, p.out.Flush()) }

// oneLine replaces tabs and line ends in a text by spaces.
func oneLine(text string) string {
	line := []byte(text)
	for i, c := range line {
		if c == '\t' || c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return string(line)
}

// plainLine returns a text of a server as one line, without characters that a terminal would obey.
func plainLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return -1
		}
		return c
	}, strings.Join(strings.Fields(text), " "))
}

// The reader of TSV.

package results

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// tsvDecoder reads the SPARQL 1.2 Query Results TSV Format; lines may end with
// CR LF.
type tsvDecoder struct {
	in  *bufio.Reader
	buf []byte
}

func (d *tsvDecoder) begin(h *header) error {
	line, err := d.line()
	if err != nil {
		return unexpectedEnd(err)
	}
	// 1. An ASK has no header. Nothing may follow its boolean.
	if line == "true" || line == "false" {
		value := line == "true"
		h.boolean = &value
		if _, err := d.in.ReadByte(); err != io.EOF {
			return syntaxf("a line after a boolean")
		}
		return nil
	}
	// 2. The header has the variables. It may be empty.
	h.vars = []string{}
	if line == "" {
		return nil // no variables
	}
	for cell := range strings.SplitSeq(line, "\t") {
		name, ok := strings.CutPrefix(cell, "?")
		if !ok {
			return syntaxf("%.40q in the header is no variable", cell)
		}
		if err := h.addVar(name); err != nil {
			return err
		}
	}
	return nil
}

func (d *tsvDecoder) next(h *header, row []triple.Term) (bool, error) {
	line, err := d.line()
	switch {
	case err == io.EOF:
		return false, nil
	case err != nil:
		return false, err
	case len(row) == 0:
		if line != "" {
			return false, syntaxf("a term where there are no variables")
		}
		return true, nil
	}
	for i := range row {
		cell, rest, more := strings.Cut(line, "\t")
		if more != (i < len(row)-1) {
			return false, syntaxf("%d cells or more for %d variables", i+1, len(row))
		}
		line = rest
		if row[i], err = parseTSVTerm(cell); err != nil {
			return false, err
		}
	}
	return true, nil
}

// line reads a line without its end; io.EOF if there is none.
func (d *tsvDecoder) line() (string, error) {
	d.buf = d.buf[:0]
	for {
		part, err := d.in.ReadSlice('\n')
		if d.buf = append(d.buf, part...); len(d.buf) > maxRowBytes {
			return "", fmt.Errorf("%w: a line longer than %d bytes", ErrLimit, maxRowBytes)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(d.buf) > 0:
			return string(d.buf), nil
		case err != nil:
			return "", err
		}
		return strings.TrimSuffix(string(d.buf[:len(d.buf)-1]), "\r"), nil
	}
}

// parseTSVTerm reads a cell; an empty one is the zero Term.
func parseTSVTerm(cell string) (triple.Term, error) {
	if cell == "" {
		return triple.Term{}, nil
	}
	// 1. Terms as Turtle writes them. Labels of blank nodes may be invalid in Turtle, because
	// some endpoints write such ones.
	switch cell[0] {
	case '<', '"', '_':
		if cell[len(cell)-1] <= ' ' {
			break
		}
		t, err := triple.ParseTerm(cell)
		if err != nil && cell[0] == '_' && strings.HasPrefix(cell, "_:") && len(cell) > 2 {
			return blank(cell[2:]), nil
		}
		if err != nil {
			return t, fmt.Errorf("%w: %w", ErrSyntax, err)
		}
		return t.MapBlanks(func(node triple.Term) (triple.Term, error) { return blank(node.Value()), nil })
	}
	// 2. Numbers and booleans may stand without quotes.
	if datatype := numberType(cell); datatype != "" {
		return checked(triple.NewTyped(cell, datatype))
	}
	if cell == "true" || cell == "false" {
		return triple.NewTyped(cell, triple.XSDBoolean), nil
	}
	return triple.Term{}, syntaxf("%.40q is no term", cell)
}

// The writer of tables for terminals.

package results

import (
	"io"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/trefoildb/trefoil/triple"
)

// TableOptions are the options of [NewTable]. The zero value is that of a file: whole cells with whole
// IRIs.
type TableOptions struct {
	// Width is the number of columns of the terminal. Longer cells are cut, and "…" stands for the rest;
	// 0 is no limit. A table with very many variables may be wider.
	Width int
	// Shorten, if not nil, returns the prefixed name of an IRI; ok is false if it has none.
	Shorten func(iri string) (name string, ok bool)
}

// NewTable returns a writer to out of a table; see [NewWriter].
func NewTable(out io.Writer, vars []string, o TableOptions) *Writer {
	return newWriter(out, &tableEncoder{options: o}, vars)
}

// tableEncoder writes an aligned table for a terminal:
//
//	name     | age
//	---------+----
//	"Alice"  | 42
//
// Columns are as wide as the widest of the first rows; if a later cell is wider, its line
// becomes longer. Cells are as in TSV. A character must be escaped if it may move a terminal's
// cursor.
type tableEncoder struct {
	options TableOptions
	kept    [][]string // the header and first rows, until widths is known
	widths  []int
}

const (
	tableRows    = 1000 // rows measured
	tableMaxCell = 80   // no column is made wider
)

func (e *tableEncoder) head(dst []byte, vars []string) []byte {
	e.kept = append(e.kept, vars)
	return dst
}

func (e *tableEncoder) row(dst []byte, row []triple.Term, _ bool) []byte {
	cells := make([]string, len(row))
	for i, t := range row {
		cells[i] = tableCell(t, e.options.Shorten)
	}
	if e.widths != nil {
		return e.line(dst, cells)
	}
	if e.kept = append(e.kept, cells); len(e.kept) > tableRows {
		dst = e.layOut(dst)
	}
	return dst
}

func (e *tableEncoder) tail(dst []byte) []byte {
	if e.widths == nil {
		dst = e.layOut(dst)
	}
	return dst
}

// layOut measures the kept rows and writes them.
func (e *tableEncoder) layOut(dst []byte) []byte {
	e.widths = make([]int, len(e.kept[0]))
	for _, cells := range e.kept {
		for i, cell := range cells {
			e.widths[i] = max(e.widths[i], min(runewidth.StringWidth(cell), tableMaxCell))
		}
	}
	e.fit()
	dst = e.line(dst, e.kept[0])
	for i, width := range e.widths {
		if i > 0 {
			dst = append(dst, "-+-"...)
		}
		dst = append(dst, strings.Repeat("-", width)...)
	}
	dst = append(dst, '\n')
	for _, cells := range e.kept[1:] {
		dst = e.line(dst, cells)
	}
	e.kept = nil
	return dst
}

// minCell is the least width that a column is cut to.
const minCell = 6

// fit makes the widest columns narrower until a line fits the terminal.
func (e *tableEncoder) fit() {
	if e.options.Width == 0 || len(e.widths) == 0 {
		return
	}
	excess := len(" | ")*(len(e.widths)-1) - e.options.Width
	for _, width := range e.widths {
		excess += width
	}
	for ; excess > 0; excess-- {
		widest := 0
		for i, width := range e.widths {
			if width > e.widths[widest] {
				widest = i
			}
		}
		if e.widths[widest] <= minCell {
			return
		}
		e.widths[widest]--
	}
}

func (e *tableEncoder) line(dst []byte, cells []string) []byte {
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, " | "...)
		}
		if e.options.Width > 0 {
			cell = runewidth.Truncate(cell, e.widths[i], "…")
		}
		dst = append(dst, cell...)
		if i < len(cells)-1 {
			for n := runewidth.StringWidth(cell); n < e.widths[i]; n++ {
				dst = append(dst, ' ')
			}
		}
	}
	return append(dst, '\n')
}

// tableCell returns a term as in TSV, with control and format characters escaped. shorten may be nil.
func tableCell(t triple.Term, shorten func(string) (string, bool)) string {
	// 1. Prefer a prefixed name.
	text := ""
	if shorten != nil {
		text = shortTerm(t, shorten)
	}
	if text == "" {
		text = string(appendTSVTerm(nil, t))
	}
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	// 2. Escape what a terminal would not show as it is.
	var b strings.Builder
	for _, r := range text {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		digits, n := byte('u'), 4
		if r > 0xFFFF {
			digits, n = 'U', 8
		}
		b.WriteByte('\\')
		b.WriteByte(digits)
		for n--; n >= 0; n-- {
			b.WriteByte("0123456789ABCDEF"[r>>(4*n)&15])
		}
	}
	return b.String()
}

// shortTerm returns an IRI, a typed literal or a triple term with prefixed names; "" if it has none.
func shortTerm(t triple.Term, shorten func(string) (string, bool)) string {
	switch {
	case t.Kind() == triple.TripleTerm:
		var b strings.Builder
		part := func(t triple.Term) string {
			if text := shortTerm(t, shorten); text != "" {
				return text
			}
			return string(appendTSVTerm(nil, t))
		}
		object, depth := eachLevel(t, func(s, p triple.Term) { b.WriteString("<<( " + part(s) + " " + part(p) + " ") })
		b.WriteString(part(object) + strings.Repeat(" )>>", depth))
		return b.String()
	case t.Kind() == triple.IRI:
		name, _ := shorten(t.Value())
		return name
	case t.Kind() == triple.Literal && t.Lang() == "" && t.Datatype() != triple.XSDString:
		whole := string(appendTSVTerm(nil, t))
		if rest, ok := strings.CutSuffix(whole, "^^<"+t.Datatype()+">"); ok {
			if name, ok := shorten(t.Datatype()); ok {
				return rest + "^^" + name
			}
		}
	}
	return ""
}

// hidden reports whether r moves a cursor or changes how other characters look.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// The writer of tables for terminals.

package results

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/trefoildb/trefoil/triple"
)

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
	kept   [][]string // the header and first rows, until widths is known
	widths []int
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
		cells[i] = tableCell(t)
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

func (e *tableEncoder) line(dst []byte, cells []string) []byte {
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, " | "...)
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

// tableCell returns a term as in TSV, with control and format characters escaped.
func tableCell(t triple.Term) string {
	text := string(appendTSVTerm(nil, t))
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
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

// hidden reports whether r moves a cursor or changes how other characters look.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

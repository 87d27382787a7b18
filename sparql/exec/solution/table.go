// Rows kept by an operator, counted in its memory.

package solution

import (
	"github.com/trefoildb/trefoil/sparql/exec/memory"
)

// Table holds rows: their bindings are copied, so no chunk of an arena is
// kept for a few of its bindings.
type Table struct {
	memory.Holder
	Width int
	cells []string
	Len   int
	arena Arena
}

// NewTable returns an empty table for rows of a width, whose bytes h counts.
func NewTable(h memory.Holder, width int) Table { return Table{Holder: h, Width: width} }

// Row returns a row. The caller must not write to it.
func (t *Table) Row(i int) []string { return t.cells[i*t.Width : (i+1)*t.Width : (i+1)*t.Width] }

// RowBytes returns the bytes counted by add for a row.
func (t *Table) RowBytes(row []string) int {
	bytes := 2 * 16 * t.Width // as append may double
	for _, cell := range row {
		bytes += len(cell)
	}
	return bytes
}

// Add appends a copy of the row.
func (t *Table) Add(row []string) error {
	if err := t.Grow(t.RowBytes(row)); err != nil {
		return err
	}
	t.put(row)
	return nil
}

// put adds a row if it was counted before.
func (t *Table) put(row []string) {
	for _, cell := range row {
		if cell != "" {
			cell = t.arena.Copy(BytesOf(cell))
		}
		t.cells = append(t.cells, cell)
	}
	t.Len++
}

// Drop removes all rows and gives their bytes back.
func (t *Table) Drop() {
	t.cells, t.Len, t.arena = nil, 0, Arena{}
	t.Free()
}

package exec

import (
	"errors"
	"fmt"
)

// ErrMemory is what the error of a query wraps that needs more than
// [Options.Memory].
var ErrMemory = errors.New("the query needs too much memory")

// DefaultMemory is what a query may hold where [Options.Memory] is 0.
const DefaultMemory = 256 << 20

// account counts the bytes that the operators of a query hold.
type account struct{ used, limit int64 }

// holder is an operator's part of the account.
type holder struct {
	account *account
	name    string
	held    int64
}

func (h *holder) grow(bytes int) error {
	if h.account.used+int64(bytes) > h.account.limit {
		return fmt.Errorf("%w: %s would take it beyond its limit of %d bytes", ErrMemory, h.name, h.account.limit)
	}
	h.account.used += int64(bytes)
	h.held += int64(bytes)
	return nil
}

func (h *holder) free() { h.shrink(0) }

// shrink gives back all but held bytes.
func (h *holder) shrink(held int64) {
	h.account.used -= h.held - held
	h.held = held
}

// table holds rows: their bindings are copied, so that no chunk of an arena is
// kept for a few of its bindings.
type table struct {
	holder
	width int
	cells []string
	n     int
	arena arena
}

func (t *table) row(i int) []string { return t.cells[i*t.width : (i+1)*t.width : (i+1)*t.width] }

// add appends a copy of the row.
func (t *table) add(row []string) error {
	bytes := 0
	for _, cell := range row {
		bytes += len(cell)
	}
	if err := t.grow(bytes + 2*16*t.width); err != nil { // as append may double
		return err
	}
	for _, cell := range row {
		if cell != "" {
			cell = t.arena.keep(bytesOf(cell))
		}
		t.cells = append(t.cells, cell)
	}
	t.n++
	return nil
}

func (t *table) drop() {
	t.cells, t.n, t.arena = nil, 0, arena{}
	t.free()
}

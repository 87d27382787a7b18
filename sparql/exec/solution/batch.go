// Batches of rows.

package solution

import (
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
)

// Sizes of batches. Rows of many variables make smaller ones.
const (
	BatchRows  = 1024
	BatchCells = 256 << 10
)

// CellBytes is the size of a binding in a batch, with its part of ord.
const CellBytes = 16 + 4

// Batch is rows of one width. Invariant: len(cells) == n*width, len(ord) == n.
type Batch struct {
	Account    *memory.Account
	Width, Len int
	Cells      []string
	Origin     []int32 // by row: its origin, a row of the [exec.Feed]
	Weight     int     // about the bytes of its large bindings
}

// Bindings of LargeBinding bytes and more count as large when they are made, or read: a
// batch with MaxWeight of them is full. A copy of a row shares them.
const (
	LargeBinding = 1 << 10
	MaxWeight    = 4 << 20
)

// NewBatch returns an empty batch of rows of a width.
func NewBatch(a *memory.Account, width int) *Batch { return &Batch{Account: a, Width: width} }

// NewEmpty returns an empty batch of the same width.
func (b *Batch) NewEmpty() *Batch { return &Batch{Account: b.Account, Width: b.Width} }

// Grow makes room for more bindings.
func (b *Batch) Grow(more int) {
	before := cap(b.Cells)
	if before-len(b.Cells) >= more {
		return
	}
	n := max(len(b.Cells)+more, 2*before)
	var kept []string
	class := bits.Len(uint(n - 1))
	if class <= memory.MaxCellClass && b.Account.Cells != nil {
		kept = b.Account.Cells.Get(class)
	}
	switch {
	case kept != nil:
		b.Cells = append(kept, b.Cells...)
	case class <= memory.MaxCellClass:
		b.Cells = append(make([]string, 0, 1<<class), b.Cells...)
	default:
		b.Cells = slices.Grow(b.Cells, more)
	}
	b.count(cap(b.Cells) - before)
}

func (b *Batch) count(cells int) {
	b.Account.Take(int64(cells) * CellBytes)
}

// Free gives the memory back.
func (b *Batch) Free() {
	n := cap(b.Cells)
	b.count(-n)
	if class := bits.Len(uint(n)) - 1; b.Account.Cells != nil && n > 0 && class <= memory.MaxCellClass && n == 1<<class {
		clear(b.Cells[:n])
		b.Account.Cells.Put(class, b.Cells[:0])
	}
	*b = *b.NewEmpty()
}

// Row returns a row, valid until the batch changes. Its cells may be written to.
func (b *Batch) Row(i int) []string { return b.Cells[i*b.Width : (i+1)*b.Width : (i+1)*b.Width] }

// Clear removes all rows. The memory is kept for the next ones.
func (b *Batch) Clear() {
	if b.Weight > 0 {
		clear(b.Cells[:cap(b.Cells)]) // nothing large stays in memory for it
	}
	b.Len, b.Cells, b.Origin, b.Weight = 0, b.Cells[:0], b.Origin[:0], 0
}

// Full reports whether an operator must return the batch before it adds more rows.
func (b *Batch) Full() bool {
	return b.Len >= BatchRows || b.Len*b.Width >= b.Account.BatchCells || b.Weight >= MaxWeight
}

// AddWeight counts a binding put into a row after it was added.
func (b *Batch) AddWeight(cell string) {
	if len(cell) >= LargeBinding {
		b.Weight += len(cell)
	}
}

// Add appends a copy of a row and returns it, valid until the next add.
func (b *Batch) Add(row []string, ord int32) []string {
	if len(row) > cap(b.Cells)-len(b.Cells) {
		b.Grow(len(row))
	}
	b.Cells = append(b.Cells, row...)
	b.Origin = append(b.Origin, ord)
	b.Len++
	return b.Row(b.Len - 1)
}

// AddRead appends a copy of a row whose bindings were just read.
func (b *Batch) AddRead(row []string, ord int32) {
	for _, cell := range b.Add(row, ord) {
		b.AddWeight(cell)
	}
}

// DropLast takes back the last row.
func (b *Batch) DropLast() {
	b.Len--
	b.Cells, b.Origin = b.Cells[:b.Len*b.Width], b.Origin[:b.Len]
}

// Truncate keeps the first n rows. Of none nothing is left, no weight either: the
// batch may be filled again.
func (b *Batch) Truncate(n int) {
	if n == 0 {
		b.Clear()
		return
	}
	if n < b.Len {
		b.Len, b.Cells, b.Origin = n, b.Cells[:n*b.Width], b.Origin[:n]
	}
}

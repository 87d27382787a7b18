package exec

import (
	"unsafe"

	"github.com/trefoildb/trefoil/triple"
)

// Sizes of batches. Rows of many variables make smaller ones.
const (
	batchRows  = 1024
	batchCells = 256 << 10
)

// batch is rows of one width. Invariant: len(cells) == n*width, len(ord) == n.
type batch struct {
	width, n int
	cells    []string
	ord      []int32 // which row of the [feed] each row came from
	weight   int     // about the bytes of its large bindings
}

// Bindings of bigCell bytes and more count as large where they are made, or read: a
// batch with maxWeight of them is full. A copy of a row shares them.
const (
	bigCell   = 1 << 10
	maxWeight = 4 << 20
)

func newBatch(width int) *batch { return &batch{width: width} }

func (b *batch) row(i int) []string { return b.cells[i*b.width : (i+1)*b.width : (i+1)*b.width] }

func (b *batch) clear() {
	if b.weight > 0 {
		clear(b.cells[:cap(b.cells)]) // nothing large stays in memory for it
	}
	b.n, b.cells, b.ord, b.weight = 0, b.cells[:0], b.ord[:0], 0
}

func (b *batch) full() bool {
	return b.n >= batchRows || b.n*b.width >= batchCells || b.weight >= maxWeight
}

// weigh counts a binding that was put into a row after it was added.
func (b *batch) weigh(cell string) {
	if len(cell) >= bigCell {
		b.weight += len(cell)
	}
}

// add appends a copy of a row and returns it, valid until the next add.
func (b *batch) add(row []string, ord int32) []string {
	b.cells = append(b.cells, row...)
	b.ord = append(b.ord, ord)
	b.n++
	return b.row(b.n - 1)
}

// addRead appends a copy of a row whose bindings were just read.
func (b *batch) addRead(row []string, ord int32) {
	for _, cell := range b.add(row, ord) {
		b.weigh(cell)
	}
}

// drop takes back the last row.
func (b *batch) drop() {
	b.n--
	b.cells, b.ord = b.cells[:b.n*b.width], b.ord[:b.n]
}

// truncate keeps the first n rows. Of none nothing is left, no weight either: the
// batch may be filled again.
func (b *batch) truncate(n int) {
	if n == 0 {
		b.clear()
		return
	}
	if n < b.n {
		b.n, b.cells, b.ord = n, b.cells[:n*b.width], b.ord[:n]
	}
}

// arena holds bindings in chunks that are filled once and never written again.
type arena struct{ chunk []byte }

const (
	firstChunk = 1 << 10
	chunkBytes = 64 << 10
)

// keep returns a copy of b.
func (a *arena) keep(b []byte) string {
	if len(b) > cap(a.chunk)-len(a.chunk) {
		if len(b) > chunkBytes/8 {
			return string(b)
		}
		a.chunk = make([]byte, 0, min(max(2*cap(a.chunk), firstChunk), chunkBytes))
		if len(b) > cap(a.chunk) {
			a.chunk = make([]byte, 0, chunkBytes)
		}
	}
	start := len(a.chunk)
	a.chunk = append(a.chunk, b...)
	return unsafe.String(unsafe.SliceData(a.chunk[start:]), len(b))
}

// bytesOf returns the bytes of a binding, which are not to be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// stringOf returns bytes as a binding; they are never to be written to again.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// shortest is the size up to which a whole written term is surely its own form
// in keys.
const shortest = 1024

// appendKeyForm appends the form that a binding has in keys.
func appendKeyForm(dst []byte, binding string) []byte {
	if len(binding) <= shortest {
		return append(dst, binding...)
	}
	t, err := triple.DecodeTerm(bytesOf(binding))
	if err != nil {
		return append(dst, binding...)
	}
	dst, _ = triple.AppendTerm(dst, t)
	return dst
}

// encode returns the binding of a term, "" of the zero Term.
func encode(t triple.Term) string {
	if t.IsZero() {
		return ""
	}
	return string(triple.AppendWholeTerm(nil, t))
}

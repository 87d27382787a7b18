// Bindings by number: a term of a dictionary that is decoded only if somebody needs it.

package solution

import (
	"encoding/binary"
	"unsafe"

	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// numberTag begins a binding by number. No encoded term begins with it.
const numberTag = 0xff

// numberBytes is the length of a binding by number: the tag, then the number as 4 bytes, big-endian.
const numberBytes = 1 + 4

// AppendNumber appends the binding of the term with a number in the query's dictionary. The planner
// sees to it that at one place of a plan all bindings of a variable are encoded terms, or all are
// numbers, except for terms without one and long terms. So equal terms have equal bindings. Only
// expressions, joins over columns, paths and a [Decoder] read numbers.
func AppendNumber(dst []byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, numberTag), number)
}

// Number returns the binding of a number, see [AppendNumber].
func (a *Arena) Number(number uint32) string {
	if cap(a.chunk)-len(a.chunk) < numberBytes {
		var b [numberBytes]byte
		return a.Copy(AppendNumber(b[:0], number))
	}
	start := len(a.chunk)
	a.chunk = AppendNumber(a.chunk, number)
	return unsafe.String(&a.chunk[start], numberBytes)
}

// Number returns the number of a binding; ok is false if it is an encoded term or unbound.
func Number(binding string) (number uint32, ok bool) {
	if len(binding) != numberBytes || binding[0] != numberTag {
		return 0, false
	}
	return binary.BigEndian.Uint32(BytesOf(binding)[1:]), true
}

// Terms is the dictionary of a query's numbers. It keeps the values of numbers that expressions have
// read, because a group or a filter reads few different ones many times. It belongs to one goroutine.
type Terms struct {
	*columns.Dictionary
	Account *memory.Account
	recent  []numberValue // by the last bits of the number
	misses  int           // since recent has its size
	text    []byte
}

// numberValue is the value of a number.
type numberValue struct {
	number uint32
	value  expr.Value
}

// A query that reads many values keeps up to maxRecent of them. It begins with minRecent after as many.
const (
	minRecent = 1 << 6
	maxRecent = 1 << 14
	// keptText bounds the encoded term of a kept value, and keptBytes are counted for one.
	keptText  = 64
	keptBytes = 192
)

// value returns the value of a number; unbound if it cannot be decoded.
func (t *Terms) value(number uint32) expr.Value {
	if n := uint32(len(t.recent)); n > 0 {
		if kept := &t.recent[number%n]; kept.number == number {
			return kept.value
		}
	}
	t.text = t.Append(t.text[:0], number)
	term, err := triple.DecodeTerm(t.text)
	if err != nil {
		return expr.Value{}
	}
	value := expr.FromTerm(term).Parsed()
	if len(t.text) > keptText {
		return value
	}
	if t.misses++; t.misses >= max(2*len(t.recent), minRecent) && len(t.recent) < maxRecent {
		n := max(4*len(t.recent), minRecent)
		t.Account.Take(int64(n-len(t.recent)) * keptBytes)
		t.recent, t.misses = make([]numberValue, n), 0
	}
	if n := uint32(len(t.recent)); n > 0 {
		t.recent[number%n] = numberValue{number, value}
	}
	return value
}

// Decoder replaces numbers by terms. It keeps the last term, because neighbours often have the same.
type Decoder struct {
	number uint32
	term   string
	cursor columns.Cursor
}

// Term returns the encoded term of a number.
func (d *Decoder) Term(terms *Terms, arena *Arena, number uint32) string {
	if d.number != number {
		d.number, d.term = number, arena.Copy(d.Bytes(terms, number))
	}
	return d.term
}

// Bytes is Term without a copy. The result is valid until the next call.
func (d *Decoder) Bytes(terms *Terms, number uint32) []byte {
	return d.cursor.Move(terms.Dictionary, number)
}

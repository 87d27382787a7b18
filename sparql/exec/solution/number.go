// Bindings by number: a term of a dictionary that is decoded only if somebody needs it.

package solution

import (
	"encoding/binary"

	"github.com/trefoildb/trefoil/sparql/columns"
)

// numberTag begins a binding by number. No encoded term begins with it.
const numberTag = 0xff

// numberBytes is the length of a binding by number: the tag, then the number as 4 bytes, big-endian.
const numberBytes = 1 + 4

// AppendNumber appends the binding of the term with a number in the query's dictionary. The planner
// sees to it that all bindings of a variable at one place of a plan are numbers, or none, so equal
// terms have equal bindings. Only expressions, joins over columns and a [Decoder] read numbers.
func AppendNumber(dst []byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, numberTag), number)
}

// Number returns the number of a binding; ok is false if it is an encoded term or unbound.
func Number(binding string) (number uint32, ok bool) {
	if len(binding) != numberBytes || binding[0] != numberTag {
		return 0, false
	}
	return binary.BigEndian.Uint32(BytesOf(binding)[1:]), true
}

// Decoder replaces numbers by terms. It keeps the last term, because neighbours often have the same.
type Decoder struct {
	number uint32
	term   string
	text   []byte
}

// Term returns the encoded term of a number.
func (d *Decoder) Term(terms *columns.Dictionary, arena *Arena, number uint32) string {
	if d.number != number {
		d.text = terms.Append(d.text[:0], number)
		d.number, d.term = number, arena.Copy(d.text)
	}
	return d.term
}

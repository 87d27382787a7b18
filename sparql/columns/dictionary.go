// The terms of a set, sorted and compressed.

package columns

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/trefoildb/trefoil/triple"
)

// blockTerms is how many terms a block has.
const blockTerms = 16

// Dictionary is an ascending list of terms in their key form. It is safe for concurrent use.
type Dictionary struct {
	text   []byte
	blocks []uint32 // where each block begins in text
	n      int
	// nodes and strings are the numbers of blank nodes and IRIs, and of literals of xsd:string: from
	// [0] up to [1].
	nodes, strings [2]uint32
}

// maxText bounds the text, because blocks have 32 bits.
const maxText = 1<<32 - 1

// Len returns the number of terms. They have the numbers 1 to Len.
func (d *Dictionary) Len() int { return d.n }

// add appends a term. It must be greater than last, the one before. It returns false if the
// dictionary is full.
func (d *Dictionary) add(term, last []byte) bool {
	if len(d.text)+len(term)+2*binary.MaxVarintLen32 > maxText || d.n == maxText {
		return false
	}
	if d.n%blockTerms == 0 {
		d.blocks = append(d.blocks, uint32(len(d.text)))
		d.text = binary.AppendUvarint(d.text, uint64(len(term)))
		d.text = append(d.text, term...)
	} else {
		same := commonPrefix(last, term)
		d.text = binary.AppendUvarint(d.text, uint64(same))
		d.text = binary.AppendUvarint(d.text, uint64(len(term)-same))
		d.text = append(d.text, term[same:]...)
	}
	d.n++
	return true
}

// finish must be called behind the last add.
func (d *Dictionary) finish() {
	span := func(lo, hi []byte) [2]uint32 { return [2]uint32{d.LowerBound(lo), d.LowerBound(hi)} }
	d.nodes, d.strings = span(triple.NodeSpan()), span(triple.StringSpan())
}

// IsNode reports whether a number is of a blank node or an IRI. Only equal numbers are equal nodes.
func (d *Dictionary) IsNode(number uint32) bool { return number >= d.nodes[0] && number < d.nodes[1] }

// IsString reports whether a number is of a literal of xsd:string. Numbers have the order of strings.
func (d *Dictionary) IsString(number uint32) bool {
	return number >= d.strings[0] && number < d.strings[1]
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Append appends the term with a number to dst. The number must be one of a term.
func (d *Dictionary) Append(dst []byte, number uint32) []byte {
	i := int(number) - 1
	start := len(dst)
	rest := d.text[d.blocks[i/blockTerms]:]
	n, size := binary.Uvarint(rest)
	dst = append(dst, rest[size:size+int(n)]...)
	rest = rest[size+int(n):]
	for range i % blockTerms {
		dst, rest = step(dst, start, rest)
	}
	return dst
}

// step replaces the term at the end of dst, which begins at start, by the next one of the block.
func step(dst []byte, start int, rest []byte) (term, behind []byte) {
	same, size := binary.Uvarint(rest)
	rest = rest[size:]
	n, size := binary.Uvarint(rest)
	rest = rest[size:]
	return append(dst[:start+int(same)], rest[:n]...), rest[n:]
}

// head returns the first term of a block.
func (d *Dictionary) head(block int) []byte {
	rest := d.text[d.blocks[block]:]
	n, size := binary.Uvarint(rest)
	return rest[size : size+int(n)]
}

// Number returns the number of a term; 0 if the dictionary does not have it.
func (d *Dictionary) Number(term []byte) uint32 {
	number := d.LowerBound(term)
	var room [256]byte
	if int(number) > d.n || !bytes.Equal(d.Append(room[:0], number), term) {
		return 0
	}
	return number
}

// LowerBound returns the number of the first term that is not less than bound, any bytes; Len()+1 if
// there is none.
func (d *Dictionary) LowerBound(bound []byte) uint32 {
	// 1. Find the last block whose first term is not greater.
	block := sort.Search(len(d.blocks), func(i int) bool { return bytes.Compare(d.head(i), bound) > 0 }) - 1
	if block < 0 {
		return 1
	}
	// 2. Pass over its smaller terms.
	var room [256]byte
	rest := d.text[d.blocks[block]:]
	n, size := binary.Uvarint(rest)
	term := append(room[:0], rest[size:size+int(n)]...)
	rest = rest[size+int(n):]
	first := block * blockTerms
	last := min(first+blockTerms, d.n)
	for i := first; i < last; i++ {
		if bytes.Compare(term, bound) >= 0 {
			return uint32(i + 1)
		}
		if i+1 < last {
			term, rest = step(term, 0, rest)
		}
	}
	return uint32(last + 1)
}

func (d *Dictionary) bytes() int64 { return int64(len(d.text)) + 4*int64(len(d.blocks)) }

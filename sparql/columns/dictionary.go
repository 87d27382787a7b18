// The terms of a set, sorted and compressed.

package columns

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// blockTerms is how many terms a block has.
const blockTerms = 16

// Dictionary has terms in their key form by number. The terms of a set have the numbers 1 to Sorted in
// their order. Those of changes have the next ones, in no order. It is safe for concurrent use.
type Dictionary struct {
	text   []byte
	blocks []uint32 // where each block begins in text
	n      int
	// nodes and strings are the numbers of blank nodes and IRIs, and of literals of xsd:string: from
	// [0] up to [1].
	nodes, strings [2]uint32
	added          addedTerms
	triples        *tripleIndex // of the sorted terms; nil if no triple term is among them
}

// maxText bounds the text, because blocks have 32 bits.
const maxText = 1<<32 - 1

// Len returns the number of terms. They have the numbers 1 to Len.
func (d *Dictionary) Len() int { return d.n + len(d.added.terms.list) }

// Sorted returns the number of terms that have their numbers in their order.
func (d *Dictionary) Sorted() int { return d.n }

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
	span := func(lo, hi []byte) [2]uint32 { return [2]uint32{d.lowerBound(lo), d.lowerBound(hi)} }
	d.nodes, d.strings = span(triple.NodeSpan()), span(triple.StringSpan())
	triples := span(triple.TripleTermSpan())
	d.triples = d.indexTriples(triples[0], triples[1])
}

// IsNode reports whether a number is of a blank node or an IRI. Only equal numbers are equal nodes.
func (d *Dictionary) IsNode(number uint32) bool {
	if int(number) > d.n {
		return inSpan(d.added.terms.list[int(number)-d.n-1], triple.NodeSpan)
	}
	return number >= d.nodes[0] && number < d.nodes[1]
}

// inSpan reports whether a term is in a span of key forms.
func inSpan(term string, span func() (lo, hi []byte)) bool {
	lo, hi := span()
	return term >= string(lo) && term < string(hi)
}

// Exact reports whether the keys of lists are all nodes, or all literals of xsd:string, so that only equal
// numbers are of equal values. It is false if there is no key.
func (d *Dictionary) Exact(l *Lists) bool {
	isString := func(number uint32) bool {
		return d.IsString(number) || int(number) > d.n && inSpan(d.added.terms.list[int(number)-d.n-1], triple.StringSpan)
	}
	return d.holdsForAll(l, d.IsNode) || d.holdsForAll(l, isString)
}

// holdsForAll reports whether is holds for the keys of lists. It must hold for a range of the sorted numbers.
func (d *Dictionary) holdsForAll(l *Lists, is func(number uint32) bool) bool {
	n := l.keys.n
	if n > 0 && (!is(l.keys.get(0)) || !is(l.keys.get(n-1))) {
		return false
	}
	if l.patch == nil {
		return n > 0
	}
	return !slices.ContainsFunc(l.patch.entries, func(e patchEntry) bool { return !is(e.key) })
}

// IsString reports whether a number is of a literal of xsd:string among the first Sorted ones. Numbers have
// the order of these strings.
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
	if i >= d.n {
		return append(dst, d.added.terms.list[i-d.n]...)
	}
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

// Cursor decodes terms by number. Each block stores a term as what differs from the one before, so a cursor
// goes on if the next number is in the block of the last one. The zero value is ready to use.
type Cursor struct {
	number uint32
	term   []byte
	rest   []byte // of the dictionary's text behind the term, if the number is one of the sorted terms
}

// Move returns the term with a number, until the next call. The number must be one of a term of d.
func (c *Cursor) Move(d *Dictionary, number uint32) []byte {
	if c.number == number {
		return c.term
	}
	i, last := int(number)-1, int(c.number)-1
	switch {
	case i >= d.n:
		c.term = append(c.term[:0], d.added.terms.list[i-d.n]...)
	case last < 0 || last >= d.n || last > i || last/blockTerms != i/blockTerms:
		head := d.head(i / blockTerms)
		c.term = append(c.term[:0], head...)
		c.rest = d.text[int(d.blocks[i/blockTerms])+uvarintLen(len(head))+len(head):]
		last = i / blockTerms * blockTerms
		fallthrough
	default:
		for ; last < i; last++ {
			c.term, c.rest = step(c.term, 0, c.rest)
		}
	}
	c.number = number
	return c.term
}

// uvarintLen returns the bytes of n as a uvarint.
func uvarintLen(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// head returns the first term of a block.
func (d *Dictionary) head(block int) []byte {
	rest := d.text[d.blocks[block]:]
	n, size := binary.Uvarint(rest)
	return rest[size : size+int(n)]
}

// Number returns the number of a term; 0 if the dictionary does not have it.
func (d *Dictionary) Number(term []byte) uint32 { return d.NumberNear(term, 0) }

// NumberNear is [Dictionary.Number]. near is an earlier result, or 0: the search is short if the term is close
// behind it.
func (d *Dictionary) NumberNear(term []byte, near uint32) uint32 {
	number := d.lowerBoundIn(d.block(term, int(near)-1), term)
	var room [256]byte
	if int(number) <= d.n && bytes.Equal(d.Append(room[:0], number), term) {
		return number
	}
	if i, ok := d.added.search(string(term)); ok {
		return uint32(d.n) + d.added.sorted[i] + 1
	}
	return 0
}

// Spans appends the numbers of the terms in [from, to), any bytes, to spans: from [0] up to [1] of each,
// ascending.
func (d *Dictionary) Spans(spans [][2]uint32, from, to []byte) [][2]uint32 {
	spans = append(spans, [2]uint32{d.lowerBound(from), d.lowerBound(to)})
	if len(d.added.terms.list) == 0 {
		return spans
	}
	lo, _ := d.added.search(string(from))
	hi, _ := d.added.search(string(to))
	for _, i := range slices.Sorted(slices.Values(d.added.sorted[lo:max(lo, hi)])) {
		number := uint32(d.n) + i + 1
		if last := &spans[len(spans)-1]; last[1] == number {
			last[1]++
		} else {
			spans = append(spans, [2]uint32{number, number + 1})
		}
	}
	return spans
}

// lowerBound returns the number of the first of the sorted terms that is not less than bound, any bytes;
// Sorted()+1 if there is none.
func (d *Dictionary) lowerBound(bound []byte) uint32 {
	return d.lowerBoundIn(d.block(bound, -1), bound)
}

// block returns the last block whose first term is not greater than bound, or -1. near is the place of a term,
// or negative: its block and the next one are tried first.
func (d *Dictionary) block(bound []byte, near int) int {
	notGreater := func(block int) bool { return bytes.Compare(d.head(block), bound) <= 0 }
	if near = near / blockTerms; near > 0 && near < len(d.blocks) && notGreater(near) {
		for next := near + 1; next <= near+2; next++ {
			if next == len(d.blocks) || !notGreater(next) {
				return next - 1
			}
		}
	}
	return sort.Search(len(d.blocks), func(i int) bool { return !notGreater(i) }) - 1
}

// lowerBoundIn is lowerBound. The block is that of the bound.
func (d *Dictionary) lowerBoundIn(block int, bound []byte) uint32 {
	if block < 0 {
		return 1
	}
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

func (d *Dictionary) bytes() int64 {
	return int64(len(d.text)) + 4*int64(len(d.blocks)) + d.triples.bytes()
}

// addedTerms are the terms of changes. They are never changed.
type addedTerms struct {
	terms  shared[string] // in key form, in the order of their numbers
	sorted []uint32       // their places, in the order of the terms
	bytes  int64
}

// search returns the place in sorted of the first term that is at least term, and whether it is equal.
func (a *addedTerms) search(term string) (place int, ok bool) {
	return slices.BinarySearchFunc(a.sorted, term, func(i uint32, term string) int { return strings.Compare(a.terms.list[i], term) })
}

// merge returns the terms and more, which must not be among them and ascend.
func (a *addedTerms) merge(more []string) addedTerms {
	if len(more) == 0 {
		return *a
	}
	next := addedTerms{bytes: a.bytes, sorted: make([]uint32, 0, len(a.sorted)+len(more))}
	rest, terms := a.sorted, a.terms.extend()
	for _, term := range more {
		place, _ := slices.BinarySearchFunc(rest, term, func(i uint32, term string) int { return strings.Compare(a.terms.list[i], term) })
		next.sorted = append(append(next.sorted, rest[:place]...), uint32(len(terms)))
		rest = rest[place:]
		terms = append(terms, term)
		next.bytes += addedTermBytes + int64(len(term))
	}
	next.sorted, next.terms = append(next.sorted, rest...), a.terms.keep(terms)
	return next
}

// addedTermBytes is what an added term takes beside its bytes.
const addedTermBytes = 24

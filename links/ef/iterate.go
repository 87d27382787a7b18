// Values one after another.

package ef

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// All yields the values from index from on, each with its index.
func (s Sequence) All(from int) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		it := s.Iterator(from)
		for i := from; ; i++ {
			v, ok := it.Next()
			if !ok || !yield(i, v) {
				return
			}
		}
	}
}

// Iterator goes through the values from a place on, about ten times as fast as
// At. It is a value: a copy goes on by itself.
type Iterator struct {
	s    Sequence
	b    block
	next int    // index of the next value
	word int    // of the bitmap
	rest uint64 // ones of the word not yet used
}

// Iterator returns an iterator whose first value is number from, which is not
// negative; from Len() on there is none.
func (s Sequence) Iterator(from int) Iterator {
	it := Iterator{s: s, next: from}
	if from < 0 || from >= s.n || from&(blockLen-1) == 0 {
		return it
	}
	it.b = s.block(from >> blockShift)
	at, rest := it.b.selectOne(from & (blockLen - 1))
	it.word, it.rest = at>>6, rest|1<<uint(at&63)
	return it
}

// Next returns the next value; ok is false after the last one.
func (it *Iterator) Next() (v uint64, ok bool) {
	if uint(it.next) >= uint(it.s.n) {
		return 0, false
	}
	i := it.next & (blockLen - 1)
	if i == 0 {
		it.b = it.s.block(it.next >> blockShift)
		it.word, it.rest = 0, binary.LittleEndian.Uint64(it.b.high)
	}
	for it.rest == 0 {
		it.word++
		it.rest = binary.LittleEndian.Uint64(it.b.high[it.word<<3:])
	}
	at := it.word<<6 | bits.TrailingZeros64(it.rest)
	it.rest &= it.rest - 1
	it.next++
	return it.b.value(i, at), true
}

// Iteration over values.

package ef

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// All yields the values from index from on, with their indexes.
func (s *Sequence) All(from int) iter.Seq2[int, uint64] {
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

// Iterator iterates over the values from an index on, faster than At. It is a value: a copy
// advances independently. It is for one goroutine.
type Iterator struct {
	s    *Sequence
	next int    // index of the next value
	rest uint64 // unread ones of the bitmap's current word

	// These describe the block of the next value. They are invalid if that is the block's first
	// value.
	base      uint64
	place     uint64
	low, high int
	word      int // index of the word in the bitmap
}

// Iterator returns an iterator whose first value is number from. from must not be negative. If
// it is Len() or more, there is no value.
func (s *Sequence) Iterator(from int) Iterator {
	it := Iterator{s: s, next: from}
	if from < 0 || from >= s.n || from&(blockLen-1) == 0 {
		return it
	}
	it.enter()
	at, rest := selectOne(s.b, it.high, it.place, from&(blockLen-1))
	it.word, it.rest = at>>6, rest|1<<uint(at&63)
	return it
}

// enter moves to the block of the next value.
func (it *Iterator) enter() {
	k := it.next >> blockShift
	it.base, it.place = it.s.entry(k)
	it.low, it.high = it.s.parts(k, it.place)
	it.word, it.rest = 0, binary.LittleEndian.Uint64(it.s.b[it.high:])
}

// Next returns the next value; ok is false after the last one.
func (it *Iterator) Next() (v uint64, ok bool) {
	if uint(it.next) >= uint(it.s.n) {
		return 0, false
	}
	i := it.next & (blockLen - 1)
	if i == 0 {
		it.enter()
	}
	for it.rest == 0 {
		it.word++
		it.rest = binary.LittleEndian.Uint64(it.s.b[it.high+it.word<<3:])
	}
	at := it.word<<6 | bits.TrailingZeros64(it.rest)
	it.rest &= it.rest - 1
	it.next++
	return it.base + (uint64(at-i)<<(it.place>>widthShift) | lowPart(it.s.b, it.low, it.place, i)), true
}

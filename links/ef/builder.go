// The writing half: values are gathered into blocks, each with the number of
// low bits that makes it smallest.

package ef

import (
	"encoding/binary"
	"math/bits"
)

const (
	blockShift = 8
	// blockLen is the number of values of a block. A full block's low parts
	// are whole words for every width.
	blockLen = 1 << blockShift

	headerBytes = 16
	entryBytes  = 16

	// A block's place is its offset, the ones in its first group of words and
	// in its first two groups, and the width of its low parts.
	offsetMask   = 1<<39 - 1
	ones1Shift   = 39
	ones2Shift   = 48
	onesMask     = 1<<9 - 1
	widthShift   = 57
	groupBytes   = 32
	maxHighBytes = 3 * groupBytes

	// paddingBytes let a group of words be read from any word of a bitmap on.
	paddingBytes = 24

	// maxShiftedWidth is the widest low part that one 8-byte read at any bit
	// holds; a wider one is kept as a whole value of 64 bits.
	maxShiftedWidth = 57
	wholeWidth      = 64
)

// Builder makes a sequence from values that come one at a time. The zero value
// is an empty builder. It holds the blocks made so far, in their final form.
type Builder struct {
	n         uint64
	last      uint64
	directory []byte
	blocks    []byte
	pending   []uint64
}

// Append appends the sequence of values, which never decrease, to dst and
// returns it. It panics where they decrease.
func Append(dst []byte, values []uint64) []byte {
	var b Builder
	for _, v := range values {
		b.Add(v)
	}
	return b.AppendTo(dst)
}

// Len returns the number of values added.
func (b *Builder) Len() int { return int(b.n) }

// Add adds the next value. It panics if v is below the value before it.
func (b *Builder) Add(v uint64) {
	if v < b.last {
		panic("ef: a value is below the one before it")
	}
	b.last = v
	b.n++
	b.pending = append(b.pending, v)
	if len(b.pending) == blockLen {
		b.flush()
	}
}

// AppendTo appends the sequence to dst and returns it. No value may be added
// after it but for Reset.
func (b *Builder) AppendTo(dst []byte) []byte {
	b.flush()
	dst = binary.LittleEndian.AppendUint64(dst, b.n)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(b.blocks)/8))
	dst = append(dst, b.directory...)
	dst = append(dst, b.blocks...)
	if b.n > 0 {
		dst = append(dst, make([]byte, paddingBytes)...)
	}
	return dst
}

// Reset empties the builder and keeps its memory.
func (b *Builder) Reset() {
	b.n, b.last = 0, 0
	b.directory, b.blocks, b.pending = b.directory[:0], b.blocks[:0], b.pending[:0]
}

// flush writes the pending values as a block.
func (b *Builder) flush() {
	m := len(b.pending)
	if m == 0 {
		return
	}
	base := b.pending[0]
	span := b.pending[m-1] - base
	width := bestWidth(m, span)
	lowBytes := lowSize(m, width)
	highBits := m + int(span>>width)
	start := len(b.blocks)
	for range lowBytes/8 + (highBits+63)/64 {
		b.blocks = append(b.blocks, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	low := b.blocks[start : start+lowBytes]
	high := b.blocks[start+lowBytes:]
	mask := lowMask(width)
	for i, v := range b.pending {
		v -= base
		putBits(low, i*width, v&mask, width)
		at := int(v>>width) + i
		high[at>>3] |= 1 << (at & 7)
	}
	b.directory = binary.LittleEndian.AppendUint64(b.directory, base)
	b.directory = binary.LittleEndian.AppendUint64(b.directory, uint64(start/8)|
		countOnes(high, groupBytes)<<ones1Shift|countOnes(high, 2*groupBytes)<<ones2Shift|
		uint64(width)<<widthShift)
	b.pending = b.pending[:0]
}

// countOnes returns the ones in the first size bytes of a bitmap.
func countOnes(high []byte, size int) (n uint64) {
	for _, c := range high[:min(size, len(high))] {
		n += uint64(bits.OnesCount8(c))
	}
	return n
}

// bestWidth returns the width of low parts that makes a block of m values that
// span from 0 to span smallest, with at most 2m zeros in its bitmap.
func bestWidth(m int, span uint64) int {
	width := 0
	if q := span / uint64(m); q > 0 {
		width = bits.Len64(q) - 1
	}
	if blockBits(m, width+1, span) < blockBits(m, width, span) {
		width++
	}
	if width > maxShiftedWidth {
		return wholeWidth
	}
	return width
}

func blockBits(m, width int, span uint64) uint64 {
	return uint64(m)*uint64(width+1) + span>>width
}

// lowSize returns the bytes of the low parts of m values.
func lowSize(m, width int) int { return (m*width + 63) >> 6 << 3 }

// lowMask has the lowest width bits set.
func lowMask(width int) uint64 { return ^uint64(0) >> (64 - uint(width)) }

// putBits sets the width bits from bit at on, which are zero, to v.
func putBits(b []byte, at int, v uint64, width int) {
	if width == 0 {
		return
	}
	word, shift := at>>6<<3, uint(at&63)
	p := b[word:]
	binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)|v<<shift)
	if shift+uint(width) > 64 {
		p = p[8:]
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)|v>>(64-shift))
	}
}

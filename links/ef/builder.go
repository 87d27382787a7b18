// Builder of a Sequence: values are collected into blocks. Each block has the number of low bits
// with the smallest size.

package ef

import (
	"encoding/binary"
	"math/bits"
)

const (
	blockShift = 8
	// blockLen is the number of values in a block. A full block's low parts are whole words for
	// every width.
	blockLen = 1 << blockShift

	// The place of a block holds its offset and the width of its low parts. Between them are two
	// counts of ones: in the first group of words, and in the first two groups.
	offsetMask   = 1<<39 - 1
	ones1Shift   = 39
	ones2Shift   = 48
	onesMask     = 1<<9 - 1
	widthShift   = 57
	groupBytes   = 32
	maxHighBytes = 3 * groupBytes

	// paddingBytes must follow the blocks, because a group of words is read from any word of a
	// bitmap on.
	paddingBytes = 24
)

// Builder makes a sequence from values that are added one by one. The zero value is an empty
// builder. It holds the finished blocks in their final form. It is not safe for concurrent use.
type Builder struct {
	n         uint64
	last      uint64
	directory []byte
	blocks    []byte
	pending   []uint64
}

// Append appends the sequence of values to dst and returns it. It panics if the values decrease.
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

// AppendTo appends the sequence to dst and returns it. Afterwards no value may be added until
// Reset.
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
	// 1. Choose the width. It fixes the size of the block, because the last value is the
	// greatest.
	base := b.pending[0]
	span := b.pending[m-1] - base
	width := bestWidth(m, span)
	lowBytes := lowSize(m, width)
	highBits := m + int(span>>width)
	start := len(b.blocks)
	for range lowBytes/8 + (highBits+63)/64 {
		b.blocks = append(b.blocks, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	// 2. Write the low parts and the bitmap.
	low := b.blocks[start : start+lowBytes]
	high := b.blocks[start+lowBytes:]
	mask := lowMask(uint(width))
	for i, v := range b.pending {
		v -= base
		putBits(low, i*width, v&mask, width)
		at := int(v>>width) + i
		high[at>>3] |= 1 << (at & 7)
	}
	// 3. Write the entry. The counts of ones let a read find its group of words without a scan.
	b.directory = binary.LittleEndian.AppendUint64(b.directory, base)
	b.directory = binary.LittleEndian.AppendUint64(b.directory, uint64(start/8)|
		countOnes(high, groupBytes)<<ones1Shift|countOnes(high, 2*groupBytes)<<ones2Shift|
		uint64(width)<<widthShift)
	b.pending = b.pending[:0]
}

// countOnes returns the number of ones in the first size bytes of a bitmap.
func countOnes(high []byte, size int) (n uint64) {
	for _, c := range high[:min(size, len(high))] {
		n += uint64(bits.OnesCount8(c))
	}
	return n
}

// bestWidth returns the width of low parts with the smallest block of m values from 0 to span.
// The bitmap then has at most 2m zeros.
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

// lowSize returns the length of the low parts of m values, in bytes.
func lowSize(m, width int) int { return (m*width + 63) >> 6 << 3 }

// putBits sets the width bits from bit at on to v. They must be zero.
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

// Numbers: uvarints, without a loop over their bytes, because answers of a graph have many.

package wire

import (
	"encoding/binary"
	"math/bits"
)

// maxNumberBytes is the maximum length of a number.
const maxNumberBytes = binary.MaxVarintLen64

// putNumber writes v to b and returns its length. b must have room for 10 bytes.
func putNumber(b []byte, v uint64) int {
	if v < 1<<7 {
		b[0] = byte(v)
		return 1
	}
	if v >= 1<<56 {
		return binary.PutUvarint(b, v)
	}
	n := (bits.Len64(v) + 6) / 7
	// Spread the groups of 7 bits: first halves of 28, then 14, then 7.
	v = v&0x000000000fffffff | v&0x00fffffff0000000<<4
	v = v&0x00003fff00003fff | v&0x0fffc0000fffc000<<2
	v = v&0x007f007f007f007f | v&0x3f803f803f803f80<<1
	binary.LittleEndian.PutUint64(b, v|0x8080808080808080&(1<<(8*n-8)-1))
	return n
}

// number reads the number at the front of b. n is 0 if there is none.
func number(b []byte) (v uint64, n int) {
	if len(b) < maxNumberBytes {
		v, n = binary.Uvarint(b)
		return v, max(n, 0)
	}
	// 1. Return early if there is one byte, because most numbers are small.
	if b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v = binary.LittleEndian.Uint64(b)
	// 2. Find the last byte, and clear the bits behind it and the top bits.
	last := ^v & 0x8080808080808080 // the top bits of bytes that may be the last
	n = bits.TrailingZeros64(last)/8 + 1
	v &= last ^ (last - 1) // if last is 0, this keeps all of v
	v &= 0x7f7f7f7f7f7f7f7f
	// 3. Join the groups of 7 bits. A number of 9 or 10 bytes has more bits behind these 8 bytes.
	v = v&0x007f007f007f007f | v&0x7f007f007f007f00>>1
	v = v&0x00003fff00003fff | v&0x3fff00003fff0000>>2
	v = v&0x000000000fffffff | v&0x0fffffff00000000>>4
	if last != 0 {
		return v, n
	}
	if v |= uint64(b[8]&0x7f) << 56; b[8] < 0x80 {
		return v, 9
	}
	// The tenth byte may hold one bit only, because a number has 64 bits.
	if b[9] > 1 {
		return 0, 0
	}
	return v | uint64(b[9])<<63, 10
}

// zigzag maps differences near 0 to small numbers.
func zigzag(d uint64) uint64   { return d<<1 ^ uint64(int64(d)>>63) }
func unzigzag(z uint64) uint64 { return z>>1 ^ -(z & 1) }

// Numbers: uvarints, of which a graph's answers have many, without a loop over
// their bytes.

package wire

import (
	"encoding/binary"
	"math/bits"
)

// maxNumberBytes is the most bytes of a number.
const maxNumberBytes = binary.MaxVarintLen64

// putNumber writes v to b, which has room for 10 bytes, and returns its length.
func putNumber(b []byte, v uint64) int {
	if v < 1<<7 {
		b[0] = byte(v)
		return 1
	}
	if v >= 1<<56 {
		return binary.PutUvarint(b, v)
	}
	n := (bits.Len64(v) + 6) / 7
	// The groups of 7 bits move apart: 28 each, 14 each, 7 each.
	v = v&0x000000000fffffff | v&0x00fffffff0000000<<4
	v = v&0x00003fff00003fff | v&0x0fffc0000fffc000<<2
	v = v&0x007f007f007f007f | v&0x3f803f803f803f80<<1
	binary.LittleEndian.PutUint64(b, v|0x8080808080808080&(1<<(8*n-8)-1))
	return n
}

// number reads the number that b begins with; n is 0 where there is none.
func number(b []byte) (v uint64, n int) {
	if len(b) < maxNumberBytes {
		v, n = binary.Uvarint(b)
		return v, max(n, 0)
	}
	if b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v = binary.LittleEndian.Uint64(b)
	last := ^v & 0x8080808080808080 // the top bits of bytes that may be the last
	n = bits.TrailingZeros64(last)/8 + 1
	v &= last ^ (last - 1) // for last 0 it is all of v
	v &= 0x7f7f7f7f7f7f7f7f
	v = v&0x007f007f007f007f | v&0x7f007f007f007f00>>1
	v = v&0x00003fff00003fff | v&0x3fff00003fff0000>>2
	v = v&0x000000000fffffff | v&0x0fffffff00000000>>4
	if last != 0 {
		return v, n
	}
	if v |= uint64(b[8]&0x7f) << 56; b[8] < 0x80 {
		return v, 9
	}
	if b[9] > 1 {
		return 0, 0
	}
	return v | uint64(b[9])<<63, 10
}

// zigzag gives small numbers to differences near 0.
func zigzag(d uint64) uint64   { return d<<1 ^ uint64(int64(d)>>63) }
func unzigzag(z uint64) uint64 { return z>>1 ^ -(z & 1) }

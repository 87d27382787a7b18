// Arrays of integers of one width.

package urls

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

const (
	packedHeader = 8
	widthShift   = 56
	countMask    = 1<<widthShift - 1

	// A value of at most this width lies within 8 bytes, whatever bit it begins at.
	maxSingleWidth = 57
)

// packedArray is an array of unsigned integers at the width of its greatest, 0 to 64 bits each. It
// reads the bytes in place, without an allocation. The zero value is empty. It is immutable and
// safe for concurrent use. All integers are little-endian:
//
//	+-------------------+
//	| uint56 n          |  values
//	| uint8  width      |  bits of each: 0 to 64
//	+-------------------+
//	| n times width bits|  from the lowest bit of each byte on,
//	|                   |  padded to 8 bytes
//	+-------------------+
//	| 8 bytes of zero   |  because a value is read as 8 bytes; not if
//	+-------------------+  n or width is 0
type packedArray struct {
	n     int
	width uint
	mask  uint64
	bits  []byte
}

// appendPacked appends the array of values to dst and returns it.
func appendPacked(dst []byte, values []uint64) []byte {
	// The width must hold every value, so it is the length of their union.
	var all uint64
	for _, v := range values {
		all |= v
	}
	width := bits.Len64(all)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(values))|uint64(width)<<widthShift)
	start := len(dst)
	dst = append(dst, make([]byte, packedBytes(len(values), uint(width)))...)
	body := dst[start:]
	for i, v := range values {
		at := uint(i) * uint(width)
		if width == 0 {
			break
		}
		p := body[at>>3:]
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)|v<<(at&7))
		// If the value crosses the 8 bytes, its highest bits go into the ninth.
		if at&7+uint(width) > 64 {
			p[8] |= byte(v >> (64 - at&7))
		}
	}
	return dst
}

// packedBytes returns the length in bytes behind the header of n values. n must be below 2^56.
func packedBytes(n int, width uint) uint64 {
	if n == 0 || width == 0 {
		return 0
	}
	return (uint64(n)*uint64(width)+63)>>6<<3 + 8
}

// openPacked returns the array at the start of b, and its length in bytes. The array reads b, which
// must not change. Any bytes may be given, because openPacked checks the header. Reads of the array cannot fail.
func openPacked(b []byte) (packedArray, int, error) {
	if len(b) < packedHeader {
		return packedArray{}, 0, fmt.Errorf("%d bytes, no header of an array", len(b))
	}
	header := binary.LittleEndian.Uint64(b)
	n, width := header&countMask, uint(header>>widthShift)
	if width > 64 {
		return packedArray{}, 0, fmt.Errorf("an array of width %d, at most 64", width)
	}
	size := packedBytes(int(n), width)
	if size > uint64(len(b)-packedHeader) {
		return packedArray{}, 0, fmt.Errorf("%d values of %d bits do not fit %d bytes", n, width, len(b))
	}
	end := packedHeader + int(size)
	return packedArray{n: int(n), width: width, mask: ^uint64(0) >> (64 - width), bits: b[packedHeader:end]}, end, nil
}

// len returns the number of values.
func (a packedArray) len() int { return a.n }

// get returns value i, counted from 0. It panics if i is not below len.
func (a packedArray) get(i int) uint64 {
	if uint(i) >= uint(a.n) {
		panic(fmt.Sprintf("urls: index %d of an array of %d", i, a.n))
	}
	if a.width == 0 {
		return 0
	}
	bit := uint(i) * a.width
	shift := bit & 7
	v := binary.LittleEndian.Uint64(a.bits[bit>>3:]) >> shift
	// Wider values may reach a ninth byte. It exists because padding follows the last value.
	if a.width > maxSingleWidth {
		v |= uint64(a.bits[bit>>3+8]) << (64 - shift)
	}
	return v & a.mask
}

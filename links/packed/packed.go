// Package packed keeps an array of integers at the width of its greatest, 0 to 64 bits each. It
// reads the bytes in place, without an allocation. An [Array] is safe for concurrent use.
//
// # Format
//
// All integers are little-endian:
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
package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

const (
	headerBytes = 8
	widthShift  = 56
	countMask   = 1<<widthShift - 1

	// A value of at most this width lies within 8 bytes, whatever bit it begins at.
	maxSingleWidth = 57
)

// ErrCorrupt is wrapped by every error of Open, if the bytes are no valid array.
var ErrCorrupt = errors.New("packed: damaged array")

// Array is an array of unsigned integers of one width. The zero value is empty. It is immutable
// and safe for concurrent use.
type Array struct {
	n     int
	width uint
	mask  uint64
	bits  []byte
}

// Append appends the array of values to dst and returns it.
func Append(dst []byte, values []uint64) []byte {
	// The width must hold every value, so it is the length of their union.
	var all uint64
	for _, v := range values {
		all |= v
	}
	width := bits.Len64(all)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(values))|uint64(width)<<widthShift)
	start := len(dst)
	dst = append(dst, make([]byte, dataBytes(len(values), uint(width)))...)
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

// dataBytes returns the length in bytes behind the header of n values. n must be below 2^56.
func dataBytes(n int, width uint) uint64 {
	if n == 0 || width == 0 {
		return 0
	}
	return (uint64(n)*uint64(width)+63)>>6<<3 + 8
}

// Open returns the array at the start of b, and its length in bytes. The array reads b, which
// must not change. Any bytes may be given, because Open checks the header. An error wraps
// ErrCorrupt. Reads of the array cannot fail.
func Open(b []byte) (Array, int, error) {
	if len(b) < headerBytes {
		return Array{}, 0, fmt.Errorf("%w: %d bytes, no header", ErrCorrupt, len(b))
	}
	header := binary.LittleEndian.Uint64(b)
	n, width := header&countMask, uint(header>>widthShift)
	if width > 64 {
		return Array{}, 0, fmt.Errorf("%w: width %d, at most 64", ErrCorrupt, width)
	}
	size := dataBytes(int(n), width)
	if size > uint64(len(b)-headerBytes) {
		return Array{}, 0, fmt.Errorf("%w: %d values of %d bits do not fit %d bytes", ErrCorrupt, n, width, len(b))
	}
	end := headerBytes + int(size)
	return Array{n: int(n), width: width, mask: ^uint64(0) >> (64 - width), bits: b[headerBytes:end]}, end, nil
}

// Len returns the number of values.
func (a Array) Len() int { return a.n }

// Width returns the bits of each value.
func (a Array) Width() int { return int(a.width) }

// At returns value i, counted from 0. It panics if i is not below Len.
func (a Array) At(i int) uint64 {
	if uint(i) >= uint(a.n) {
		panic(fmt.Sprintf("packed: index %d of an array of %d", i, a.n))
	}
	if a.width == 0 {
		return 0
	}
	at := uint(i) * a.width
	shift := at & 7
	v := binary.LittleEndian.Uint64(a.bits[at>>3:]) >> shift
	// Wider values may reach a ninth byte. It exists because padding follows the last value.
	if a.width > maxSingleWidth {
		v |= uint64(a.bits[at>>3+8]) << (64 - shift)
	}
	return v & a.mask
}

// Parts: a sequence in parts of 32 values, over verified bytes.

package ef

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"unsafe"
)

const (
	partShift = 5
	partLen   = 1 << partShift // values in a part
	// An entry of the directory covers eight parts.
	entryShift = 3
	entryParts = 1 << entryShift

	bitmapBytes = 8
	partPadding = 8

	sizeShift = 56
	sizeMask  = 1<<sizeShift - 1

	// lowUnit is the length in bytes of the low parts of a part if each has one bit.
	lowUnit = partLen / 8
)

// Parts is a sequence of non-decreasing values like [Sequence], and faster to read. The zero value
// is the empty sequence. A copy reads the same bytes. It is safe for concurrent use.
type Parts struct {
	n        int
	b        []byte // from the header to the padding, inclusive
	parts    uint   // offset of the parts in b
	head     uint   // bytes of a part before its low parts
	baseMask uint64 // mask of the bytes of a base
}

// Len returns the number of values.
func (s *Parts) Len() int { return s.n }

// At returns value i, counted from 0. It panics if i is not below Len.
func (s *Parts) At(i int) uint64 {
	if uint(i) >= uint(s.n) {
		panicIndex(i, s.n)
	}
	at, width := s.part(uint(i) >> partShift)
	return s.value(at, width, uint(i)%partLen)
}

// part returns the offset of part k in b, and the width of its low parts. The part must exist.
func (s *Parts) part(k uint) (at, width uint) {
	// Entries precede the parts; each covers eight of them.
	e := headerBytes + k>>entryShift*entryBytes
	return s.partOf(s.read(e), s.read(e+8), k%entryParts)
}

// partOf is part for the part with number in of an entry.
func (s *Parts) partOf(offset, widths uint64, in uint) (at, width uint) {
	shift := in * 8 & 63
	return s.parts + uint(offset) + in*s.head + lowUnit*uint(sumBytes(widths&(1<<shift-1))), uint(widths>>shift) & 0xff
}

// sumBytes returns the sum of the eight bytes of x.
func sumBytes(x uint64) uint64 {
	const even = 0x00ff00ff00ff00ff
	return (x&even + x>>8&even) * 0x0001000100010001 >> 48
}

// holds reports whether a part with this offset and width, and 8 more bytes, are within b. A read
// of the last low part may need these bytes. If OpenParts accepted the part, they are. Reads within
// such a part need no further check.
func (s *Parts) holds(at, width uint) bool {
	end := at + s.head + lowUnit*width + partPadding
	return at <= end && end <= uint(len(s.b)) && width <= wholeWidth
}

// read reads 8 bytes at offset at of b. They must exist.
func (s *Parts) read(at uint) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s.b)), at))[:])
}

// value returns value i, below 32, of the part at offset at of b.
func (s *Parts) value(at, width, i uint) uint64 {
	if !s.holds(at, width) {
		panicPart(at)
	}
	low := i * width
	upper := uint64(selectInWord(s.read(at+s.head-bitmapBytes), i) - i)
	// If the width is 64, values have no upper part.
	return s.read(at)&s.baseMask +
		(upper<<(width&63) | s.read(at+s.head+low>>3)>>(low&7)&lowMask(width))
}

func panicPart(at uint) {
	panic(fmt.Sprintf("ef: the part at byte %d has changed since Open", at))
}

// Search returns the first i with At(i) >= x, or Len() if there is none.
func (s *Parts) Search(x uint64) int {
	// Invariant: parts below lo begin below x, parts from hi on do not.
	lo, hi := 0, (s.n+partLen-1)>>partShift
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if at, width := s.part(uint(mid)); s.value(at, width, 0) < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0
	}
	// Search the part before, because its later values may be x or more.
	lo, hi = (lo-1)<<partShift+1, min(lo<<partShift, s.n)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.At(mid) < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// All yields all values with their indexes.
func (s *Parts) All() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for first := 0; first < s.n; first += partLen {
			at, width := s.part(uint(first) >> partShift)
			for i := range min(partLen, s.n-first) {
				if !yield(first+i, s.value(at, width, uint(i))) {
					return
				}
			}
		}
	}
}

// OpenParts is [Open] for Parts.
func OpenParts(b []byte) (Parts, int, error) {
	// 1. Check the header. The sums must not overflow, so counts are checked before.
	if len(b) < headerBytes {
		return Parts{}, 0, fmt.Errorf("%w: %d bytes, no header", ErrCorrupt, len(b))
	}
	n, size := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if n == 0 && size == 0 {
		return Parts{}, headerBytes, nil
	}
	baseBytes := int(size >> sizeShift)
	size &= sizeMask
	room := uint64(len(b) - headerBytes)
	// Each part has at least a bitmap, and each directory entry covers eight parts.
	if baseBytes > 8 || n == 0 || size%8 != 0 || size > room || (n-1)/partLen >= size/bitmapBytes ||
		entryBytes*((n-1)/(partLen*entryParts)+1)+partPadding > room-size {
		return Parts{}, 0, fmt.Errorf("%w: %d values in %d bytes, with bases of %d, do not fit %d bytes", ErrCorrupt, n, size, baseBytes, len(b))
	}
	// 2. Verify the parts, because reads do not.
	s := Parts{n: int(n), head: uint(baseBytes) + bitmapBytes, baseMask: lowMask(uint(8 * baseBytes))}
	s.parts = headerBytes + entryBytes*uint((n-1)/(partLen*entryParts)+1)
	end := s.parts + uint(size) + partPadding
	s.b = b[:end:end]
	if err := s.check(); err != nil {
		return Parts{}, 0, err
	}
	return s, int(end), nil
}

// check verifies every part: its offset, its bitmap, and its values. No value may be below the
// one before it or above 2^64-1.
func (s *Parts) check() error {
	// 1. Check each part. Each must begin at the end of the one before; unused widths of the
	// last entry must be 0.
	next, last := s.parts, uint64(0)
	limit := uint(len(s.b)) - partPadding
	count := (s.n-1)>>partShift + 1
	for k := range (count + entryParts - 1) &^ (entryParts - 1) {
		at, width := s.part(uint(k))
		if k >= count {
			if width != 0 {
				return fmt.Errorf("%w: part %d of %d has a width", ErrCorrupt, k, count)
			}
			continue
		}
		if at != next || width > maxShiftedWidth && width != wholeWidth || !s.holds(at, width) {
			return fmt.Errorf("%w: part %d of width %d has no place at byte %d", ErrCorrupt, k, width, at)
		}
		next = at + s.head + lowUnit*width
		var ok bool
		if last, ok = s.checkPart(at, width, min(partLen, s.n-k<<partShift), last); !ok {
			return fmt.Errorf("%w: part %d does not hold its values in order", ErrCorrupt, k)
		}
	}
	// 2. Only zeros may follow, and less than 8 before the padding.
	if limit-next >= 8 {
		return fmt.Errorf("%w: %d bytes behind the last part", ErrCorrupt, limit-next)
	}
	for _, c := range s.b[next:] {
		if c != 0 {
			return fmt.Errorf("%w: it does not end with zeros", ErrCorrupt)
		}
	}
	return nil
}

// checkPart returns the last value of a part of m values. ok is false if a value is missing or
// below the one before it, or if the first value is not the base.
func (s *Parts) checkPart(at, width uint, m int, last uint64) (_ uint64, ok bool) {
	base, bitmap := s.read(at)&s.baseMask, s.read(at+s.head-bitmapBytes)
	upper := uint(bits.Len64(bitmap) - m) // of the last value
	if bits.OnesCount64(bitmap) != m || bits.Len(upper)+int(width) > 64 {
		return 0, false
	}
	for i := range m {
		v := s.value(at, width, uint(i))
		if v < last || v < base || i == 0 && (v != base || bitmap&1 == 0) {
			return 0, false
		}
		last = v
	}
	return last, true
}

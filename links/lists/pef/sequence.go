// The reading half: a sequence over bytes that Open has verified.

package pef

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"unsafe"
)

// ErrCorrupt is wrapped by every error of Open: the bytes are no sequence.
var ErrCorrupt = errors.New("pef: damaged sequence")

const (
	partShift = 5
	partLen   = 1 << partShift // values of a part
	// An entry of the directory is of eight parts.
	entryShift = 3
	entryParts = 1 << entryShift

	headerBytes  = 16
	entryBytes   = 16
	bitmapBytes  = 8
	paddingBytes = 8

	sizeShift = 56
	sizeMask  = 1<<sizeShift - 1

	// lowUnit is how many bytes the low parts of one bit take in a part.
	lowUnit = partLen / 8

	// maxShiftedWidth is the widest low part that one 8-byte read at any bit holds; a
	// wider one is kept as a whole value of 64 bits.
	maxShiftedWidth = 57
	wholeWidth      = 64
)

// Sequence is a sequence of values that never decrease. The zero value is the empty
// sequence. A copy reads the same bytes.
type Sequence struct {
	n        int
	b        []byte // from the header on, the padding included
	parts    uint   // place of the parts in b
	head     uint   // bytes of a part before its low parts
	baseMask uint64 // of the bytes of a base
}

// Len returns the number of values.
func (s *Sequence) Len() int { return s.n }

// Last returns the last value, the greatest one; 0 where there is none.
func (s *Sequence) Last() uint64 {
	if s.n == 0 {
		return 0
	}
	return s.At(s.n - 1)
}

// At returns value i, counted from 0.
func (s *Sequence) At(i int) uint64 {
	if uint(i) >= uint(s.n) {
		panicIndex(i, s.n)
	}
	at, width := s.part(uint(i) >> partShift)
	return s.value(at, width, uint(i)%partLen)
}

func panicIndex(i, n int) {
	panic(fmt.Sprintf("pef: index %d of a sequence of %d", i, n))
}

// part returns where part k, which is there, begins in b, and the width of its low parts.
func (s *Sequence) part(k uint) (at, width uint) {
	// The entries are before the parts, and each is for eight of them.
	e := headerBytes + k>>entryShift*entryBytes
	return s.partOf(s.read(e), s.read(e+8), k%entryParts)
}

// partOf is part for number in of the parts of an entry.
func (s *Sequence) partOf(offset, widths uint64, in uint) (at, width uint) {
	shift := in * 8 & 63
	return s.parts + uint(offset) + in*s.head + lowUnit*uint(sumBytes(widths&(1<<shift-1))), uint(widths>>shift) & 0xff
}

// sumBytes returns the sum of the eight bytes of x.
func sumBytes(x uint64) uint64 {
	const even = 0x00ff00ff00ff00ff
	return (x&even + x>>8&even) * 0x0001000100010001 >> 48
}

// holds reports whether a part of such a width at such a place, with the 8 bytes behind
// it that a read of its last low part may need, is within b: so it is in what Open
// took. Then all its reads are within b, which are made without asking again.
func (s *Sequence) holds(at, width uint) bool {
	end := at + s.head + lowUnit*width + paddingBytes
	return at <= end && end <= uint(len(s.b)) && width <= wholeWidth
}

// read reads 8 bytes at a place of b where they are.
func (s *Sequence) read(at uint) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s.b)), at))[:])
}

// value returns value i, below 32, of the part that begins at a place of b.
func (s *Sequence) value(at, width, i uint) uint64 {
	if !s.holds(at, width) {
		panicPart(at)
	}
	low := i * width
	upper := uint64(selectInWord(s.read(at+s.head-bitmapBytes), i) - i)
	// Where the width is 64 no value has an upper part.
	return s.read(at)&s.baseMask +
		(upper<<(width&63) | s.read(at+s.head+low>>3)>>(low&7)&lowMask(width))
}

func panicPart(at uint) {
	panic(fmt.Sprintf("pef: the part at byte %d has changed since Open", at))
}

// lowMask has the lowest width bits set.
func lowMask(width uint) uint64 { return 1<<width - 1 }

// Search returns the first i with At(i) >= x, and Len() where there is none.
func (s *Sequence) Search(x uint64) int {
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
	// And of the part before, values below lo are below x.
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

// All yields all values, each with its index.
func (s *Sequence) All() iter.Seq2[int, uint64] {
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

// Open returns the sequence at the front of b and the number of bytes that it takes.
// The sequence reads b, which must not change. Any bytes may be given; an error wraps
// ErrCorrupt. Open reads all of the sequence once.
func Open(b []byte) (Sequence, int, error) {
	if len(b) < headerBytes {
		return Sequence{}, 0, fmt.Errorf("%w: %d bytes, no header", ErrCorrupt, len(b))
	}
	n, size := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if n == 0 && size == 0 {
		return Sequence{}, headerBytes, nil
	}
	baseBytes := int(size >> sizeShift)
	size &= sizeMask
	room := uint64(len(b) - headerBytes)
	// A part has a bitmap at least, and a directory's entry is for eight of them.
	if baseBytes > 8 || n == 0 || size%8 != 0 || size > room || (n-1)/partLen >= size/bitmapBytes ||
		entryBytes*((n-1)/(partLen*entryParts)+1)+paddingBytes > room-size {
		return Sequence{}, 0, fmt.Errorf("%w: %d values in %d bytes, with bases of %d, do not fit %d bytes", ErrCorrupt, n, size, baseBytes, len(b))
	}
	s := Sequence{n: int(n), head: uint(baseBytes) + bitmapBytes, baseMask: lowMask(uint(8 * baseBytes))}
	s.parts = headerBytes + entryBytes*uint((n-1)/(partLen*entryParts)+1)
	end := s.parts + uint(size) + paddingBytes
	s.b = b[:end:end]
	if err := s.check(); err != nil {
		return Sequence{}, 0, err
	}
	return s, int(end), nil
}

// check verifies every part: its place, its bitmap, and that no value is below the
// one before it or past 2^64-1.
func (s *Sequence) check() error {
	next, last := s.parts, uint64(0)
	limit := uint(len(s.b)) - paddingBytes
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

// checkPart returns the last value of a part of m values, and whether all are there,
// begin with the base, and are not below last, nor one below another.
func (s *Sequence) checkPart(at, width uint, m int, last uint64) (_ uint64, ok bool) {
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

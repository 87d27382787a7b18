// The reading half: a sequence over bytes that Open has verified.

package pef

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
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
	parts    int    // place of the parts in b
	head     int    // bytes of a part before its low parts
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

// part returns where part k begins in b, and the width of its low parts.
func (s *Sequence) part(k uint) (at int, width uint) {
	e := s.b[headerBytes+k>>entryShift*entryBytes:]
	e = e[:entryBytes]
	in := k % entryParts
	widths := binary.LittleEndian.Uint64(e[8:])
	shift := in * 8
	at = s.parts + int(binary.LittleEndian.Uint64(e)) + int(in)*s.head + lowUnit*int(sumBytes(widths&(1<<shift-1)))
	return at, uint(widths>>shift) & 0xff
}

// sumBytes returns the sum of the eight bytes of x.
func sumBytes(x uint64) uint64 {
	const even = 0x00ff00ff00ff00ff
	return (x&even + x>>8&even) * 0x0001000100010001 >> 48
}

// value returns value i of the part that begins at a place of b.
func (s *Sequence) value(at int, width, i uint) uint64 {
	p := s.b[at:]
	base := binary.LittleEndian.Uint64(p) & s.baseMask
	bitmap := binary.LittleEndian.Uint64(p[s.head-bitmapBytes:])
	low := i * width
	// Where the width is 64 no value has an upper part.
	return base + (uint64(selectInWord(bitmap, i)-i)<<(width&63) |
		binary.LittleEndian.Uint64(p[s.head+int(low>>3):])>>(low&7)&lowMask(width))
}

// lowMask has the lowest width bits set.
func lowMask(width uint) uint64 { return 1<<width - 1 }

// Gather sets dst[i] to the value of number places[i], for all of them; dst has room
// for that. What it needs is first touched, all of it at once: in a large sequence
// these are cache misses, which the processor waits for together and not one after
// another.
func Gather[T ~uint64](s *Sequence, dst []T, places []uint32) {
	dst = dst[:len(places)]
	bitmaps := ^uint64(0)
	for i, place := range places {
		if uint64(place) >= uint64(s.n) {
			panicIndex(int(place), s.n)
		}
		at, width := s.part(uint(place) >> partShift)
		dst[i] = T(at<<8 | int(width))
		low := at + s.head + int(uint(place)%partLen*width>>3)
		bitmaps &= binary.LittleEndian.Uint64(s.b[at+s.head-bitmapBytes:]) | uint64(s.b[low])<<8
	}
	if bitmaps&1 == 0 {
		panic("pef: a part without a first value") // none that Open accepts
	}
	for i, place := range places {
		dst[i] = T(s.value(int(dst[i]>>8), uint(dst[i]&0xff), uint(place)%partLen))
	}
}

// Search returns the first i with At(i) >= x, and Len() where there is none.
func (s *Sequence) Search(x uint64) int {
	// Invariant: parts below lo begin below x, parts from hi on do not.
	lo, hi := 0, (s.n+partLen-1)>>partShift
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if at, _ := s.part(uint(mid)); binary.LittleEndian.Uint64(s.b[at:])&s.baseMask < x {
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
	s := Sequence{n: int(n), head: baseBytes + bitmapBytes, baseMask: lowMask(uint(8 * baseBytes))}
	s.parts = headerBytes + entryBytes*int((n-1)/(partLen*entryParts)+1)
	end := s.parts + int(size) + paddingBytes
	s.b = b[:end:end]
	if err := s.check(); err != nil {
		return Sequence{}, 0, err
	}
	return s, end, nil
}

// check verifies every part: its place, its bitmap, and that no value is below the
// one before it or past 2^64-1.
func (s *Sequence) check() error {
	next, last := s.parts, uint64(0)
	limit := len(s.b) - paddingBytes
	count := (s.n-1)>>partShift + 1
	for k := range (count + entryParts - 1) &^ (entryParts - 1) {
		at, width := s.part(uint(k))
		if k >= count {
			if width != 0 {
				return fmt.Errorf("%w: part %d of %d has a width", ErrCorrupt, k, count)
			}
			continue
		}
		if at != next || width > maxShiftedWidth && width != wholeWidth || limit-at < s.head+lowUnit*int(width) {
			return fmt.Errorf("%w: part %d of width %d has no place at byte %d", ErrCorrupt, k, width, at)
		}
		next = at + s.head + lowUnit*int(width)
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
func (s *Sequence) checkPart(at int, width uint, m int, last uint64) (_ uint64, ok bool) {
	base := binary.LittleEndian.Uint64(s.b[at:]) & s.baseMask
	bitmap := binary.LittleEndian.Uint64(s.b[at+s.head-bitmapBytes:])
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

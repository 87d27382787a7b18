// Reads of many values of Parts in steps.

package ef

// Place locates a value of a sequence, to read many values in steps: find the places of all,
// touch all, then read all values. The memory of a step is known after the step before. In a
// large sequence these reads are cache misses, and in steps the processor waits for many of them
// at once. The fewer instructions lie between two reads, the more overlap. So each step is a
// loop of its own.
type Place uint64 // offset of the part in b << 8 | width of its low parts

func (p Place) parts() (at, width uint) { return uint(p >> 8), uint(p & 0xff) }

// Find returns the place of value i. It panics if i is not below Len.
func (s *Parts) Find(i uint32) Place {
	if uint64(i) >= uint64(s.n) {
		panicIndex(int(i), s.n)
	}
	at, width := s.part(uint(i) >> partShift)
	return Place(at<<8 | width)
}

// Touch reads the memory that Value will read for value i at p. The result is meaningless, but
// its lowest bit is 1. It must be used, because the compiler could drop the reads otherwise.
func (s *Parts) Touch(p Place, i uint32) uint64 {
	at, width := p.parts()
	if !s.holds(at, width) {
		panicPart(at)
	}
	// Every bitmap begins with a one.
	return s.read(at+s.head-bitmapBytes) | s.read(at+s.head+uint(i)%partLen*width>>3)
}

// Value returns value i, which must be at p.
func (s *Parts) Value(p Place, i uint32) uint64 {
	at, width := p.parts()
	return s.value(at, width, uint(i)%partLen)
}

// FindEach sets places[k] to the [Place] of value of[k] of the sequence from[owners[k]], for
// every k. places and owners must be at least as long as of.
func FindEach[T ~uint64](from []*Parts, places []T, owners []uint8, of []uint32) {
	places, owners = places[:len(of)], owners[:len(of)]
	for k, i := range of {
		s := from[owners[k]]
		if uint64(i) >= uint64(s.n) {
			panicIndex(int(i), s.n)
		}
		at, width := s.part(uint(i) >> partShift)
		places[k] = T(at<<8 | width)
	}
}

// TouchEach is Touch of the values of[k] of the sequences from[owners[k]] at places[k].
func TouchEach[T ~uint64](from []*Parts, places []T, owners []uint8, of []uint32) (touched uint64) {
	places, owners = places[:len(of)], owners[:len(of)]
	for k, i := range of {
		s := from[owners[k]]
		at, width := Place(places[k]).parts()
		if !s.holds(at, width) {
			panicPart(at)
		}
		touched |= s.read(at+s.head-bitmapBytes) | s.read(at+s.head+uint(i)%partLen*width>>3)
	}
	return touched
}

// ValueEach sets dst[k] to value of[k] of the sequence from[owners[k]] at places[k], for every
// k. dst must be at least as long as of, and may be places.
func ValueEach[T ~uint64](from []*Parts, dst, places []T, owners []uint8, of []uint32) {
	dst, places, owners = dst[:len(of)], places[:len(of)], owners[:len(of)]
	for k, i := range of {
		s := from[owners[k]]
		at, width := Place(places[k]).parts()
		if !s.holds(at, width) {
			panicPart(at) // the caller owns places
		}
		n := uint(i) % partLen
		low := n * width
		upper := uint64(selectInWord(s.read(at+s.head-bitmapBytes), n) - n)
		dst[k] = T(s.read(at)&s.baseMask +
			(upper<<(width&63) | s.read(at+s.head+low>>3)>>(low&7)&lowMask(width)))
	}
}

// noOwners are the owners if all values are of one sequence.
var noOwners [64]uint8

// Gather sets dst[k] to value places[k], for every k, in steps. dst must be at least as long as
// places.
func Gather[T ~uint64](s *Parts, dst []T, places []uint32) {
	from := [1]*Parts{s}
	for len(places) > 0 {
		some := places[:min(len(places), len(noOwners))]
		FindEach(from[:], dst, noOwners[:], some)
		if TouchEach(from[:], dst, noOwners[:], some)&1 == 0 {
			panicPart(0)
		}
		ValueEach(from[:], dst, dst, noOwners[:], some)
		dst, places = dst[len(some):], places[len(some):]
	}
}

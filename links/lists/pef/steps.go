// Values read in steps, many at once.

package pef

// Place says where a value of one sequence is, for who reads many values in steps: the
// places of all, then a touch of all, then the values of all. Each step reads memory that
// is known after the one before it. In a large sequence these are cache misses, which the
// processor waits for together, and not for one value's after another's. It has more of
// them under way the fewer instructions lie between two: so a step is a loop of its own.
type Place uint64 // where the part begins in b << 8 | width of its low parts

func (p Place) parts() (at, width uint) { return uint(p >> 8), uint(p & 0xff) }

// Find returns the place of value i.
func (s *Sequence) Find(i uint32) Place {
	if uint64(i) >= uint64(s.n) {
		panicIndex(int(i), s.n)
	}
	at, width := s.part(uint(i) >> partShift)
	return Place(at<<8 | width)
}

// Touch reads what Value will read of value i, which is at p. What it returns is of no
// use but that the processor must read for it; its lowest bit is 1.
func (s *Sequence) Touch(p Place, i uint32) uint64 {
	at, width := p.parts()
	if !s.holds(at, width) {
		panicPart(at)
	}
	// Every bitmap begins with a one.
	return s.read(at+s.head-bitmapBytes) | s.read(at+s.head+uint(i)%partLen*width>>3)
}

// Value returns value i, which is at p.
func (s *Sequence) Value(p Place, i uint32) uint64 {
	at, width := p.parts()
	return s.value(at, width, uint(i)%partLen)
}

// FindEach sets places[k] to the [Place] of value of[k] of the sequence from[owners[k]], for
// all of them; places and owners are as long.
func FindEach[T ~uint64](from []*Sequence, places []T, owners []uint8, of []uint32) {
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

// TouchEach is Touch of the values of[k] of the sequences from[owners[k]], which are at
// places[k].
func TouchEach[T ~uint64](from []*Sequence, places []T, owners []uint8, of []uint32) (touched uint64) {
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

// ValueEach sets dst[k] to value of[k] of the sequence from[owners[k]], which is at
// places[k], for all of them. dst is as long, and may be places.
func ValueEach[T ~uint64](from []*Sequence, dst, places []T, owners []uint8, of []uint32) {
	dst, places, owners = dst[:len(of)], places[:len(of)], owners[:len(of)]
	for k, i := range of {
		s := from[owners[k]]
		at, width := Place(places[k]).parts()
		if !s.holds(at, width) {
			panicPart(at) // places is the caller's
		}
		n := uint(i) % partLen
		low := n * width
		upper := uint64(selectInWord(s.read(at+s.head-bitmapBytes), n) - n)
		dst[k] = T(s.read(at)&s.baseMask +
			(upper<<(width&63) | s.read(at+s.head+low>>3)>>(low&7)&lowMask(width)))
	}
}

// noOwners are the owners of values that are all of one sequence.
var noOwners [64]uint8

// Gather sets dst[k] to the value of number places[k], for all of them, in steps; dst has
// room for that.
func Gather[T ~uint64](s *Sequence, dst []T, places []uint32) {
	from := [1]*Sequence{s}
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

// Ranges of UIDs and of slots, and the splitting of slots.

package uid

import "fmt"

// Range is the UIDs from First to Last, both included. It is empty if First is greater than Last.
type Range struct{ First, Last UID }

// Contains reports whether u is in the range.
func (r Range) Contains(u UID) bool { return r.First <= u && u <= r.Last }

// Empty reports whether the range is empty.
func (r Range) Empty() bool { return r.First > r.Last }

// String returns the range as first-last, in decimal.
func (r Range) String() string { return fmt.Sprintf("%d-%d", uint64(r.First), uint64(r.Last)) }

// Slots is the slots from First to Last, both included. It is empty if First is greater than
// Last.
type Slots struct{ First, Last Slot }

// AllSlots is every slot.
var AllSlots = Slots{0, NumSlots - 1}

// Len returns the number of slots.
func (s Slots) Len() int { return max(0, int(s.Last)-int(s.First)+1) }

// Contains reports whether slot is one of these.
func (s Slots) Contains(slot Slot) bool { return s.First <= slot && slot <= s.Last }

// Range returns the UIDs of these slots. It is empty if there are none.
func (s Slots) Range() Range {
	const slotBits = HostBits + PageBits
	if s.Len() == 0 {
		return Range{First: 1, Last: 0}
	}
	return Range{First: UID(s.First) << slotBits, Last: UID(s.Last)<<slotBits | (1<<slotBits - 1)}
}

// Split returns n ranges that together are these slots, in order. None is empty. Sizes differ by
// 1 at most, the larger ones first. If there are fewer than n slots, it returns one range for
// each.
func (s Slots) Split(n int) []Slots {
	size := s.Len()
	n = min(max(n, 1), size)
	parts := make([]Slots, 0, n)
	first := int(s.First)
	for i := range n {
		length := size / n
		if i < size%n {
			length++
		}
		parts = append(parts, Slots{Slot(first), Slot(first + length - 1)})
		first += length
	}
	return parts
}

// String returns the slots as first-last, in decimal.
func (s Slots) String() string { return fmt.Sprintf("%d-%d", s.First, s.Last) }

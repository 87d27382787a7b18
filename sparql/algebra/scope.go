// The numbers of variables, and the names for them.

package algebra

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Scope numbers the variables of one query or update: its slots are 0 to Len()-1. Every slot
// has a name of its own: that of the variable if it is free, and otherwise one with a dot,
// because no variable of SPARQL has one; the name of a blank node begins with "_:".
type Scope struct {
	names []string
	taken map[string]int // how often a name was requested
}

// Len returns how many slots there are: the length of a solution.
func (s *Scope) Len() int { return len(s.names) }

// Name returns the name of a slot, without "?".
func (s *Scope) Name(slot int) string { return s.names[slot] }

// Visible returns the slots of a set that have a name in the query: those of COUNT(*).
func (s *Scope) Visible(of Set) (visible []int) {
	for slot := range of.All {
		if name := s.names[slot]; !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_:") {
			visible = append(visible, slot)
		}
	}
	return visible
}

// text returns the name as trees are printed.
func (s *Scope) text(slot int) string {
	if name := s.names[slot]; len(name) > 1 && name[:2] == "_:" {
		return name
	}
	return "?" + s.names[slot]
}

// add makes a slot with the name, or one like it.
func (s *Scope) add(name string) int {
	if s.taken == nil {
		s.taken = map[string]int{}
	}
	n := s.taken[name]
	s.taken[name]++
	if n > 0 {
		name += "." + strconv.Itoa(n)
	}
	s.names = append(s.names, name)
	return len(s.names) - 1
}

// SetOf returns the set of some slots.
func SetOf(slots ...int) Set {
	var s Set
	for _, slot := range slots {
		s.Add(slot)
	}
	return s
}

// Set is a set of slots. The zero Set is empty. A copy must not be changed, unless Clone made it.
type Set struct {
	first uint64   // slots 0 to 63, because few queries have more
	more  []uint64 // the following ones
}

// Has reports whether the slot is in s.
func (s Set) Has(slot int) bool {
	if slot < 64 {
		return s.first&(1<<slot) != 0
	}
	i := slot/64 - 1
	return i < len(s.more) && s.more[i]&(1<<(slot%64)) != 0
}

// Add puts a slot into s.
func (s *Set) Add(slot int) {
	if slot < 64 {
		s.first |= 1 << slot
		return
	}
	i := slot/64 - 1
	for len(s.more) <= i {
		s.more = append(s.more, 0)
	}
	s.more[i] |= 1 << (slot % 64)
}

// AddAll puts the slots of other into s.
func (s *Set) AddAll(other Set) {
	s.first |= other.first
	for len(s.more) < len(other.more) {
		s.more = append(s.more, 0)
	}
	for i, word := range other.more {
		s.more[i] |= word
	}
}

// Clone returns a copy that may be changed.
func (s Set) Clone() Set { return Set{s.first, slices.Clone(s.more)} }

// With returns a new set of the slots of s and another one.
func (s Set) With(slot int) Set {
	out := s.Clone()
	out.Add(slot)
	return out
}

// Union returns a new set of the slots in either.
func (s Set) Union(other Set) Set {
	out := s.Clone()
	out.AddAll(other)
	return out
}

// Intersect returns a new set of the slots in both.
func (s Set) Intersect(other Set) Set {
	both := Set{first: s.first & other.first}
	for i := range min(len(s.more), len(other.more)) {
		both.more = append(both.more, s.more[i]&other.more[i])
	}
	return both
}

// Minus returns a new set of the slots of s that are not in other.
func (s Set) Minus(other Set) Set {
	rest := s.Clone()
	rest.first &^= other.first
	for i := range min(len(rest.more), len(other.more)) {
		rest.more[i] &^= other.more[i]
	}
	return rest
}

// ContainsAll reports whether every slot of other is in s.
func (s Set) ContainsAll(other Set) bool {
	if other.first&^s.first != 0 {
		return false
	}
	for i, word := range other.more {
		if i < len(s.more) {
			word &^= s.more[i]
		}
		if word != 0 {
			return false
		}
	}
	return true
}

// HasEach reports whether each of some slots is in s.
func (s Set) HasEach(slots []int) bool {
	for _, slot := range slots {
		if !s.Has(slot) {
			return false
		}
	}
	return true
}

// Overlaps reports whether a slot is in both sets.
func (s Set) Overlaps(other Set) bool {
	if s.first&other.first != 0 {
		return true
	}
	for i := range min(len(s.more), len(other.more)) {
		if s.more[i]&other.more[i] != 0 {
			return true
		}
	}
	return false
}

// Len returns how many slots are in s.
func (s Set) Len() int {
	n := bits.OnesCount64(s.first)
	for _, word := range s.more {
		n += bits.OnesCount64(word)
	}
	return n
}

// All yields the slots in ascending order.
func (s Set) All(yield func(slot int) bool) {
	word := s.first
	for i := 0; ; i++ {
		for ; word != 0; word &= word - 1 {
			if !yield(i*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
		if i == len(s.more) {
			return
		}
		word = s.more[i]
	}
}

// Slots returns the slots in ascending order.
func (s Set) Slots() []int {
	slots := make([]int, 0, s.Len())
	for slot := range s.All {
		slots = append(slots, slot)
	}
	return slots
}

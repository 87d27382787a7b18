// The numbers of variables, and the names for them.

package algebra

import (
	"math/bits"
	"slices"
	"strconv"
)

// Scope numbers the variables of one query or update: its slots are 0 to Len()-1. Every slot
// has a name of its own: that of the variable if it is free, and otherwise one with a dot,
// because no variable of SPARQL has one; the name of a blank node begins with "_:".
type Scope struct {
	names []string
	taken map[string]int // how often a name was asked for
}

// Len returns how many slots there are: the length of a solution.
func (s *Scope) Len() int { return len(s.names) }

// Name returns the name of a slot, without "?".
func (s *Scope) Name(slot int) string { return s.names[slot] }

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

// Set is a set of slots. The zero Set is empty.
type Set []uint64

// Has reports whether the slot is in s.
func (s Set) Has(slot int) bool {
	return slot/64 < len(s) && s[slot/64]&(1<<(slot%64)) != 0
}

// Add puts a slot into s.
func (s *Set) Add(slot int) {
	for len(*s) <= slot/64 {
		*s = append(*s, 0)
	}
	(*s)[slot/64] |= 1 << (slot % 64)
}

// AddAll puts the slots of other into s.
func (s *Set) AddAll(other Set) {
	for len(*s) < len(other) {
		*s = append(*s, 0)
	}
	for i, word := range other {
		(*s)[i] |= word
	}
}

// Intersect returns a new set of the slots in both.
func (s Set) Intersect(other Set) Set {
	both := make(Set, min(len(s), len(other)))
	for i := range both {
		both[i] = s[i] & other[i]
	}
	return both
}

// Without returns a new set of the slots of s that are not in other.
func (s Set) Without(other Set) Set {
	rest := slices.Clone(s)
	for i := range min(len(s), len(other)) {
		rest[i] &^= other[i]
	}
	return rest
}

// ContainsAll reports whether every slot of other is in s.
func (s Set) ContainsAll(other Set) bool {
	for i, word := range other {
		if i >= len(s) {
			if word != 0 {
				return false
			}
		} else if word&^s[i] != 0 {
			return false
		}
	}
	return true
}

// Len returns how many slots are in s.
func (s Set) Len() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Slots returns the slots in ascending order.
func (s Set) Slots() []int {
	var slots []int
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			slots = append(slots, i*64+bits.TrailingZeros64(word))
		}
	}
	return slots
}

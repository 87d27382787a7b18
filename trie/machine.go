// Machine IDs, and rings of them.

package trie

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// A MachineID names a machine for good: its address may change, but its disk keeps its UUID. Zero
// names no machine. Its text form is the one of String, also in JSON, because a JSON number would
// lose its low bits.
type MachineID uint64

// MachineIDOf returns the ID of the machine with this UUID, the xxhash64 of its 16 bytes. If the
// ID is zero, as for one random UUID in 2^64, the machine must get another UUID, because
// [NewPlacement] rejects it.
func MachineIDOf(uuid [16]byte) MachineID {
	return MachineID(xxhash.Sum64(uuid[:]))
}

// ParseMachineID parses the form of String, and no other.
func ParseMachineID(s string) (MachineID, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	id := MachineID(n)
	if err != nil || id.String() != s {
		return 0, fmt.Errorf("trie: machine ID %.64q is not 16 lower-case hexadecimal digits", s)
	}
	return id, nil
}

// String returns the ID as 16 lower-case hexadecimal digits.
func (id MachineID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// MarshalText implements encoding.TextMarshaler.
func (id MachineID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *MachineID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseMachineID(string(text))
	return err
}

// Distance returns how far clockwise to is from id: 0 to itself, and across the
// greatest ID on to the least.
func (id MachineID) Distance(to MachineID) uint64 { return uint64(to - id) }

// A Ring is a set of machines in the order of their IDs. The least follows on the greatest.
// Clockwise is ascending.
//
// Invariant: strictly ascending.
type Ring []MachineID

// NewRing returns the ring of ids. They may be in any order and repeat. It keeps nothing of ids.
func NewRing(ids ...MachineID) Ring {
	r := slices.Clone(ids)
	slices.Sort(r)
	return slices.Compact(r)
}

// Contains reports whether id is on the ring. O(log n).
func (r Ring) Contains(id MachineID) bool {
	_, ok := slices.BinarySearch(r, id)
	return ok
}

// Next returns the first other machine clockwise from id, or zero, no machine, if there is no
// other. id need not be on the ring. O(log n).
func (r Ring) Next(id MachineID) MachineID {
	for next := range r.After(id) {
		return next
	}
	return 0
}

// After returns the other machines clockwise from id, each once.
func (r Ring) After(id MachineID) iter.Seq[MachineID] {
	return func(yield func(MachineID) bool) {
		at, found := slices.BinarySearch(r, id)
		behind := at
		if found {
			behind++
		}
		for _, part := range []Ring{r[behind:], r[:at]} {
			for _, next := range part {
				if !yield(next) {
					return
				}
			}
		}
	}
}

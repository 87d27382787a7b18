// The model of a trie: segments in a sorted slice.

package trie

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
)

// The model of a trie is its segments in a sorted slice.

// modelFind returns the index of the segment of key.
func modelFind(segments []Segment, key []byte) int {
	return sort.Search(len(segments), func(i int) bool { return bytes.Compare(segments[i].Lo, key) > 0 }) - 1
}

func sameSegment(a, b Segment) bool {
	return a.ID == b.ID && a.Partition == b.Partition && bytes.Equal(a.Lo, b.Lo) &&
		bytes.Equal(a.Hi, b.Hi) && (a.Hi == nil) == (b.Hi == nil)
}

// sameSegments reports whether t equals the model, by all of its methods.
func sameSegments(t *Trie, model []Segment) bool {
	if t.Len() != len(model) || !slices.EqualFunc(slices.Collect(t.All()), model, sameSegment) {
		return false
	}
	for _, s := range model {
		if got, ok := t.Get(s.ID); !ok || !sameSegment(got, s) {
			return false
		}
	}
	return true
}

// machines returns n machine IDs, the same ones each time.
func machines(n int) []MachineID {
	ids := make([]MachineID, n)
	for i := range ids {
		var uuid [16]byte
		binary.BigEndian.PutUint64(uuid[8:], uint64(i)+1)
		ids[i] = MachineIDOf(uuid)
	}
	return ids
}

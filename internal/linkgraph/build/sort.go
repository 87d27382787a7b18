// Sorting the lists of a cell.

package build

import (
	"math/bits"
	"slices"
)

// listSorter sorts lists of ordinals. Insertion is best for lists that are not long, because
// most of a page's links lead to its own host, in order.
type listSorter struct {
	spare  []uint32
	counts [1 << digitBits]uint32
}

const (
	// insertionLen is the length up to which lists are sorted by insertion: about the length at
	// which both ways take the same time.
	insertionLen = 192
	// digitBits is the number of bits in one pass over a longer list.
	digitBits = 11
)

// sortOnce sorts a list and removes duplicates. It returns the shortened list.
func (s *listSorter) sortOnce(list []uint32) []uint32 {
	if len(list) > insertionLen {
		s.sortLong(list)
	} else {
		for i := 1; i < len(list); i++ {
			v, at := list[i], i
			for ; at > 0 && list[at-1] > v; at-- {
				list[at] = list[at-1]
			}
			list[at] = v
		}
	}
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return slices.Compact(list)
		}
	}
	return list
}

// sortLong sorts by digits, the lowest ones first.
func (s *listSorter) sortLong(list []uint32) {
	greatest := slices.Max(list)
	s.spare = slices.Grow(s.spare[:0], len(list))
	from, to := list, s.spare[:len(list)]
	passes := 0
	for shift := 0; shift < bits.Len32(greatest); shift += digitBits {
		clear(s.counts[:])
		for _, v := range from {
			s.counts[v>>shift%(1<<digitBits)]++
		}
		begin := uint32(0)
		for digit, n := range s.counts {
			s.counts[digit] = begin
			begin += n
		}
		for _, v := range from {
			at := &s.counts[v>>shift%(1<<digitBits)]
			to[*at] = v
			*at++
		}
		from, to = to, from
		passes++
	}
	if passes%2 != 0 {
		copy(list, from)
	}
}

// This file orders the dictionary of ghosts.

package lists

import (
	"cmp"
	"slices"
)

// PopularFirst numbers the ghosts of a dictionary so that often used ones have
// small numbers, which lists keep in fewer bytes. uses tells how often each of
// the ghosts is a target, in the order of their pages; place[i] is the number of
// ghost i. The popular ones, the n that are used most (of equal ones the first,
// and none that is used once), have the numbers from 0 on and all others those
// behind, both in the order of their pages. So the ghosts of a list are two runs
// in page order, and a merge of two puts them in order.
//
// n = 256 is the number of which one byte tells.
func PopularFirst(uses []uint32, n int) (place []uint32) {
	place = make([]uint32, len(uses))
	ids := make([]uint32, 0, len(uses))
	for i, u := range uses {
		if u > 1 {
			ids = append(ids, uint32(i))
		}
	}
	if len(ids) > n {
		slices.SortFunc(ids, func(a, b uint32) int {
			if uses[a] != uses[b] {
				return cmp.Compare(uses[b], uses[a])
			}
			return cmp.Compare(a, b)
		})
		ids = ids[:n]
		slices.Sort(ids)
	}
	next, rest := uint32(0), uint32(len(ids))
	for i := range place {
		if int(next) < len(ids) && ids[next] == uint32(i) {
			place[i] = next
			next++
		} else {
			place[i] = rest
			rest++
		}
	}
	return place
}

// Order of the dictionary of ghosts by popularity.

package lists

import (
	"cmp"
	"slices"
)

// PopularFirst numbers the ghosts of a dictionary so that popular ones have small numbers,
// because these take fewer bytes in lists. uses[i] is how often ghost i is a target, in page
// order. place[i] is the new number of ghost i. The n ghosts with the most uses get the numbers
// from 0 on, and the others follow, both in page order. Of equal ones the first is taken; a
// ghost with one use is never popular. So the ghosts of a list are two runs in page order, and
// one merge puts them in order.
//
// n = 256 is the count of numbers in one byte.
func PopularFirst(uses []uint32, n int) (place []uint32) {
	place = make([]uint32, len(uses))
	// 1. Choose the n most popular ghosts, and put them back into page order.
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
	// 2. Number both runs.
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

// Distances: a search in breadth from several pages at once.

package linkcall

import (
	"cmp"
	"maps"
	"slices"
)

// reachedBytes are counted for a reached page.
const reachedBytes = 64

// distances finds the pages at most some links away from each start, the start itself included. All starts
// go one step at a time, so that each list is read once a step.
func (a *answers) distances(starts []uint64, steps int, backward bool) error {
	// 1. Every start reaches itself.
	seen := make([]map[uint64]int, len(starts))
	frontier := map[uint64][]int{} // the starts that reached a page in the last step, by their places
	for i, page := range starts {
		seen[i] = map[uint64]int{page: 0}
		frontier[page] = append(frontier[page], i)
	}
	// 2. Each step reads the lists of the pages that the last one reached.
	for step := 1; step <= steps && len(frontier) > 0; step++ {
		next := map[uint64][]int{}
		err := a.join.Exec.EachLinkList(a.graph, &a.join.Holder, slices.Sorted(maps.Keys(frontier)), backward, func(page uint64, list []uint64) error {
			for _, i := range frontier[page] {
				before := len(seen[i])
				for _, to := range list {
					if _, ok := seen[i][to]; !ok {
						seen[i][to] = step
						next[to] = append(next[to], i)
					}
				}
				if err := a.join.Grow((len(seen[i]) - before) * reachedBytes); err != nil {
					return err
				}
			}
			return a.join.Exec.Tick()
		})
		if err != nil {
			return err
		}
		frontier = next
	}
	// 3. Sort the pages, because a row may request one of them.
	for i, start := range starts {
		list := make([]reached, 0, len(seen[i]))
		for page, distance := range seen[i] {
			list = append(list, reached{page, distance})
		}
		slices.SortFunc(list, func(a, b reached) int { return cmp.Compare(a.page, b.page) })
		a.reached[start], seen[i] = list, nil
		if err := a.join.Exec.Check(); err != nil {
			return err
		}
	}
	return nil
}

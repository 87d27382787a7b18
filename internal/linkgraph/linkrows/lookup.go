// Look-ups of many ranges.

package linkrows

import (
	"bytes"
	"context"
	"slices"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// LookUp calls each for the rows in ranges, which may repeat but not overlap otherwise; i is the
// index of the range.
func LookUp(ctx context.Context, source sparql.Source, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	if len(ranges) == 0 {
		return nil
	}
	// 1. The ranges of a look-up must ascend and differ.
	order := make([]int, len(ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(ranges[a].Lo, ranges[b].Lo) })
	var differ []triple.Range
	var first []int // index in order of each of them
	for i, at := range order {
		if i > 0 && bytes.Equal(ranges[at].Lo, ranges[order[i-1]].Lo) {
			continue
		}
		differ, first = append(differ, ranges[at]), append(first, i)
	}
	// 2. Read them, and pass the rows to all with the same range.
	return source.Lookup(ctx, differ, func(i int, key, value []byte) error {
		end := len(order)
		if i+1 < len(first) {
			end = first[i+1]
		}
		for _, at := range order[first[i]:end] {
			if err := each(at, key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tests of the lists of a cell.

package build

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// TestLists checks that a cell's lists have all its links, in whatever runs and pieces they
// come, and however often.
func TestLists(t *testing.T) {
	rng := seed.Rand(t)
	const pages, each = 300, 100 // of each span
	b := &builder{}
	for i := range pages {
		b.uids = append(b.uids, uid.Make(uid.Slot(i/each), 1, uint32(2*i)))
	}
	s := &span{Range: uid.Slots{First: 1, Last: 1}.Range(), first: each, end: 2 * each}
	var got spanLinks
	lists := [2]map[uint32]map[uint32]bool{{}, {}}
	note := func(d cell.Direction, from, to uint32) {
		if lists[d][from] == nil {
			lists[d][from] = map[uint32]bool{}
		}
		lists[d][from][to] = true
	}
	for range 5 { // workers
		var some spanLinks
		for range 200 {
			dst := s.first + rng.Uint32N(1+rng.Uint32N(each))
			srcs := make([]uint32, 1+rng.IntN(20))
			for i := range srcs {
				srcs[i] = rng.Uint32N(pages)
				note(cell.Backward, dst, srcs[i])
			}
			some.Backward.add(dst, srcs)
			src, to := s.first+rng.Uint32N(each), rng.Uint32N(pages)
			note(cell.Forward, src, to)
			some.Forward.add(uint64(src)<<32 | uint64(to))
		}
		got.take(&some)
	}
	maker, err := cell.NewBuilder(cell.Options{Range: s.Range})
	require.NoError(t, err)
	for o := s.first; o < s.end; o++ {
		require.NoError(t, maker.AddPage(b.uids[o], []byte("http://example.org/"+strconv.Itoa(1000+int(o)))))
	}
	require.NoError(t, errors.Join(b.addForward(maker, s, &got), b.addBackward(maker, s, &got)))
	data, err := maker.Build()
	require.NoError(t, err)
	c, err := cell.Open(data)
	require.NoError(t, err)
	if err := c.Verify(); err != nil {
		t.Error(err)
	}
	for d := range lists {
		for o := s.first; o < s.end; o++ {
			var want []uid.UID
			for _, to := range slices.Sorted(maps.Keys(lists[d][o])) {
				want = append(want, b.uids[to])
			}
			if got := c.AppendLinks(nil, cell.Direction(d), o-s.first); !slices.Equal(got, want) {
				t.Fatalf("%s links of %d: %v, want %v", cell.Direction(d), o, got, want)
			}
		}
	}
}

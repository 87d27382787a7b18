// Tests of runs, labels and ordinal sets.

package build

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/cell"
)

// TestRunList checks that runs return everything added, in whatever pieces.
func TestRunList(t *testing.T) {
	rng := seed.Rand(t)
	var l, other runList
	want := map[uint32][]uint32{}
	words := 0
	for range 3000 {
		dst := uint32(rng.IntN(300))
		to := &l
		if dst%3 == 0 {
			to = &other
		}
		for range 1 + rng.IntN(3) {
			srcs := make([]uint32, rng.IntN(1+rng.IntN(400)))
			for i := range srcs {
				srcs[i] = rng.Uint32()
			}
			words += to.add(dst, srcs)
			want[dst] = append(want[dst], srcs...)
		}
	}
	spans := [2]spanLinks{{Backward: l, bytes: 1}, {Backward: other, bytes: 2}}
	spans[0].take(&spans[1])
	got := map[uint32][]uint32{}
	size := 0
	for i, piece := range spans[0].Backward.Pieces {
		if 4*cap(piece) > mostPiece {
			t.Errorf("piece %d has room for %d words", i, cap(piece))
		}
		size += len(piece)
		EachRun(piece, func(at int, dst uint32, srcs []uint32) {
			if piece[at] != dst || len(srcs) == 0 {
				t.Errorf("a run of %d sources of %d at %d", len(srcs), dst, at)
			}
			got[dst] = append(got[dst], srcs...)
		})
	}
	maps.DeleteFunc(want, func(_ uint32, srcs []uint32) bool { return len(srcs) == 0 })
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Error("runs are not what was added")
	}
	if size != words || spans[0].bytes != 3 {
		t.Errorf("%d words, %d were told; %d bytes", size, words, spans[0].bytes)
	}
}

func TestOrdinalSet(t *testing.T) {
	rng := seed.Rand(t)
	for _, n := range []int{1, 63, 64, 65, 1000} {
		s, want := newOrdinalSet(n), map[uint32]bool{}
		for range rng.IntN(2 * n) {
			o := uint32(rng.IntN(n))
			s.add(o)
			want[o] = true
		}
		if got := s.number(); int(got) != len(want) {
			t.Fatalf("%d of %d, want %d", got, n, len(want))
		}
		place := uint32(0)
		s.each(func(o uint32) {
			if !want[o] || s.place(o) != place {
				t.Fatalf("%d has place %d, want %d", o, s.place(o), place)
			}
			place++
		})
		if int(place) != len(want) {
			t.Errorf("%d of %d", place, len(want))
		}
	}
}

func TestSortOnce(t *testing.T) {
	rng := seed.Rand(t)
	var sorter listSorter
	for n := range 2 * insertionLen {
		for _, most := range []uint32{1, 2, 30, 3000, 1 << 31} {
			list := make([]uint32, n)
			for i := range list {
				list[i] = rng.Uint32N(most)
			}
			want := slices.Compact(slices.Sorted(slices.Values(list)))
			if got := sorter.sortOnce(list); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
}

// TestLabelReader checks that the last of several labels on a link counts. Some are of missing
// links.
func TestLabelReader(t *testing.T) {
	rng := seed.Rand(t)
	want := map[uint64]cell.Label{}
	var noted []labelled
	lists := map[uint32][]uint32{}
	for page := range uint32(50) {
		for to := range uint32(20) {
			edge := uint64(page)<<32 | uint64(to)
			if rng.IntN(3) > 0 && page%7 != 3 {
				lists[page] = append(lists[page], to)
			}
			for range rng.IntN(3) * rng.IntN(2) {
				want[edge] = cell.Label{Weight: rng.Float64()}
				noted = append(noted, labelled{edge, want[edge]})
			}
		}
	}
	// The labels of one link must stay in order.
	slices.SortStableFunc(noted, func(a, b labelled) int { return int(a.edge%16) - int(b.edge%16) })
	r := newLabelReader(noted)
	for page := range uint32(50) {
		got := r.labelsOf(page, lists[page])
		if len(got) != 0 && len(got) != len(lists[page]) {
			t.Fatalf("%d labels of %d links", len(got), len(lists[page]))
		}
		for i, to := range lists[page] {
			label, ok := want[uint64(page)<<32|uint64(to)]
			if !ok {
				label = cell.NoLabel
			}
			if len(got) == 0 && ok || len(got) > 0 && got[i] != label {
				t.Fatalf("labels of %d: %v", page, got)
			}
		}
	}
}

func BenchmarkSortOnce(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 0))
	from := make([]uint32, 18)
	for i := range from {
		from[i] = rng.Uint32()
	}
	slices.Sort(from[:12]) // its own host's, as a rule
	list := make([]uint32, len(from))
	var sorter listSorter
	for b.Loop() {
		copy(list, from)
		sorter.sortOnce(list)
	}
}

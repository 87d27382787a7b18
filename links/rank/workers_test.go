// Tests of lists made on all processors.

package rank_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/links/rank"
)

// Lists must be in the requested order, whichever worker made them. Each is made once.
func TestMakeLists(t *testing.T) {
	r := random(t)
	for _, n := range []int{0, 1, 127, 128, 1000, 5000} {
		for _, order := range [][]uint32{nil, permuted(r, n)} {
			var made atomic.Int64
			lists, err := rank.MakeLists(ctx, n, order, func(l *rank.Lists[int], spans iter.Seq2[int, int]) {
				for from, to := range spans {
					if from%rank.SpanLen != 0 || from >= to || to > min(n, from+rank.SpanLen) {
						t.Errorf("a span from %d to %d of %d", from, to, n)
					}
					for i := from; i < to; i++ {
						made.Add(1)
						l.Items = append(l.Items, slices.Repeat([]int{i}, i%7)...)
						l.End()
					}
				}
			})
			if err != nil || lists.Len() != n || made.Load() != int64(n) {
				t.Fatalf("%d lists of %d, %d made: %v", lists.Len(), n, made.Load(), err)
			}
			for i := range n {
				place := i
				if order != nil {
					place = int(order[i])
				}
				if !slices.Equal(lists.At(place), slices.Repeat([]int{i}, i%7)) {
					t.Fatalf("list %d of %d: %d", i, n, lists.At(place))
				}
			}
		}
	}
}

func permuted(r *rand.Rand, n int) []uint32 {
	order := make([]uint32, n)
	for i, place := range r.Perm(n) {
		order[i] = uint32(place)
	}
	return order
}

func TestMakeListsEnds(t *testing.T) {
	ended, cancel := context.WithCancelCause(ctx)
	var made atomic.Int64
	make := func(l *rank.Lists[int], spans iter.Seq2[int, int]) {
		for from, to := range spans {
			for range to - from {
				if made.Add(1) == 5000 {
					cancel(errLost)
				}
				l.End()
			}
		}
	}
	if _, err := rank.MakeLists(ended, 1_000_000, nil, make); !errors.Is(err, errLost) || made.Load() > 10_000 {
		t.Errorf("%d lists: %v", made.Load(), err)
	}
	if _, err := rank.MakeLists(ended, 0, nil, make); !errors.Is(err, errLost) {
		t.Errorf("no list: %v", err)
	}
}

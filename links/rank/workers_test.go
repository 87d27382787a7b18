// This file holds the tests of lists that all processors make.

package rank_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Lists are in their order, whoever made them; each is made once.
func TestMakeLists(t *testing.T) {
	for _, n := range []int{0, 1, 100, 1000, 5000} {
		var made atomic.Int64
		lists, err := rank.MakeLists(ctx, n, func() func([]int, int) []int {
			busy := false // a worker is asked for one list at a time
			return func(dst []int, i int) []int {
				if busy {
					t.Error("two lists at once")
				}
				busy = true
				defer func() { busy = false }()
				made.Add(1)
				return append(dst, slices.Repeat([]int{i}, i%7)...)
			}
		})
		if err != nil || lists.Len() != n || made.Load() != int64(n) {
			t.Fatalf("%d lists of %d, %d made: %v", lists.Len(), n, made.Load(), err)
		}
		for i := range n {
			if !slices.Equal(lists.At(i), slices.Repeat([]int{i}, i%7)) {
				t.Fatalf("list %d of %d: %d", i, n, lists.At(i))
			}
		}
	}
}

func TestMakeListsEnds(t *testing.T) {
	ended, cancel := context.WithCancelCause(ctx)
	var made atomic.Int64
	_, err := rank.MakeLists(ended, 1_000_000, func() func([]int, int) []int {
		return func(dst []int, i int) []int {
			if made.Add(1) == 5000 {
				cancel(errLost)
			}
			return dst
		}
	})
	if !errors.Is(err, errLost) || made.Load() > 10_000 {
		t.Errorf("%d lists: %v", made.Load(), err)
	}
	if _, err := rank.MakeLists(ended, 0, func() func([]int, int) []int { return nil }); !errors.Is(err, errLost) {
		t.Errorf("no list: %v", err)
	}
}

// The lists of a large set of pages of many slots are in the order of its numbers.
func TestWithin(t *testing.T) {
	r := random(t)
	var s rank.Set
	for range 20_000 {
		s.Add(uid.Make(uid.Slot(r.IntN(uid.NumSlots)), 1+uint32(r.IntN(3)), uint32(r.IntN(2))))
	}
	links := func(page uid.UID) []uid.UID {
		var list []uid.UID
		for i := range 1 + uint64(page)%5 {
			list = append(list, s.UIDs()[(uint64(page)*(7+i))%uint64(s.Len())], page+uid.UID(i)<<uid.PageBits)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	for class := range sample.InterDomain + 1 {
		var hosts sample.Hosts
		if class != sample.All {
			hosts = pairs{}
		}
		got, err := s.Within(ctx, class, hosts, func(dst []uid.UID, page uid.UID) []uid.UID { return append(dst, links(page)...) })
		if err != nil || got.Len() != s.Len() {
			t.Fatalf("%d lists of %d pages: %v", got.Len(), s.Len(), err)
		}
		for id, page := range s.UIDs() {
			var want []uint32
			for _, u := range sample.Sample(nil, links(page), page, sample.Spec{N: 100, Class: class}, pairs{}) {
				if id, ok := s.Find(u); ok {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			slices.Sort(got.At(id))
			if !slices.Equal(got.At(id), want) {
				t.Fatalf("%s: links of %s: %d, want %d", class, page, got.At(id), want)
			}
		}
	}
}

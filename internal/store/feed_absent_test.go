// Tests of absent triples and the feed.

package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// The caller's claim counts if no later entry has changed the triple. Here the claim is wrong, and
// the result shows that it counted.
func TestAbsentBelieved(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{FS: fs, Watched: []string{watched}}
	s, err := Open("data", o)
	require.NoError(t, err)
	add(t, s, takes("a"), takes("b"), student(0))
	at, _ := s.ChangeFeed().End()
	again := func(since uint64, what triple.Triple, believed bool) {
		t.Helper()
		r, err := Apply(ctx, s, Steps{Add: slices.Values([]triple.Triple{what}), Absent: func(int) bool { return true }, AbsentSince: since})
		if err != nil || r.Added != map[bool]int64{true: 1}[believed] {
			t.Errorf("absent since %d: %+v, %v; want it to be believed: %v", since, r, err, believed)
		}
	}
	again(at-1, takes("a"), false) // it came in that entry
	again(at+9, takes("a"), false) // no such entry
	again(at, student(0), false)   // not watched
	again(at, takes("a"), true)    // wrong, but it counts
	again(at, takes("a"), false)   // changed since
	again(at, takes("b"), true)    // the other one was not
	loadTriples(t, s, "load", nil) // whatever it loads
	again(at+2, takes("b"), false) // earlier entries are forgotten
	require.NoError(t, s.Close())
	s = openMem(t, o)
	last, _ := s.ChangeFeed().End()
	again(last-1, takes("a"), false)
}

// If writers claim absence as of some entry, nothing is lost or counted twice, whatever came in
// between.
func TestAbsentModel(t *testing.T) {
	rng := random(t)
	for range race.Fewer(5) {
		s := openMem(t, Options{Watched: []string{watched}})
		there := map[string]bool{}
		last, _ := s.ChangeFeed().End()
		states := map[uint64]map[string]bool{last: {}}
		for range race.Fewer(200) {
			since := last - min(uint64(rng.IntN(6)), last-1)
			known := states[since]
			var names, gone []string
			for range 1 + rng.IntN(60) {
				names = append(names, fmt.Sprint(rng.IntN(300)))
			}
			for range rng.IntN(40) {
				gone = append(gone, fmt.Sprint(rng.IntN(300)))
			}
			var want Result
			for _, name := range gone {
				if there[name] {
					delete(there, name)
					want.Deleted++
				}
			}
			for _, name := range names {
				if !there[name] {
					there[name] = true
					want.Added++
				}
			}
			list := func(names []string) func(func(triple.Triple) bool) {
				return func(yield func(triple.Triple) bool) {
					for _, name := range names {
						if !yield(takes(name)) {
							return
						}
					}
				}
			}
			c := Steps{Add: list(names), Delete: list(gone), AbsentSince: since}
			if known != nil {
				c.Absent = func(i int) bool { return !known[names[i]] && rng.IntN(5) > 0 }
			}
			if got, err := Apply(ctx, s, c); err != nil || got != want {
				t.Fatalf("%+v, %v; want %+v", got, err, want)
			}
			if last, _ = s.ChangeFeed().End(); states[last] == nil {
				states[last] = maps.Clone(there)
			}
		}
		if r := checked(t, s); r.Triples != int64(len(there)) {
			t.Fatalf("%d triples, want %d", r.Triples, len(there))
		}
	}
}

// Which predicates get columns.

package columns_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// Wanted predicates come first, then small ones, and all that fit.
func TestChoose(t *testing.T) {
	var all []triple.Triple
	for predicate, n := range map[string]int{"x:a": 10, "x:b": 1000, "x:c": 5000} {
		for i := range n {
			all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:s", i)), Predicate: triple.NewIRI(predicate), Object: triple.NewIRI(fmt.Sprint("x:o", i))})
		}
	}
	all = append(all, triple.Triple{Subject: triple.NewIRI("x:s"), Predicate: triple.NewIRI("x:g"), Object: triple.NewIRI("x:o"), Graph: triple.NewIRI("x:g")})
	sizes, err := columns.Sizes(t.Context(), memsource.New(all))
	require.NoError(t, err)
	byPredicate := map[string]int64{}
	for _, s := range sizes {
		byPredicate[s.Predicate] = s.Bytes
	}
	if len(sizes) != 3 {
		t.Fatalf("sizes of %d predicates", len(sizes))
	}
	// The estimate is near what a set takes.
	set, err := columns.Build(t.Context(), memsource.New(all), 1<<30)
	require.NoError(t, err)
	a, b, c := key(triple.NewIRI("x:a")), key(triple.NewIRI("x:b")), key(triple.NewIRI("x:c"))
	if sum := byPredicate[a] + byPredicate[b] + byPredicate[c]; sum < set.Bytes()/2 || sum > 4*set.Bytes() {
		t.Errorf("%d bytes are estimated, and there are %d", sum, set.Bytes())
	}
	for _, test := range []struct {
		limit  int64
		wanted map[string]int
		want   []string
	}{
		{byPredicate[a] + byPredicate[b] + byPredicate[c], nil, []string{a, b, c}},
		{byPredicate[a] + byPredicate[c], nil, []string{a, b}},
		{byPredicate[a] + byPredicate[c], map[string]int{c: 1}, []string{a, c}},
		{byPredicate[c], map[string]int{c: 2, b: 1}, []string{c}},
		{byPredicate[b], map[string]int{c: 2, b: 1}, []string{b}},
		{byPredicate[a] - 1, nil, nil},
	} {
		if got := slices.Sorted(maps.Keys(columns.Choose(sizes, test.limit, test.wanted))); !slices.Equal(got, test.want) {
			t.Errorf("%d bytes, wanted %v: %q, not %q", test.limit, test.wanted, got, test.want)
		}
	}
}

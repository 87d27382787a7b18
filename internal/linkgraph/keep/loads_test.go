// Tests of bulk loads in the feed.

package keep

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// TestLoadOfUnknownPredicates checks that a load without known predicates makes all cells invalid.
func TestLoadOfUnknownPredicates(t *testing.T) {
	o := machine.Options{}.WithDefaults()
	for _, test := range []struct {
		load feed.LoadInfo
		void bool
	}{
		{feed.LoadInfo{ID: "many"}, true},
		{feed.LoadInfo{ID: "few", Predicates: feed.Predicates{links.DefaultPredicate: 3}}, false},
	} {
		taken := NewTaken(&o)
		c := feed.Change{Kind: feed.Load, Stamp: triple.Stamp{Sequence: 5}, Load: &test.load}
		if err := taken.Add(&feed.Batch{Changes: []feed.Change{c}}); err != nil || taken.Void != test.void {
			t.Errorf("%+v: void is %t, %v", test.load, taken.Void, err)
		}
		m, err := feed.NewMatcher(LinkFilter(o.Predicate))
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := m.Match(&c); !ok || err != nil {
			t.Errorf("%+v is not selected: %v", test.load, err)
		}
	}
}

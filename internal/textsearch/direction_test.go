// Tests of literals of RDF 1.2.

package textsearch

import "testing"

// TestDirections: a literal with a base direction is analyzed by its language.
func TestDirections(t *testing.T) {
	f := newFixture(t, Options{})
	if err := f.index.Add(f.ctx(), label); err != nil {
		t.Fatal(err)
	}
	f.await()
	one := labelled("a", "graph stores@en--ltr")
	f.add(one)
	f.expect("store", "graph stores")
	f.delete(one)
	f.expect("store")
}

// Tests of the pages of a search.

package textsearch

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// TestPages: a literal of several predicates is one hit with all of them, wherever a page ends.
func TestPages(t *testing.T) {
	f := newFixture(t, Options{})
	predicates := []string{"x:p", "x:q", "x:r"}
	for i := range 10 {
		for _, p := range predicates[:1+i%3] {
			f.add(triple.Triple{Subject: triple.NewIRI("x:s"), Predicate: triple.NewIRI(p), Object: triple.NewString(fmt.Sprint("word ", i))})
		}
	}
	for _, p := range predicates {
		require.NoError(t, f.index.Add(t.Context(), p))
	}
	f.await()
	for limit := 1; limit <= 11; limit++ {
		s, err := f.index.Search(f.ctx(), Request{Query: "word"})
		require.NoError(t, err)
		seen := map[string]bool{}
		for {
			hits, err := s.Next(f.ctx(), limit)
			require.NoError(t, err)
			if len(hits) == 0 {
				break
			}
			for _, h := range hits {
				text := h.Literal.Value()
				if want := 1 + int(text[5]-'0')%3; len(h.Predicates) != want || seen[text] || len(hits) > limit {
					t.Errorf("in pages of %d, %q has the predicates %q", limit, text, h.Predicates)
				}
				seen[text] = true
			}
		}
		if len(seen) != 10 {
			t.Errorf("pages of %d have %d literals", limit, len(seen))
		}
	}
}

// Tests of searches without an index.

package textsearch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// TestScanMemory: a scan of literals of which nearly each word is another one uses no more memory than its builder may and
// its segments take. It has the answers of an index.
func TestScanMemory(t *testing.T) {
	const literals, words = 1000, 100
	f := newFixture(t, Options{BuildMemory: 2 << 20})
	random := seed.Rand(t)
	var all []triple.Triple
	size := 0
	for i := range literals {
		var b strings.Builder
		for range words {
			fmt.Fprintf(&b, "%x ", random.Uint32())
		}
		text := b.String() + []string{"graph", "graph store", "store graph graph", "other"}[i%4]
		size += len(text)
		all = append(all, labelled(fmt.Sprint(i), text))
	}
	f.add(all...)
	// 1. The parts are small, so the builder was.
	request := Request{Query: "graph OR store", Predicates: []string{label}, Scan: true}
	s, err := f.index.Search(f.ctx(), request)
	require.NoError(t, err)
	for _, p := range s.scanned {
		// A builder counts more than 200 bytes for a word that occurs once, which has some 15 in the segment.
		if n := len(p.Body()); n > f.index.scanBuildBytes()/4 {
			t.Errorf("a part has %d bytes", n)
		}
	}
	t.Logf("%d bytes of literals, %d parts, %d bytes", size, len(s.scanned), s.ScannedBytes())
	// 2. The answers.
	list := func(s *Search) (list []string) {
		for {
			hits, err := s.Next(f.ctx(), 100)
			require.NoError(t, err)
			if len(hits) == 0 {
				return list
			}
			for _, h := range hits {
				list = append(list, fmt.Sprint(h))
			}
		}
	}
	scanned := list(s)
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.await()
	if s, err = f.index.Search(f.ctx(), request); err != nil {
		t.Fatal(err)
	}
	if indexed := list(s); len(s.scanned) > 0 || len(scanned) != literals*3/4 || strings.Join(indexed, "\n") != strings.Join(scanned, "\n") {
		t.Errorf("a scan finds %d hits, an index %d", len(scanned), len(indexed))
	}
}

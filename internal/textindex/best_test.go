// The best hits of lists with many blocks and windows.

package textindex

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// manyDocuments returns two parts with deleted documents, of two languages, and the documents that are left. They have
// more than one window of a union, and words of all frequencies.
func manyDocuments(t *testing.T, r *rand.Rand) (parts []*Part, live []naiveDoc) {
	a := NewAnalyzer()
	for part := range 2 {
		var docs, gone []naiveDoc
		for i := range 9_000 {
			var text strings.Builder
			for range 1 + r.IntN(12) {
				fmt.Fprintf(&text, "w%d ", min(r.IntN(60), r.IntN(60), r.IntN(60)))
			}
			d := naiveDoc{Document: Document{Key: fmt.Append(nil, part, " ", i), Text: []byte(text.String()), Tag: []string{"", "en"}[r.IntN(8)/7]}, predicate: "x:p"}
			if docs = append(docs, d); r.IntN(10) == 0 {
				gone = append(gone, d)
			} else {
				live = append(live, d)
			}
		}
		p := &Part{Segment: build(t, a, "x:p", docs)}
		var numbers []uint32
		for _, d := range gone {
			doc, ok, err := p.Lookup(d.Key)
			if err != nil || !ok {
				t.Fatalf("document %q is not found: %v", d.Key, err)
			}
			numbers = append(numbers, doc)
		}
		parts = append(parts, p.Delete(numbers, build(t, a, "x:p", gone)))
	}
	return parts, live
}

// randomQuery returns a query of words of all frequencies.
func randomQuery(r *rand.Rand, depth int) string {
	word := func() string { return fmt.Sprintf("w%d", r.IntN(60)) }
	if depth > 0 && r.IntN(3) > 0 {
		operands := make([]string, 2+r.IntN(3))
		for i := range operands {
			operands[i] = randomQuery(r, depth-1)
		}
		return "(" + strings.Join(operands, []string{" ", " OR ", " OR ", " -"}[r.IntN(4)]) + ")"
	}
	switch r.IntN(9) {
	case 8:
		twice := word() // a word of the document counts for both
		return fmt.Sprintf([]string{"(%s %s w%d)", "(%s OR %s OR w%d)", `"%s %s w%d"`}[r.IntN(3)], twice, twice, r.IntN(9))
	case 0:
		return fmt.Sprintf("w%d*", r.IntN(7))
	case 1:
		return word() + "~1"
	case 2:
		return fmt.Sprintf(`"%s %s"~%d`, word(), word(), r.IntN(3))
	}
	return word()
}

// TestBest compares the best hits of random queries with the beginning of all hits, which have no threshold.
func TestBest(t *testing.T) {
	seed.Slow(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	parts, live := manyDocuments(t, r)
	a := NewAnalyzer()
	var request *Request
	var stats Stats
	search := func(text string) (search func(limit int, after *Hit) []Hit) {
		q, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		request = &Request{Query: q}
		if stats, err = Collect(a, request, parts, noCheck); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return func(limit int, after *Hit) []Hit {
			hits, err := Search(a, request, &stats, parts, limit, after, noCheck)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return hits
		}
	}
	for range 100 {
		text := randomQuery(r, 2)
		find := search(text)
		complete := find(len(live), nil)
		first := r.IntN(len(live) - 200)
		if err := sameScores(a, request, &stats, parts, live[first:first+r.IntN(200)], complete); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		limit := 1 + r.IntN(30)
		if err := sameHits(find(limit, nil), complete[:min(limit, len(complete))]); err != nil {
			t.Fatalf("the best %d of %s: %v", limit, text, err)
		}
		if len(complete) > 2*limit {
			after := r.IntN(len(complete) - limit)
			if err := sameHits(find(limit, &complete[after]), complete[after+1:after+1+limit]); err != nil {
				t.Fatalf("%d hits of %s behind hit %d: %v", limit, text, after, err)
			}
		}
	}
	// All hits of prefixes and fuzzy words, in several windows.
	for _, text := range []string{"w1*", "w30 AND w5*", "w4~1 OR w59"} {
		q, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		want := settle(newNaive(live).search(&Request{Query: q}))
		if err := sameHits(settle(search(text)(len(live), nil)), want); err != nil || len(want) == 0 {
			t.Fatalf("%s has %d hits: %v", text, len(want), err)
		}
	}
}

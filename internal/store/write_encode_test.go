// Tests of the encoder and of sorted requests.

package store

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/triple"
)

// mixedTriples returns triples that share terms, long ones and equal ones among them.
func mixedTriples(rng *rand.Rand, n int) []triple.Triple {
	predicates := 1 + rng.IntN(3)
	graphs := rng.IntN(3)
	term := func() triple.Term {
		switch rng.IntN(12) {
		case 0:
			return iri("page%s", strings.Repeat("x", rng.IntN(3000)))
		case 1:
			return iri("p")
		}
		return iri("page%d", rng.IntN(n))
	}
	triples := make([]triple.Triple, n)
	for i := range triples {
		t := triple.Triple{Subject: term(), Predicate: iri("predicate%d", rng.IntN(predicates)), Object: term()}
		switch g := rng.IntN(graphs + 1); {
		case g > 0:
			t.Graph = iri("graph%d", g)
		case rng.IntN(8) == 0:
			t.Object = triple.NewString(strings.Repeat("long ", rng.IntN(400)))
		}
		if i > 0 && rng.IntN(4) > 0 {
			t.Subject = triples[i-1].Subject
		}
		if i > 0 && rng.IntN(10) == 0 {
			t = triples[rng.IntN(i)]
		}
		triples[i] = t
	}
	return triples
}

// A request has the keys of package triple, all of them in each order.
func TestRequestSorted(t *testing.T) {
	rng := random(t)
	for range race.Fewer(40) {
		triples := mixedTriples(rng, 1+rng.IntN(200))
		requests, err := newRequests(KindAdd, triples, nil)
		if err != nil || len(requests) != 1 {
			t.Fatalf("%d requests, %v", len(requests), err)
		}
		r := requests[0]
		for i, order := range triple.Orders {
			var want, got [][]byte
			for _, t := range triples {
				if key, _ := triple.AppendKey([]byte{keyspace.Storage}, order, t); len(key) > 1 {
					want = append(want, key)
				}
			}
			for at := range r.items {
				if i > 0 && r.sorted[0] != nil {
					break
				}
				if key := r.key(&r.items[at], i); len(key) > 0 {
					got = append(got, key)
				}
			}
			if r.sorted[0] == nil {
				if len(triples) >= sortedItems {
					t.Fatal("many items are not sorted")
				}
				slices.SortFunc(got, bytes.Compare)
			} else if i > 0 {
				for _, at := range r.sorted[i-1] {
					got = append(got, r.key(&r.items[at], i))
				}
			}
			slices.SortFunc(want, bytes.Compare)
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("%d triples: the keys of %s are not the triples', in order", len(triples), order)
			}
		}
	}
}

// A large add is there in all orders with its long terms, each triple once.
func TestAddManyMixed(t *testing.T) {
	rng := random(t)
	s := openMem(t, Options{})
	there := map[triple.Triple]bool{}
	for range race.Fewer(12) {
		triples := mixedTriples(rng, 1+rng.IntN(300))
		added := int64(0)
		for _, t := range triples {
			if !there[t] {
				there[t] = true
				added++
			}
		}
		if r := add(t, s, triples...); r.Added != added || r.Existing != int64(len(triples))-added {
			t.Fatalf("%+v, want %d of %d", r, added, len(triples))
		}
		if r := checked(t, s); r.Triples != int64(len(there)) {
			t.Fatalf("%d triples, want %d", r.Triples, len(there))
		}
		if n := rng.IntN(len(triples)); rng.IntN(2) == 0 {
			if _, err := Delete(ctx, s, triples[:n]); err != nil {
				t.Fatal(err)
			}
			for _, t := range triples[:n] {
				delete(there, t)
			}
		}
	}
}

// The encoder accepts the same triples as Check, even after valid ones.
func TestEncoderChecks(t *testing.T) {
	good := student(1)
	var e encoder
	for _, bad := range []triple.Triple{
		{Subject: good.Subject, Predicate: good.Predicate, Object: triple.NewIRI("no iri")},
		{Subject: good.Subject, Predicate: good.Predicate},
		{Subject: good.Subject, Predicate: good.Predicate, Object: triple.NewString("\xff")},
		{Subject: triple.NewIRI("relative"), Predicate: good.Predicate, Object: good.Object},
		{Subject: good.Subject, Predicate: triple.NewBlank("b"), Object: good.Object},
		{Subject: triple.NewString("s"), Predicate: good.Predicate, Object: good.Subject},
		{Subject: good.Subject, Predicate: good.Predicate, Object: good.Subject, Graph: triple.NewString("g")},
	} {
		for range 2 {
			if err := e.check(&good); err != nil {
				t.Fatal(err)
			}
			if got, want := e.check(&bad), bad.Check(); want == nil || got == nil || got.Error() != want.Error() {
				t.Errorf("%s: %v, want %v", bad, got, want)
			}
		}
	}
}

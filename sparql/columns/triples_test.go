// Triple terms by their objects, against a pass over all terms.

package columns_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/triple"
)

// drawTripleTerms returns triples whose objects are triple terms, some of them nested, or IRIs.
func drawTripleTerms(t *rapid.T) (all []triple.Triple) {
	iri := func(kind string) triple.Term {
		return triple.NewIRI(fmt.Sprint("x:", kind, rapid.IntRange(0, 9).Draw(t, kind)))
	}
	for range rapid.IntRange(0, 40).Draw(t, "triples") {
		object := iri("o")
		for range rapid.IntRange(0, 2).Draw(t, "levels") {
			object = triple.NewTripleTerm(iri("s"), iri("p"), object)
		}
		all = append(all, triple.Triple{Subject: iri("r"), Predicate: iri("p"), Object: object})
	}
	return all
}

func TestTriplesWith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var changes []columns.Change
		for _, one := range drawTripleTerms(t) {
			changes = append(changes, changeOf(t, one, false))
		}
		d := columns.NewView(build(t, drawTripleTerms(t)), nil).Changed(changes).Dictionary()
		object := []byte(key(triple.NewIRI(fmt.Sprint("x:o", rapid.IntRange(0, 10).Draw(t, "object")))))
		if rapid.Bool().Draw(t, "nested") && d.Len() > 0 {
			object = d.Append(nil, rapid.Uint32Range(1, uint32(d.Len())).Draw(t, "number"))
		}
		var predicate []byte
		if rapid.Bool().Draw(t, "of a predicate") {
			predicate = []byte(key(triple.NewIRI("x:p1")))
		}
		var want [][]byte
		of := 0 // how many have the object
		for number := range uint32(d.Len()) {
			term := d.Append(nil, number+1)
			if _, p, o, ok := triple.SplitTripleTerm(term); ok && bytes.Equal(o, object) {
				of++
				if predicate == nil || bytes.Equal(p, predicate) {
					want = append(want, term)
				}
			}
		}
		slices.SortFunc(want, bytes.Compare)
		if got, ok := d.TriplesWith(predicate, object, of); !ok || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("%q, %v, want %q", got, ok, want)
		}
		if of > 0 {
			if got, ok := d.TriplesWith(predicate, object, of-1); got != nil || ok {
				t.Fatalf("one less allowed: %q, %v", got, ok)
			}
		}
	})
}

// The memory of the index is that of the set.
func TestTriplesWithBytes(t *testing.T) {
	o := triple.NewIRI("x:o")
	one := triple.Triple{Subject: o, Predicate: o, Object: triple.NewTripleTerm(o, o, o)}
	with := build(t, []triple.Triple{one}).Bytes()
	one.Object = triple.NewString(strings.Repeat("x", len(one.Object.Value())))
	if without := build(t, []triple.Triple{one}).Bytes(); with != without+8 {
		t.Errorf("%d bytes with a triple term, %d without", with, without)
	}
}

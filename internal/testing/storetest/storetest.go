// The conformance test of store.Triples.

// Package storetest checks that a store of triples keeps the contract of [store.Triples]. The lone
// store and a member of a cluster run the same test, so a client need not know which one it has.
//
// [TestTriples] compares each answer with a model: the sorted keys of the triples that were added.
// It has no subtests, because the tests of clusters run it in a bubble of virtual time.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// TestTriples checks the contract. It calls open for each part. The results may be several stores,
// or members of one cluster; the test deletes what they have.
func TestTriples(t *testing.T, open func(t *testing.T) store.Triples) {
	for _, part := range []struct {
		name  string
		check func(c *checker)
	}{
		{"writes", (*checker).writes},
		{"invalid arguments", (*checker).invalid},
		{"ranges", (*checker).ranges},
		{"bounds", (*checker).bounds},
		{"patterns", (*checker).patterns},
		{"readers", (*checker).readers},
		{"cancelled reads", (*checker).cancelled},
		{"annotations", (*checker).annotations},
		{"conditions", (*checker).conditions},
		{"counters", (*checker).counters},
		{"changes", (*checker).changes},
		{"updates", (*checker).updates},
		{"claims", (*checker).claims},
		{"upkeep", (*checker).upkeep},
	} {
		c := &checker{t: t, part: part.name, ctx: t.Context(), s: open(t)}
		if _, err := store.Apply(c.ctx, c.s, store.Steps{ClearAll: true}); err != nil {
			t.Fatalf("%s: clear: %v", part.name, err)
		}
		part.check(c)
	}
}

// checker checks one part of the contract.
type checker struct {
	t    *testing.T
	part string
	ctx  context.Context
	s    store.Triples
}

func (c *checker) errorf(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf(c.part+": "+format, args...)
}

func (c *checker) must(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%s: %s: %v", c.part, what, err)
	}
}

// fails reports an error that is not target.
func (c *checker) fails(what string, err, target error) {
	c.t.Helper()
	if !errors.Is(err, target) {
		c.errorf("%s: %v, want %v", what, err, target)
	}
}

func iri(format string, args ...any) triple.Term {
	return triple.NewIRI("http://example.org/" + fmt.Sprintf(format, args...))
}

// sample returns different triples: a few predicates, numbers and texts, some in named graphs.
func sample(n int) (all []triple.Triple) {
	for i := range n {
		t := triple.Triple{Subject: iri("s%d", i%37), Predicate: iri("p%d", i%5), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)}
		if i%3 == 1 {
			t.Object = triple.NewString(fmt.Sprint("text ", i))
		}
		if i%4 == 3 {
			t.Graph = iri("g%d", i%2)
		}
		all = append(all, t)
	}
	return all
}

func (c *checker) add(all ...triple.Triple) {
	c.t.Helper()
	r, err := store.Add(c.ctx, c.s, all)
	if err != nil || r != (store.Result{Added: int64(len(all))}) {
		c.t.Fatalf("%s: add %d triples: %+v, %v", c.part, len(all), r, err)
	}
}

func (c *checker) reader() store.Reader {
	c.t.Helper()
	r, err := c.s.Reader()
	c.must("open a reader", err)
	return r
}

// row is a row that the caller owns.
type row struct {
	key         string
	t           triple.Triple
	annotations []store.Annotation
}

// rows reads an answer to its end.
func rows(all iter.Seq2[store.Row, error]) (list []row, err error) {
	for r, err := range all {
		if err != nil {
			return list, err
		}
		t, err := r.Triple()
		if err != nil {
			return list, err
		}
		list = append(list, row{string(r.Key), t, r.Annotations})
	}
	return list, nil
}

// expected returns the rows of triples in an order, which has no row of a triple that it does not
// hold.
func expected(o triple.Order, all []triple.Triple, accept func(triple.Triple) bool) (list []row) {
	for _, t := range all {
		if o == triple.GSPO && t.Graph.IsZero() || accept != nil && !accept(t) {
			continue
		}
		key, _ := triple.AppendKey(nil, o, t)
		list = append(list, row{key: string(key), t: t})
	}
	slices.SortFunc(list, func(a, b row) int { return strings.Compare(a.key, b.key) })
	return list
}

// equal compares the keys and triples of an answer.
func (c *checker) equal(what string, got []row, err error, want []row) {
	c.t.Helper()
	if err != nil || !slices.EqualFunc(got, want, func(a, b row) bool { return a.key == b.key && a.t == b.t }) {
		c.errorf("%s: %d rows, %v; want %d, in order", what, len(got), err, len(want))
	}
}

// holds checks that a new reader finds exactly these triples, in each order.
func (c *checker) holds(what string, all ...triple.Triple) {
	c.t.Helper()
	r := c.reader()
	defer r.Close()
	for _, o := range triple.Orders {
		got, err := rows(r.Range(c.ctx, triple.Bounds{Order: o}, store.ReadOptions{}))
		c.equal(fmt.Sprintf("%s, in %s", what, o), got, err, expected(o, all, nil))
	}
}

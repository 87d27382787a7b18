// The conformance test of store.Triples.

// Package storetest checks that a store of triples keeps the contract of [store.Triples]. The lone
// store and a member of a cluster run the same test, so a client need not know which one it has.
//
// [TestTriples] compares each answer with a model: the sorted keys of the triples that were added.
// It has no subtests, because the tests of clusters run it in a bubble of virtual time.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

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
		{"changes", (*checker).changes},
		{"updates", (*checker).updates},
		{"claims", (*checker).claims},
		{"upkeep", (*checker).upkeep},
	} {
		c := &checker{t: t, part: part.name, ctx: t.Context(), s: open(t)}
		if _, err := c.s.Apply(c.ctx, store.Changes{ClearAll: true}); err != nil {
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
	r, err := c.s.Add(c.ctx, all)
	if err != nil || r != (store.AddResult{Added: int64(len(all))}) {
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
	key   string
	t     triple.Triple
	notes []store.Annotation
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

// writes: what Add, Delete and DeleteMatch count and leave.
func (c *checker) writes() {
	all := sample(400)
	a, named := all[0], all[0]
	named.Graph = iri("g0")
	// 1. Of equal triples in one list, one is added.
	for _, step := range []struct {
		add  []triple.Triple
		want store.AddResult
	}{
		{[]triple.Triple{a, all[1], a, named}, store.AddResult{Added: 3, Existing: 1}},
		{[]triple.Triple{a, named}, store.AddResult{Existing: 2}},
		{nil, store.AddResult{}},
	} {
		if r, err := c.s.Add(c.ctx, step.add); err != nil || r != step.want {
			c.errorf("add %v: %+v, %v, want %+v", step.add, r, err, step.want)
		}
	}
	c.holds("added", a, all[1], named)
	// 2. A delete without a graph is of the default graph.
	r, err := c.s.Delete(c.ctx, []triple.Triple{a, a, all[2]})
	if err != nil || r != (store.DeleteResult{Deleted: 1, Missing: 2}) {
		c.errorf("delete: %+v, %v", r, err)
	}
	c.holds("deleted", all[1], named)
	// 3. DeleteMatch deletes what matches, and reports an empty result if nothing does.
	for _, want := range []int64{1, 0} {
		if r, err := c.s.DeleteMatch(c.ctx, triple.Pattern{Graph: named.Graph}); err != nil || r != (store.DeleteResult{Deleted: want}) {
			c.errorf("delete a graph: %+v, %v, want %d", r, err, want)
		}
	}
	c.holds("the graph deleted", all[1])
	if r, err := c.s.Add(c.ctx, all); err != nil || r != (store.AddResult{Added: 399, Existing: 1}) {
		c.errorf("add all: %+v, %v", r, err)
	}
	if r, err := c.s.DeleteMatch(c.ctx, triple.Pattern{}); err != nil || r.Deleted != 400 {
		c.errorf("delete all: %+v, %v", r, err)
	}
	c.holds("all deleted")
}

// invalid: a call with an invalid argument changes nothing, and names the argument.
func (c *checker) invalid() {
	good, bad := sample(1)[0], triple.Triple{Subject: triple.NewString("x"), Predicate: iri("p"), Object: iri("o")}
	_, add := c.s.Add(c.ctx, []triple.Triple{good, bad})
	_, del := c.s.Delete(c.ctx, []triple.Triple{good, bad})
	_, apply := c.s.Apply(c.ctx, store.Changes{Add: slices.Values([]triple.Triple{good, bad})})
	for what, err := range map[string]error{"add": add, "delete": del, "apply": apply, "annotate": c.s.Annotate(c.ctx, bad, "a", nil)} {
		c.fails(what, err, triple.ErrBadTerm)
	}
	for what, err := range map[string]error{"add": add, "delete": del} {
		if err != nil && !strings.Contains(err.Error(), "triple 1:") {
			c.errorf("%s does not name the triple: %v", what, err)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", 256)} {
		c.fails(fmt.Sprintf("an application ID of %d bytes", len(id)), c.s.Annotate(c.ctx, good, id, nil), store.ErrInvalid)
	}
	c.fails("a large annotation", c.s.Annotate(c.ctx, good, "a", make([]byte, store.MaxAnnotationBytes+1)), store.ErrInvalid)
	r := c.reader()
	defer r.Close()
	_, err := rows(r.Match(c.ctx, triple.Pattern{}, store.ReadOptions{Limit: -1}))
	c.fails("a negative limit", err, store.ErrInvalid)
	_, err = rows(r.Range(c.ctx, triple.Bounds{}, store.ReadOptions{}))
	c.fails("bounds without an order", err, triple.ErrBadBounds)
	c.holds("nothing")
}

// ranges: each order from both ends, in one answer and page by page.
func (c *checker) ranges() {
	all := sample(300)
	c.add(all...)
	r := c.reader()
	defer r.Close()
	for _, o := range triple.Orders {
		want := expected(o, all, nil)
		for _, reverse := range []bool{false, true} {
			if reverse {
				slices.Reverse(want)
			}
			got, err := rows(r.Range(c.ctx, triple.Bounds{Order: o}, store.ReadOptions{Reverse: reverse}))
			c.equal(fmt.Sprintf("%s, reverse %t", o, reverse), got, err, want)
			got = nil
			for options := (store.ReadOptions{Reverse: reverse, Limit: 37}); ; options.After = []byte(got[len(got)-1].key) {
				page, err := rows(r.Range(c.ctx, triple.Bounds{Order: o}, options))
				got = append(got, page...)
				if err != nil || len(page) < 37 || len(got) > len(want) {
					c.equal(fmt.Sprintf("pages of %s, reverse %t", o, reverse), got, err, want)
					break
				}
			}
		}
	}
}

// bounds: the rows within bounds of the first and of later terms, and no others.
func (c *checker) bounds() {
	all := sample(300)
	c.add(all...)
	r := c.reader()
	defer r.Close()
	number := func(n int) triple.Term { return triple.NewTyped(fmt.Sprint(n), triple.XSDInteger) }
	// between accepts numbers in [lo, hi).
	between := func(t triple.Triple, lo, hi float64) bool {
		v, ok := triple.NumericValue(t.Object)
		return ok && v >= lo && v < hi
	}
	// Each order is cut at numbers, at a first term, and at the beginning of a text.
	for name, b := range map[string]struct {
		triple.Bounds
		accept func(t triple.Triple) bool
	}{
		"GE and LT":    {triple.Bounds{Order: triple.OSP, GE: number(30), LT: number(40)}, func(t triple.Triple) bool { return between(t, 30, 40) }},
		"GT and LE":    {triple.Bounds{Order: triple.OSP, GT: number(30), LE: number(40)}, func(t triple.Triple) bool { return between(t, 31, 41) }},
		"a prefix":     {triple.Bounds{Order: triple.POS, Prefix: []triple.Term{iri("p2")}}, func(t triple.Triple) bool { return t.Predicate == iri("p2") }},
		"after prefix": {triple.Bounds{Order: triple.POS, Prefix: []triple.Term{iri("p2")}, GE: number(50)}, func(t triple.Triple) bool { return t.Predicate == iri("p2") && between(t, 50, 1e9) }},
		"a graph":      {triple.Bounds{Order: triple.GSPO, Prefix: []triple.Term{iri("g1")}}, func(t triple.Triple) bool { return t.Graph == iri("g1") }},
		"starts": {triple.Bounds{Order: triple.SPO, Starts: triple.Starts{Kind: triple.IRI, Text: "http://example.org/s3"}},
			func(t triple.Triple) bool { return strings.HasPrefix(t.Subject.Value(), "http://example.org/s3") }},
		"no row": {triple.Bounds{Order: triple.OSP, GE: number(5000)}, func(triple.Triple) bool { return false }},
	} {
		want := expected(b.Order, all, b.accept)
		for _, reverse := range []bool{false, true} {
			got, err := rows(r.Range(c.ctx, b.Bounds, store.ReadOptions{Reverse: reverse}))
			if reverse {
				slices.Reverse(want)
			}
			c.equal(fmt.Sprintf("%s, reverse %t", name, reverse), got, err, want)
		}
	}
}

// patterns: Match, Count and an exact Estimate of every combination of terms.
func (c *checker) patterns() {
	all := sample(200)
	c.add(all...)
	r := c.reader()
	defer r.Close()
	// The last triple is not stored: patterns with its subject must match nothing.
	for _, like := range []triple.Triple{all[0], all[1], all[3], {Subject: iri("nobody"), Predicate: iri("p1"), Object: iri("o")}} {
		// Each bit keeps one term, so all 16 shapes of a pattern are tried.
		for bits := range 16 {
			p := like
			for i, term := range []*triple.Term{&p.Subject, &p.Predicate, &p.Object, &p.Graph} {
				if bits>>i&1 == 0 {
					*term = triple.Term{}
				}
			}
			// A zero term matches every term, and a zero graph every graph.
			pattern := triple.Pattern{Subject: p.Subject, Predicate: p.Predicate, Object: p.Object, Graph: p.Graph}
			fits := func(bound, of triple.Term) bool { return bound.IsZero() || bound == of }
			want := expected(pattern.Best(), all, func(t triple.Triple) bool {
				return fits(p.Subject, t.Subject) && fits(p.Predicate, t.Predicate) && fits(p.Object, t.Object) && fits(p.Graph, t.Graph)
			})
			got, err := rows(r.Match(c.ctx, pattern, store.ReadOptions{}))
			c.equal(fmt.Sprintf("%+v", pattern), got, err, want)
			// A count must be exact. An estimate must be exact only if it is reported as exact.
			if n, err := r.Count(c.ctx, pattern); err != nil || int(n) != len(want) {
				c.errorf("count of %+v: %d, %v, want %d", pattern, n, err, len(want))
			}
			if n, exact, err := r.Estimate(c.ctx, pattern); err != nil || n < 0 || exact && int(n) != len(want) {
				c.errorf("estimate of %+v: %d, exact %t, %v, there are %d", pattern, n, exact, err, len(want))
			}
		}
	}
}

// readers: what an open reader shows of later writes, iterators side by side, and reads after
// Close.
func (c *checker) readers() {
	all := sample(200)
	c.add(all[:100]...)
	r := c.reader()
	// 1. Later writes. Only a snapshot must not show them; rows that stay come exactly once.
	if _, err := c.s.Delete(c.ctx, all[:50]); err != nil {
		c.must("delete", err)
	}
	c.add(all[100:]...)
	got, err := rows(r.Range(c.ctx, triple.Bounds{Order: triple.SPO}, store.ReadOptions{}))
	if c.s.Isolation() == store.IsolationSnapshot {
		c.equal("a snapshot under writes", got, err, expected(triple.SPO, all[:100], nil))
	} else {
		stay := expected(triple.SPO, all[50:100], nil)
		got = slices.DeleteFunc(got, func(r row) bool { return !slices.ContainsFunc(stay, func(s row) bool { return s.key == r.key }) })
		c.equal("rows that stay", got, err, stay)
	}
	// 2. Two iterators at once, of which one ends early.
	next, stop := iter.Pull2(r.Range(c.ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{}))
	if _, err, ok := next(); err != nil || !ok {
		c.errorf("the first row: %t, %v", ok, err)
	}
	for range r.Range(c.ctx, triple.Bounds{Order: triple.OSP}, store.ReadOptions{Reverse: true}) {
		break
	}
	if _, err, ok := next(); err != nil || !ok {
		c.errorf("the second row: %t, %v", ok, err)
	}
	stop()
	// 3. Close.
	if r.Degraded() {
		c.errorf("degraded, although nothing is down")
	}
	c.must("close", r.Close())
	if r.Degraded() {
		c.errorf("degraded after Close")
	}
	_, err = rows(r.Match(c.ctx, triple.Pattern{}, store.ReadOptions{}))
	c.fails("match after Close", err, store.ErrClosed)
	_, err = r.Count(c.ctx, triple.Pattern{Predicate: iri("p1")})
	c.fails("count after Close", err, store.ErrClosed)
	_, err = r.Annotation(c.ctx, all[60], "a")
	c.fails("annotation after Close", err, store.ErrClosed)
	c.holds("a new reader", all[50:]...)
}

// cancelled: an answer ends with the error of its context, and is not short without it.
func (c *checker) cancelled() {
	c.add(sample(3000)...)
	r := c.reader()
	defer r.Close()
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	n := 0
	var last error
	for _, err := range r.Match(ctx, triple.Pattern{}, store.ReadOptions{}) {
		if n++; n == 10 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || n > 3000 {
		c.errorf("%d rows, then %v", n, last)
	}
	_, err := c.s.Add(ctx, sample(3001)[3000:])
	if err == nil {
		c.errorf("an add with a context that has ended is done")
	}
}

// notes returns what a reader shows of a triple's annotations, by the three ways to read them.
func (c *checker) notes(t triple.Triple) (list []string) {
	c.t.Helper()
	r := c.reader()
	defer r.Close()
	// 1. All annotations of the triple, and each one by its ID.
	var notes []store.Annotation
	for note, err := range r.Annotations(c.ctx, t) {
		c.must("annotations", err)
		notes = append(notes, store.Annotation{ApplicationID: note.ApplicationID, Data: bytes.Clone(note.Data)})
	}
	for _, note := range notes {
		data, err := r.Annotation(c.ctx, t, note.ApplicationID)
		if err != nil || data == nil || !bytes.Equal(data, note.Data) {
			c.errorf("annotation %q of %s: %d bytes, %v, not %d", note.ApplicationID, t, len(data), err, len(note.Data))
		}
		list = append(list, note.ApplicationID+"="+string(note.Data))
	}
	if data, err := r.Annotation(c.ctx, t, "nothing"); data != nil || err != nil {
		c.errorf("an annotation that is missing: %q, %v", data, err)
	}
	// 2. With the rows of the pattern, which may be in several graphs.
	got, err := rows(r.Match(c.ctx, triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object}, store.ReadOptions{Annotations: true}))
	c.must("match", err)
	for _, row := range got {
		if row.t == t && !slices.EqualFunc(row.notes, notes, func(a, b store.Annotation) bool {
			return a.ApplicationID == b.ApplicationID && bytes.Equal(a.Data, b.Data)
		}) {
			c.errorf("the row of %s has %d annotations, not %d", t, len(row.notes), len(notes))
		}
	}
	return list
}

// annotations: they belong to one triple in one graph, are sorted by ID, and go with the triple.
func (c *checker) annotations() {
	plain, named := sample(1)[0], sample(4)[3]
	long := triple.Triple{Subject: iri("%s", strings.Repeat("long", 1000)), Predicate: iri("p"), Object: triple.NewString(strings.Repeat("text", 1000))}
	c.add(plain, named, long)
	annotate := func(t triple.Triple, id string, data []byte) {
		c.t.Helper()
		c.must("annotate "+id, c.s.Annotate(c.ctx, t, id, data))
	}
	has := func(t triple.Triple, want ...string) {
		c.t.Helper()
		if got := c.notes(t); !slices.Equal(got, want) {
			c.errorf("%d annotations, want %d: %.300q", len(got), len(want), got)
		}
	}
	// IDs may have any bytes. Annotations are sorted by them, so NUL comes first.
	id := strings.Repeat("\x00z", 127) + "\xff"
	for _, tr := range []triple.Triple{plain, named, long} {
		// 1. Set, replace and remove.
		other := tr
		other.Graph = iri("other")
		c.fails("annotate a triple that is missing", c.s.Annotate(c.ctx, other, "a", nil), store.ErrNotFound)
		has(tr)
		annotate(tr, "b", []byte("1"))
		annotate(tr, "a", []byte{})
		annotate(tr, id, []byte("long id"))
		annotate(tr, "b", []byte("2"))
		has(tr, id+"=long id", "a=", "b=2")
		has(other)
		for range 2 { // the second time nothing is there
			annotate(tr, "a", nil)
			has(tr, id+"=long id", "b=2")
		}
		// 2. An add changes nothing. A delete removes them for good.
		if r, err := c.s.Add(c.ctx, []triple.Triple{tr}); err != nil || r.Existing != 1 {
			c.errorf("add again: %+v, %v", r, err)
		}
		has(tr, id+"=long id", "b=2")
		if _, err := c.s.Delete(c.ctx, []triple.Triple{tr}); err != nil {
			c.must("delete", err)
		}
		has(tr)
		c.fails("annotate a deleted triple", c.s.Annotate(c.ctx, tr, "a", []byte("x")), store.ErrNotFound)
		c.add(tr)
		has(tr)
		annotate(tr, "b", []byte("3"))
		has(tr, "b=3")
	}
	// 3. More than one message has room for.
	want := []string{"b=3"}
	for i := range 4 {
		data := bytes.Repeat([]byte{'0' + byte(i)}, store.MaxAnnotationBytes*3/4)
		annotate(named, fmt.Sprint("large", i), data)
		want = append(want, fmt.Sprintf("large%d=%s", i, data))
	}
	has(named, want...)
	has(plain, "b=3")
	// One of each of the three triples, and four large ones.
	if report, err := c.s.Check(c.ctx); err != nil || len(report.Problems) > 0 || report.Annotations != 7 {
		c.errorf("%d annotations, %+v, %v", report.Annotations, report.Problems, err)
	}
}

// changes: Apply clears, then deletes, then adds.
func (c *checker) changes() {
	all := sample(40)
	inGraph := func(g triple.Term) func(triple.Triple) bool {
		return func(t triple.Triple) bool { return t.Graph == g }
	}
	left := slices.Clone(all)
	c.add(all...)
	apply := func(what string, changes store.Changes, want store.ApplyResult, now ...triple.Triple) {
		c.t.Helper()
		if r, err := c.s.Apply(c.ctx, changes); err != nil || r != want {
			c.errorf("%s: %+v, %v, want %+v", what, r, err, want)
		}
		c.holds(what, now...)
	}
	apply("nothing", store.Changes{}, store.ApplyResult{}, left...)
	// Deletes come before adds: a triple in both is stored afterwards.
	apply("delete and add one", store.Changes{Delete: slices.Values(all[:2]), Add: slices.Values(all[:1])}, store.ApplyResult{Added: 1, Deleted: 2}, slices.Concat(all[:1], all[2:])...)
	left = slices.Concat(all[:1], all[2:])
	// Clearing a missing graph is no error.
	graphs := len(left)
	left = slices.DeleteFunc(left, inGraph(iri("g1")))
	apply("clear a graph and one that is missing", store.Changes{ClearGraphs: []triple.Term{iri("g1"), iri("missing")}}, store.ApplyResult{Deleted: int64(graphs - len(left))}, left...)
	// Clearing the default graph leaves named graphs alone.
	named := triple.Triple{Subject: iri("s"), Predicate: iri("p"), Object: iri("o"), Graph: iri("g9")}
	n := len(slices.DeleteFunc(slices.Clone(left), func(t triple.Triple) bool { return !t.Graph.IsZero() }))
	left = append(slices.DeleteFunc(left, inGraph(triple.Term{})), named)
	apply("clear the default graph", store.Changes{ClearDefault: true, Add: slices.Values([]triple.Triple{named})}, store.ApplyResult{Added: 1, Deleted: int64(n)}, left...)
	apply("clear all, add one", store.Changes{ClearAll: true, Delete: slices.Values([]triple.Triple{named}), Add: slices.Values([]triple.Triple{named})},
		store.ApplyResult{Added: 1, Deleted: int64(len(left))}, named)
	// Rejected changes write nothing.
	broken := errors.New("broken")
	_, err := c.s.Apply(c.ctx, store.Changes{ClearAll: true, Add: slices.Values(all), Err: func() error { return broken }})
	c.fails("an input with an error", err, broken)
	_, err = c.s.Apply(c.ctx, store.Changes{ClearAll: true, Add: slices.Values(all), MaxBytes: 100})
	c.fails("a large change", err, store.ErrTooLarge)
	c.holds("rejected", named)
}

// updates: each one sees the one before, and its error is returned unchanged.
func (c *checker) updates() {
	tally := func(n int) triple.Triple {
		return triple.Triple{Subject: iri("tally"), Predicate: iri("is"), Object: triple.NewTyped(fmt.Sprint(n), triple.XSDInteger)}
	}
	c.add(tally(0))
	// 1. Updates at the same time.
	var group sync.WaitGroup
	// Each update counts one up. If two saw the same number, the sum would be too small.
	for range 5 {
		group.Go(func() {
			for range 4 {
				r, err := c.s.Update(c.ctx, func(r store.Reader) (store.Changes, error) {
					list, err := rows(r.Match(c.ctx, triple.Pattern{Predicate: iri("is")}, store.ReadOptions{}))
					if err != nil || len(list) != 1 {
						return store.Changes{}, fmt.Errorf("%d rows, %w", len(list), err)
					}
					v, _ := triple.NumericValue(list[0].t.Object)
					return store.Changes{Delete: slices.Values([]triple.Triple{list[0].t}), Add: slices.Values([]triple.Triple{tally(int(v) + 1)})}, nil
				})
				if err != nil || r != (store.ApplyResult{Added: 1, Deleted: 1}) {
					c.errorf("update: %+v, %v", r, err)
				}
			}
		})
	}
	group.Wait()
	c.holds("20 updates", tally(20))
	// 2. Updates that fail.
	broken := errors.New("broken")
	if _, err := c.s.Update(c.ctx, func(store.Reader) (store.Changes, error) { return store.Changes{ClearAll: true}, broken }); err != broken {
		c.errorf("the error of an update: %v", err)
	}
	ended, cancel := context.WithCancel(c.ctx)
	cancel()
	if _, err := c.s.Update(ended, func(store.Reader) (store.Changes, error) { return store.Changes{ClearAll: true}, nil }); err == nil {
		c.errorf("an update whose context has ended is made")
	}
	c.holds("failed updates", tally(20))
}

// claims: a request without a key may always begin, one with a key once.
func (c *checker) claims() {
	c.must("claim without a key", c.s.Claim(c.ctx))
	c.must("claim without a key", c.s.Claim(c.ctx))
	keyed := store.WithRequestKey(c.ctx, "storetest", false)
	c.must("claim", c.s.Claim(keyed))
	c.fails("claim again", c.s.Claim(keyed), store.ErrBegun)
	c.must("claim another key", c.s.Claim(store.WithRequestKey(c.ctx, "storetest 2", false)))
	_, err := c.s.DeleteMatch(keyed, triple.Pattern{Predicate: iri("p")})
	c.fails("a delete under a key that began", err, store.ErrBegun)
}

// upkeep: a check of a healthy store finds all rows and no problem.
func (c *checker) upkeep() {
	all := sample(100)
	c.add(all...)
	report, err := c.s.Check(c.ctx)
	if err != nil || report.Triples != 100 || len(report.Problems) > 0 || report.More > 0 {
		c.errorf("check: %+v, %v", report, err)
	}
	for _, o := range triple.Orders {
		if got, want := report.Rows[o.String()], len(expected(o, all, nil)); int(got) != want {
			c.errorf("check: %d rows in %s, want %d", got, o, want)
		}
	}
	c.must("Err", c.s.Err())
	if s := c.s.Status(); s.Lost != 0 || len(s.Members) == 0 {
		c.errorf("status: %+v", s)
	}
	registry := prometheus.NewPedanticRegistry()
	c.must("register metrics", c.s.RegisterMetrics(registry))
	families, err := registry.Gather()
	if err != nil || len(families) == 0 {
		c.errorf("%d metrics, %v", len(families), err)
	}
	if c.s.RegisterMetrics(registry) == nil {
		c.errorf("metrics are registered twice")
	}
}

// The parts about reads: ranges, bounds, patterns, readers, cancelled calls.

package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

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
			// 1. An offset, within the order and beyond its end.
			for _, offset := range []int{1, len(want) / 2, len(want) - 1, len(want), 1e9} {
				options := store.ReadOptions{Reverse: reverse, Offset: int64(offset), Limit: 3}
				got, err := rows(r.Range(c.ctx, triple.Bounds{Order: o}, options))
				rest := want[min(offset, len(want)):]
				c.equal(fmt.Sprintf("%s from %d, reverse %t", o, offset, reverse), got, err, rest[:min(3, len(rest))])
			}
			got, err = rows(r.Range(c.ctx, triple.Bounds{Order: o}, store.ReadOptions{Reverse: reverse, DefaultGraph: true, Offset: 2}))
			plain := slices.DeleteFunc(slices.Clone(want), func(r row) bool { return !r.t.Graph.IsZero() })
			c.equal(fmt.Sprintf("default graph of %s, reverse %t", o, reverse), got, err, plain[min(2, len(plain)):])
			// 2. Pages: each one begins behind the last key of the one before.
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
			got, err = rows(r.Range(c.ctx, b.Bounds, store.ReadOptions{Reverse: reverse, Offset: 2}))
			c.equal(fmt.Sprintf("%s from 2, reverse %t", name, reverse), got, err, want[min(2, len(want)):])
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
			got, err = rows(r.Match(c.ctx, pattern, store.ReadOptions{Offset: 1}))
			c.equal(fmt.Sprintf("%+v from 1", pattern), got, err, want[min(1, len(want)):])
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
	if _, err := store.Delete(c.ctx, c.s, all[:50]); err != nil {
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
	_, err := store.Add(ctx, c.s, sample(3001)[3000:])
	if err == nil {
		c.errorf("an add with a context that has ended is done")
	}
}

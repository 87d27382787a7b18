// Pages of fragments: reading one from a snapshot, and writing it.

package triples

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// fragment is one page of the matches of a pattern.
type fragment struct {
	query   *query
	nothing bool   // no triple can match
	merged  bool   // a triple of several graphs appears once
	genid   string // prefix of the IRIs of blank nodes
	most    int    // bytes, see response.MaxPageBytes

	triples     []triple.Triple
	total       int64
	next        string // cursor; "" if this page is the last
	hasPrevious bool
	previous    string // cursor; "" if the page before is the first
}

// read reads the page of the query. Its cost does not depend on the number of pages before.
func (f *fragment) read(ctx context.Context, sn store.Reader, account *limits.Account) error {
	// 1. Read rows until the page is full, by items or by bytes.
	last := bytes.Clone(f.query.after)
	size := 0
	for row, err := range sn.Match(ctx, f.query.pattern, store.ReadOptions{After: f.query.after}) {
		if err != nil {
			return err
		}
		if again, err := f.isRepeated(last, row.Key); err != nil {
			return err
		} else if again {
			continue
		}
		t, err := row.Triple()
		if err != nil {
			return err
		}
		if err := f.skolemize(&t); err != nil {
			return err
		}
		n := int(request.SizeOf(&t))
		if len(f.triples) == f.query.limit || len(f.triples) > 0 && size+n > f.most {
			f.next = f.query.cursor(last)
			break
		}
		if err := account.Grow(int64(n)); err != nil {
			return err
		}
		size += n
		f.triples = append(f.triples, t)
		last = append(last[:0], row.Key...)
	}
	// 2. Find the page before, and the total. Both use the same snapshot, because links and total
	// must fit the page.
	if err := f.lookBack(ctx, sn); err != nil {
		return err
	}
	return f.estimate(ctx, sn)
}

// isRepeated reports whether a row must be skipped because its triple appeared in another graph. Equal
// triples are neighbours, because every order for a pattern without a graph has the graph last.
func (f *fragment) isRepeated(last, key []byte) (bool, error) {
	if !f.merged || last == nil {
		return false, nil
	}
	_, a, err := triple.SplitKey(last)
	if err != nil {
		return false, err
	}
	_, b, err := triple.SplitKey(key)
	return bytes.Equal(a[triple.Subject], b[triple.Subject]) && bytes.Equal(a[triple.Predicate], b[triple.Predicate]) &&
		bytes.Equal(a[triple.Object], b[triple.Object]), err
}

// lookBack finds the start of the page before this one.
func (f *fragment) lookBack(ctx context.Context, sn store.Reader) error {
	if f.query.after == nil {
		return nil
	}
	upTo := append(bytes.Clone(f.query.after), 0) // because the key itself is on that page
	var last []byte
	items := 0
	for row, err := range sn.Match(ctx, f.query.pattern, store.ReadOptions{Reverse: true, After: upTo}) {
		if err != nil {
			return err
		}
		if again, err := f.isRepeated(last, row.Key); err != nil {
			return err
		} else if again {
			continue
		}
		last = append(last[:0], row.Key...)
		f.hasPrevious = true
		if items++; items > f.query.limit {
			f.previous = f.query.cursor(last)
			return nil
		}
	}
	return nil
}

// estimate sets the number of items of all pages. It is 0 only if there are none, and exact if this
// page holds them all.
func (f *fragment) estimate(ctx context.Context, sn store.Reader) error {
	f.total = int64(len(f.triples))
	if f.next == "" && !f.hasPrevious {
		return nil
	}
	n, _, err := sn.Estimate(ctx, f.query.pattern)
	if f.next != "" {
		f.total++
	}
	if f.hasPrevious {
		f.total++
	}
	f.total = max(f.total, n)
	return err
}

// write writes the page. Metadata and controls come first, because clients need the next link
// early.
func (f *fragment) write(p *response.PagedBody, s syntax.Syntax, l pageLinks) error {
	out, err := syntax.NewWriter(p, s, fragmentPrefixes)
	if err != nil {
		return err
	}
	for _, t := range f.controls(l, s.HasGraphs()) {
		if err := out.Write(t); err != nil {
			return err
		}
	}
	for _, t := range f.triples {
		if !s.HasGraphs() {
			t.Graph = triple.Term{}
		}
		if err := out.Write(t); err != nil {
			return err
		}
	}
	return out.Close()
}

// Pages of fragments: reading one from a snapshot, and writing it.

package httpapi

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// fragment is one page of what matches a pattern.
type fragment struct {
	query   *query
	nothing bool   // no triple can match
	merged  bool   // a triple that several graphs have comes once
	genid   string // IRIs that stand for blank nodes begin so
	most    int    // bytes, see maxPageBytes

	triples     []triple.Triple
	total       int64
	next        string // cursor; "" where this page is the last
	hasPrevious bool
	previous    string // cursor; "" where the page before is the first
}

// read reads the page that the query is about. Its cost does not depend on how
// many pages come before.
func (f *fragment) read(ctx context.Context, sn Snapshot, account *account) error {
	last := bytes.Clone(f.query.after)
	size := 0
	for row, err := range sn.Match(ctx, f.query.pattern, node.ReadOptions{After: f.query.after}) {
		if err != nil {
			return err
		}
		if again, err := f.again(last, row.Key); err != nil {
			return err
		} else if again {
			continue
		}
		t, err := row.Triple()
		if err != nil {
			return err
		}
		f.skolemize(&t)
		n := int(sizeOf(&t))
		if len(f.triples) == f.query.limit || len(f.triples) > 0 && size+n > f.most {
			f.next = f.query.cursor(last)
			break
		}
		if err := account.grow(int64(n)); err != nil {
			return err
		}
		size += n
		f.triples = append(f.triples, t)
		last = append(last[:0], row.Key...)
	}
	if err := f.lookBack(ctx, sn); err != nil {
		return err
	}
	return f.estimate(ctx, sn)
}

// again reports whether a row is to be left out: its triple was there in another
// graph. Equal triples are neighbours, since all orders that answer a pattern
// without a graph have the graph last.
func (f *fragment) again(last, key []byte) (bool, error) {
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

// lookBack finds where the page before this one begins.
func (f *fragment) lookBack(ctx context.Context, sn Snapshot) error {
	if f.query.after == nil {
		return nil
	}
	upTo := append(bytes.Clone(f.query.after), 0) // the key itself is of that page
	var last []byte
	items := 0
	for row, err := range sn.Match(ctx, f.query.pattern, node.ReadOptions{Reverse: true, After: upTo}) {
		if err != nil {
			return err
		}
		if again, err := f.again(last, row.Key); err != nil {
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

// estimate sets the number of items of all pages: 0 only where there are none,
// and exact where this page holds them all.
func (f *fragment) estimate(ctx context.Context, sn Snapshot) error {
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

// write writes the page: metadata and controls first, so that clients know early
// where to go on.
func (f *fragment) write(p *page, s syntax.Syntax, l pageLinks) error {
	out, err := syntax.NewWriter(pageWriter{p}, s, fragmentPrefixes)
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

// pageWriter makes a page what a document is written to.
type pageWriter struct{ page *page }

func (w pageWriter) Write(b []byte) (int, error) { return len(b), w.page.write(b) }

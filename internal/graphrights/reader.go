// Readers of the readable graphs.

package graphrights

import (
	"context"
	"iter"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// Filter returns a reader of the graphs that the request of ctx may read. It is r if that is all.
func Filter(ctx context.Context, r store.Reader) store.Reader {
	rights := FromContext(ctx)
	if rights == nil {
		return r
	}
	return &reader{r, rights}
}

type reader struct {
	store.Reader
	rights *Rights
}

// visible reports whether the row of a key is of a readable graph. A malformed key is visible, because
// decoding it reports the damage.
func (r *Rights) visible(key []byte) bool {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return true
	}
	_, ok := r.read[string(terms[triple.Graph])]
	return ok
}

// Match implements [store.Matcher].
func (r *reader) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	switch {
	case !p.DefaultGraph && p.Graph.IsZero():
		return r.skipping(o, func(o store.ReadOptions) iter.Seq2[store.Row, error] { return r.Reader.Match(ctx, p, o) })
	case r.rights.mayRead(p.Graph):
		return r.Reader.Match(ctx, p, o)
	}
	return func(func(store.Row, error) bool) {}
}

// Range implements [store.Matcher].
func (r *reader) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return r.skipping(o, func(o store.ReadOptions) iter.Seq2[store.Row, error] { return r.Reader.Range(ctx, b, o) })
}

// skipping yields the visible rows of a read from its offset, up to its limit. A negative offset stays, because the
// reader rejects it.
func (r *reader) skipping(o store.ReadOptions, read func(store.ReadOptions) iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		offset, limit, n := max(o.Offset, 0), o.Limit, int64(0)
		o.Offset, o.Limit = min(o.Offset, 0), 0
		for row, err := range read(o) {
			if err == nil && !r.rights.visible(row.Key) {
				continue
			}
			if err == nil && offset > 0 {
				offset--
				continue
			}
			if n++; !yield(row, err) || n == limit {
				return
			}
		}
	}
}

// Count implements [store.Matcher].
func (r *reader) Count(ctx context.Context, all ...triple.Pattern) (sum int64, err error) {
	for _, p := range all {
		n, err := r.count(ctx, p)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// count counts the visible rows of one pattern.
func (r *reader) count(ctx context.Context, p triple.Pattern) (n int64, err error) {
	// 1. Of one graph, the reader counts.
	if p.DefaultGraph || !p.Graph.IsZero() {
		if !r.rights.mayRead(p.Graph) {
			return 0, nil
		}
		return r.Reader.Count(ctx, p)
	}
	// 2. The sum of the graphs, if the rows of each are next to each other in order GSPO.
	if p.Object.IsZero() && (p.Predicate.IsZero() || !p.Subject.IsZero()) {
		var all []triple.Pattern
		for _, graph := range r.rights.read {
			p.Graph, p.DefaultGraph = graph, graph.IsZero()
			all = append(all, p)
		}
		return r.Reader.Count(ctx, all...)
	}
	// 3. Otherwise the sum could read more rows than the pattern has, and the rows are read.
	for _, err := range r.Match(ctx, p, store.ReadOptions{}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// Estimate implements [store.Matcher]. It counts, because an estimate is of rows of all graphs.
func (r *reader) Estimate(ctx context.Context, p triple.Pattern) (int64, bool, error) {
	n, err := r.Count(ctx, p)
	return n, true, err
}

// Annotation implements [store.AnnotationReader].
func (r *reader) Annotation(ctx context.Context, t triple.Triple, applicationID string) (*store.Annotation, error) {
	if !r.rights.mayRead(t.Graph) {
		return nil, nil
	}
	return r.Reader.Annotation(ctx, t, applicationID)
}

// Annotations implements [store.AnnotationReader].
func (r *reader) Annotations(ctx context.Context, t triple.Triple) iter.Seq2[store.Annotation, error] {
	if !r.rights.mayRead(t.Graph) {
		return func(func(store.Annotation, error) bool) {}
	}
	return r.Reader.Annotations(ctx, t)
}

// Source implements [store.Reader].
func (r *reader) Source() sparql.Source { return source{r.Reader.Source(), r.rights} }

// source hides the optional methods of the source, because they answer for rows of all graphs.
type source struct {
	all    sparql.Source
	rights *Rights
}

// Scan implements [sparql.Source].
func (s source) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	all, err := s.all.Scan(ctx, r, reverse)
	if err != nil {
		return nil, err
	}
	return &rows{Rows: all, ctx: ctx, rights: s.rights}, nil
}

// Lookup implements [sparql.Source].
func (s source) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	return s.all.Lookup(ctx, ranges, func(i int, key, value []byte) error {
		if !s.rights.visible(key) {
			return nil
		}
		return each(i, key, value)
	})
}

// Count implements [sparql.Source].
func (s source) Count(ctx context.Context, r triple.Range) (n int64, err error) {
	visible, err := s.Scan(ctx, r, false)
	if err != nil {
		return 0, err
	}
	defer visible.Close()
	for visible.Next() {
		n++
	}
	return n, visible.Err()
}

// Estimate implements [sparql.Source]. It is of rows of all graphs, so only plans may use it.
func (s source) Estimate(ctx context.Context, r triple.Range) (n int64, exact bool, err error) {
	n, exact, err = s.all.Estimate(ctx, r)
	return n, exact && n == 0, err
}

// rows skips the rows of other graphs.
type rows struct {
	sparql.Rows
	ctx    context.Context
	rights *Rights
	err    error
}

// Next implements [sparql.Rows].
func (r *rows) Next() bool { return r.skip(r.Rows.Next()) }

// SeekGE implements [sparql.Rows].
func (r *rows) SeekGE(key []byte) bool { return r.skip(r.Rows.SeekGE(key)) }

// checkEvery is the number of skipped rows after which the end of the context is noticed.
const checkEvery = 1 << 10

// skip moves on until the current row is visible.
func (r *rows) skip(valid bool) bool {
	for n := 1; valid; n++ {
		if key, _ := r.Rows.Row(); r.rights.visible(key) {
			return true
		}
		if n%checkEvery == 0 && r.ctx.Err() != nil {
			r.err = context.Cause(r.ctx)
			return false
		}
		valid = r.Rows.Next()
	}
	return false
}

// Err implements [sparql.Rows].
func (r *rows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.Rows.Err()
}

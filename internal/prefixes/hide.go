// A store without the row of its prefixes.

package prefixes

import (
	"bytes"
	"context"
	"iter"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Hide returns a store whose readers skip [systemgraph.PrefixRow]. A read has the row only if it is of
// the system graph: a pattern that names it, or a range of order GSPO within it.
func Hide(s store.Triples) store.Triples { return hidden{s} }

type hidden struct{ store.Triples }

// Reader implements [store.Triples].
func (h hidden) Reader() (store.Reader, error) {
	r, err := h.Triples.Reader()
	if err != nil {
		return nil, err
	}
	return HideIn(r), nil
}

// Update implements [store.Changer].
func (h hidden) Update(ctx context.Context, f func(store.Reader) (store.Changes, error)) (store.ApplyResult, error) {
	return h.Triples.Update(ctx, func(r store.Reader) (store.Changes, error) { return f(HideIn(r)) })
}

// HideIn returns a reader that skips the row as [Hide] does.
func HideIn(r store.Reader) store.Reader { return &hidingReader{r} }

// rowKeys are the keys of the row by order. systemRange has the rows of the system graph in GSPO.
var (
	rowKeys     [triple.GSPO + 1][]byte
	systemRange = func() triple.Range {
		for _, order := range triple.Orders {
			rowKeys[order], _ = triple.AppendKey(nil, order, systemgraph.PrefixRow)
		}
		term, _ := triple.AppendTerm(nil, systemgraph.Graph)
		return triple.TermsRange(triple.GSPO, triple.KeyTerms{triple.Graph: term})
	}()
)

// isRow reports whether a key is that of the row.
func isRow(key []byte) bool {
	return len(key) > 0 && int(key[0]) < len(rowKeys) && bytes.Equal(key, rowKeys[key[0]])
}

// hides returns the key that a read of a range must skip; nil if there is none.
func hides(r triple.Range) []byte {
	if len(r.Lo) == 0 || int(r.Lo[0]) >= len(rowKeys) {
		return nil // no range of an order
	}
	key := rowKeys[r.Lo[0]]
	if !r.Contains(key) {
		return nil
	}
	within := r.Hi != nil && bytes.Compare(systemRange.Lo, r.Lo) <= 0 && bytes.Compare(r.Hi, systemRange.Hi) <= 0
	if within {
		return nil
	}
	return key
}

type hidingReader struct{ store.Reader }

// Match implements [store.Matcher].
func (h *hidingReader) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	if !covers(p) || o.DefaultGraph {
		return h.Reader.Match(ctx, p, o)
	}
	return h.without(ctx, o, func(o store.ReadOptions) iter.Seq2[store.Row, error] { return h.Reader.Match(ctx, p, o) })
}

// covers reports whether a pattern matches the row without naming its graph.
func covers(p triple.Pattern) bool {
	return p.Graph.IsZero() && !p.DefaultGraph && p.Match(systemgraph.PrefixRow)
}

// Range implements [store.Matcher].
func (h *hidingReader) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	keys, err := b.KeyRange()
	if err != nil || hides(keys.Range) == nil || o.DefaultGraph {
		return h.Reader.Range(ctx, b, o)
	}
	return h.without(ctx, o, func(o store.ReadOptions) iter.Seq2[store.Row, error] { return h.Reader.Range(ctx, b, o) })
}

// without yields the rows of a read but the hidden one. It reads one row more, because that one may be
// among them, or among the rows that are skipped.
func (h *hidingReader) without(ctx context.Context, o store.ReadOptions, read func(store.ReadOptions) iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		limit, n := o.Limit, int64(0)
		if limit > 0 {
			o.Limit++
		}
		first := o.Offset > 0
		for row, err := range read(o) {
			if err == nil && first {
				// If the hidden row was skipped, this one should have been, too.
				first = false
				var skipped bool
				if skipped, err = h.skipped(ctx, o, row.Key); skipped {
					continue
				}
			}
			if err == nil && isRow(row.Key) {
				continue
			}
			if limit > 0 && n == limit {
				return
			}
			n++
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// skipped reports whether the hidden row lies behind o.After and before a key.
func (h *hidingReader) skipped(ctx context.Context, o store.ReadOptions, key []byte) (bool, error) {
	hidden := rowKeys[key[0]]
	before := func(a, b []byte) bool { return bytes.Compare(a, b) < 0 != o.Reverse && !bytes.Equal(a, b) }
	if !before(hidden, key) || o.After != nil && !before(o.After, hidden) {
		return false, nil
	}
	n, err := h.Reader.Count(ctx, triple.Exact(systemgraph.PrefixRow))
	return n > 0, err
}

// Count implements [store.Matcher].
func (h *hidingReader) Count(ctx context.Context, all ...triple.Pattern) (int64, error) {
	n, err := h.Reader.Count(ctx, all...)
	covering := int64(0)
	for _, p := range all {
		if covers(p) {
			covering++
		}
	}
	if err != nil || n == 0 || covering == 0 {
		return n, err
	}
	there, err := h.Reader.Count(ctx, triple.Exact(systemgraph.PrefixRow))
	return n - covering*there, err
}

// Estimate implements [store.Matcher].
func (h *hidingReader) Estimate(ctx context.Context, p triple.Pattern) (int64, bool, error) {
	n, exact, err := h.Reader.Estimate(ctx, p)
	if err != nil || !exact || n == 0 || !covers(p) {
		return n, exact, err
	}
	there, err := h.Reader.Count(ctx, triple.Exact(systemgraph.PrefixRow))
	return n - there, exact, err
}

// Source implements [store.Reader].
func (h *hidingReader) Source() sparql.Source { return hidingSource{h.Reader.Source()} }

// hidingSource is a source without the row. Estimates and samples are not exact enough to matter.
type hidingSource struct{ sparql.Source }

var (
	_ source.Surveyor = hidingSource{}
	_ columns.Source  = hidingSource{}
)

// Columns implements [columns.Source]. Columns are of the default graph, so the row is in none.
func (s hidingSource) Columns(ctx context.Context) *columns.View { return columns.Of(ctx, s.Source) }

// Survey implements [source.Surveyor].
func (s hidingSource) Survey(ctx context.Context, asked []source.Question) ([]source.Finding, error) {
	found, err := source.Survey(ctx, s.Source, asked)
	for i := range found {
		found[i].Exact = found[i].Exact && hides(asked[i].Range) == nil
	}
	return found, err
}

// Estimate implements [source.Source].
func (s hidingSource) Estimate(ctx context.Context, r triple.Range) (int64, bool, error) {
	n, exact, err := s.Source.Estimate(ctx, r)
	return n, exact && hides(r) == nil, err
}

// Scan implements [source.Source].
func (s hidingSource) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	rows, err := s.Source.Scan(ctx, r, reverse)
	key := hides(r)
	if err != nil || key == nil {
		return rows, err
	}
	return &hidingRows{rows, key}, nil
}

// Lookup implements [source.Source].
func (s hidingSource) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	return s.Source.Lookup(ctx, ranges, func(i int, key, value []byte) error {
		if isRow(key) && hides(ranges[i]) != nil {
			return nil
		}
		return each(i, key, value)
	})
}

// Count implements [source.Source].
func (s hidingSource) Count(ctx context.Context, r triple.Range) (int64, error) {
	n, err := s.Source.Count(ctx, r)
	key := hides(r)
	if err != nil || n == 0 || key == nil {
		return n, err
	}
	there, err := s.Source.Count(ctx, triple.Range{Lo: key, Hi: append(bytes.Clone(key), 0)})
	return n - there, err
}

// hidingRows skips one key.
type hidingRows struct {
	sparql.Rows
	key []byte
}

// Next implements [source.Rows].
func (r *hidingRows) Next() bool { return r.skip(r.Rows.Next()) }

// SeekGE implements [source.Rows].
func (r *hidingRows) SeekGE(key []byte) bool { return r.skip(r.Rows.SeekGE(key)) }

// skip moves on if the current row is the hidden one.
func (r *hidingRows) skip(valid bool) bool {
	if !valid {
		return false
	}
	if key, _ := r.Rows.Row(); bytes.Equal(key, r.key) {
		return r.Rows.Next()
	}
	return true
}

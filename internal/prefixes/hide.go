// A store without the row of its prefixes, and without the UIDs of links.

package prefixes

import (
	"bytes"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Hide returns a store whose readers skip [systemgraph.PrefixRow] and the triples of UIDs and hosts of links
// ([systemgraph.IsLink]). A read has the row of prefixes only if it is of the system graph: a pattern that names it,
// or a range of order GSPO within it. No read has the others, but an annotation of one can be read.
//
// A read costs more only if its range meets [systemgraph.LinkRanges] or the row.
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

// StateReader implements [store.Triples].
func (h hidden) StateReader() (r store.Reader, release func(), err error) {
	if r, release, err = h.Triples.StateReader(); err != nil {
		return nil, nil, err
	}
	return HideIn(r), release, nil
}

// Write implements [store.Writer].
func (h hidden) Write(ctx context.Context, c store.Change) (store.Result, error) {
	if update := c.Update; update != nil {
		c.Update = func(r store.Reader) (store.Steps, error) { return update(HideIn(r)) }
	}
	return h.Triples.Write(ctx, c)
}

// HideIn returns a reader that skips rows as [Hide] does.
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

// hiding is what a read of a range must skip.
type hiding struct {
	row   []byte       // the key of the row of prefixes; nil if it is not in the range, or is shown
	links triple.Range // of triples of UIDs and hosts, in the range; empty if there are none
}

// any reports whether there may be something to skip.
func (h hiding) any() bool { return h.row != nil || !h.links.Empty() }

// skips reports whether a row must be skipped.
func (h hiding) skips(key []byte) bool {
	return h.row != nil && bytes.Equal(key, h.row) || !h.links.Empty() && h.links.Contains(key) && systemgraph.IsLinkKey(key)
}

// noLinks is an empty range.
var noLinks = triple.Range{Lo: []byte{1}, Hi: []byte{1}}

// hides returns what a read of a range must skip.
func hides(r triple.Range) hiding {
	h := hiding{links: noLinks}
	if len(r.Lo) == 0 || int(r.Lo[0]) >= len(rowKeys) || rowKeys[r.Lo[0]] == nil {
		return h // no range of an order
	}
	h.links = systemgraph.LinkRanges[r.Lo[0]].Intersect(r)
	key := rowKeys[r.Lo[0]]
	within := r.Hi != nil && bytes.Compare(systemRange.Lo, r.Lo) <= 0 && bytes.Compare(r.Hi, systemRange.Hi) <= 0
	if r.Contains(key) && !within {
		h.row = key
	}
	return h
}

// hidesOf returns what a read of a pattern must skip.
func hidesOf(p triple.Pattern) hiding {
	none := hiding{links: noLinks}
	if p.DefaultGraph || !p.Graph.IsZero() && p.Graph != systemgraph.Graph {
		return none
	}
	scan, err := p.Scan(p.Best())
	if err != nil {
		return none // the reader reports it
	}
	h := hides(scan.Range)
	if !p.Graph.IsZero() || !p.Match(systemgraph.PrefixRow) {
		h.row = nil
	}
	return h
}

type hidingReader struct{ store.Reader }

// Match implements [store.Matcher].
func (h *hidingReader) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return h.skipHidden(ctx, hidesOf(p), o, func(o store.ReadOptions) iter.Seq2[store.Row, error] { return h.Reader.Match(ctx, p, o) })
}

// Range implements [store.Matcher].
func (h *hidingReader) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	hidden := hiding{links: noLinks}
	if keys, err := b.KeyRange(); err == nil {
		hidden = hides(keys.Range)
	}
	return h.skipHidden(ctx, hidden, o, func(o store.ReadOptions) iter.Seq2[store.Row, error] { return h.Reader.Range(ctx, b, o) })
}

// skipHidden yields the rows of a read but the hidden ones. If some are there, it skips and counts rows itself, because
// hidden ones may be among those that are skipped. A negative offset stays, because the reader rejects it.
func (h *hidingReader) skipHidden(ctx context.Context, hidden hiding, o store.ReadOptions, read func(store.ReadOptions) iter.Seq2[store.Row, error]) iter.Seq2[store.Row, error] {
	if !hidden.any() || o.DefaultGraph {
		return read(o)
	}
	return func(yield func(store.Row, error) bool) {
		if o.Offset > 0 {
			switch some, err := h.Reader.Source().Count(ctx, systemRange); {
			case err != nil:
				yield(store.Row{}, err)
				return
			case some == 0:
				read(o)(yield)
				return
			}
		}
		// A limit stays, because a cluster reads ahead. If hidden rows were among the rows, the read goes on behind
		// the last one, each time with twice the limit.
		offset, limit, n := max(o.Offset, 0), o.Limit, int64(0)
		o.Offset = min(o.Offset, 0)
		if limit > 0 && offset < math.MaxInt32 {
			o.Limit += offset
		} else {
			o.Limit = 0
		}
		var last []byte
		for more := true; more; o.Limit *= 2 {
			rows := int64(0)
			for row, err := range read(o) {
				rows++
				last = append(last[:0], row.Key...)
				switch {
				case err == nil && hidden.skips(row.Key):
				case err == nil && offset > 0:
					offset--
				default:
					if n++; !yield(row, err) || err != nil || n == limit {
						return
					}
				}
			}
			o.After = bytes.Clone(last)
			more = o.Limit > 0 && rows == o.Limit
		}
	}
}

// Count implements [store.Matcher]. The patterns without hidden rows are counted as one.
func (h *hidingReader) Count(ctx context.Context, all ...triple.Pattern) (sum int64, err error) {
	var plain []triple.Pattern
	for _, p := range all {
		if !hidesOf(p).any() {
			plain = append(plain, p)
			continue
		}
		n := int64(0)
		if scan, failed := p.Scan(p.Best()); failed == nil && scan.Exact {
			n, err = h.Source().Count(ctx, scan.Range)
		} else {
			for _, err = range h.Match(ctx, p, store.ReadOptions{}) {
				n++
			}
		}
		if err != nil {
			return 0, err
		}
		sum += n
	}
	if len(plain) == 0 {
		return sum, nil
	}
	n, err := h.Reader.Count(ctx, plain...)
	return sum + n, err
}

// Estimate implements [store.Matcher].
func (h *hidingReader) Estimate(ctx context.Context, p triple.Pattern) (int64, bool, error) {
	n, exact, err := h.Reader.Estimate(ctx, p)
	if err != nil || !exact || n == 0 || !hidesOf(p).any() {
		return n, exact, err
	}
	n, err = h.Count(ctx, p)
	return n, true, err
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
func (s hidingSource) Columns(ctx context.Context) *columns.View {
	return columns.FromSource(ctx, s.Source)
}

// Survey implements [source.Surveyor].
func (s hidingSource) Survey(ctx context.Context, questions []source.Question) ([]source.Finding, error) {
	found, err := source.Survey(ctx, s.Source, questions)
	for i := range found {
		found[i].Exact = found[i].Exact && !hides(questions[i].Range).any()
	}
	return found, err
}

// Estimate implements [source.Source].
func (s hidingSource) Estimate(ctx context.Context, r triple.Range) (int64, bool, error) {
	n, exact, err := s.Source.Estimate(ctx, r)
	return n, exact && !hides(r).any(), err
}

// Scan implements [source.Source].
func (s hidingSource) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	rows, err := s.Source.Scan(ctx, r, reverse)
	hidden := hides(r)
	if err != nil || !hidden.any() {
		return rows, err
	}
	return &hidingRows{rows, hidden, reverse}, nil
}

// Lookup implements [source.Source]. If a range has hidden rows alone, each gets none of them.
func (s hidingSource) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	// 1. In GSPO the hidden rows are next to each other, and are not read.
	var parts []triple.Range
	of := make([]int, 0, len(ranges))
	for i, r := range ranges {
		links := systemgraph.LinkRanges[triple.GSPO]
		if before, behind := r.Intersect(triple.Range{Lo: []byte{0}, Hi: links.Lo}), r.Intersect(triple.Range{Lo: links.Hi}); len(before.Lo) > 0 && !before.Empty() && !behind.Empty() {
			parts, of = append(parts, before, behind), append(of, i, i)
		} else {
			parts, of = append(parts, r), append(of, i)
		}
	}
	// 2. Others are read and skipped.
	return s.Source.Lookup(ctx, parts, func(part int, key, value []byte) error {
		i := of[part]
		if systemgraph.IsLinkKey(key) || bytes.Equal(key, rowKeys[key[0]]) && hides(ranges[i]).row != nil {
			return nil
		}
		return each(i, key, value)
	})
}

// countTries is how often all rows and the hidden ones are counted, at most.
const countTries = 3

// Count implements [source.Source]. In a cluster the hidden rows are counted at another moment than all rows are, and
// pages get UIDs at any time. Nobody deletes UIDs while others count, so the difference is right if as many are hidden
// behind the count of all rows as before it.
func (s hidingSource) Count(ctx context.Context, r triple.Range) (n int64, err error) {
	hidden := hides(r)
	if !hidden.any() {
		return s.Source.Count(ctx, r)
	}
	before, err := s.countHidden(ctx, r, hidden)
	for range countTries {
		if err == nil {
			n, err = s.Source.Count(ctx, r)
		}
		if err != nil || n == 0 {
			return 0, err
		}
		var behind int64
		if behind, err = s.countHidden(ctx, r, hidden); err == nil && behind == before {
			return n - before, nil
		}
		before = behind
	}
	if err != nil {
		return 0, err
	}
	return s.countAround(ctx, r, hidden)
}

// countHidden counts the hidden rows of a range.
func (s hidingSource) countHidden(ctx context.Context, r triple.Range, hidden hiding) (n int64, err error) {
	if hidden.row != nil {
		if n, err = s.Source.Count(ctx, rangeOf(hidden.row)); err != nil {
			return 0, err
		}
	}
	// If all of the range of links is in r, their number is that of the system graph. Otherwise the rows are read,
	// because some may be of other graphs.
	all := systemgraph.LinkRanges[r.Lo[0]]
	if bytes.Equal(hidden.links.Lo, all.Lo) && bytes.Equal(hidden.links.Hi, all.Hi) {
		links, err := s.Source.Count(ctx, systemgraph.LinkRanges[triple.GSPO])
		return n + links, err
	}
	links, err := s.countRead(ctx, hidden.links, systemgraph.IsLinkKey)
	return n + links, err
}

// countAround counts the other rows of a range: those outside of the ranges with hidden ones, and of these the rows that
// are not hidden, which takes a read of all.
func (s hidingSource) countAround(ctx context.Context, r triple.Range, hidden hiding) (sum int64, err error) {
	var cuts, pieces []triple.Range
	if hidden.row != nil {
		cuts = append(cuts, rangeOf(hidden.row))
	}
	if !hidden.links.Empty() {
		cuts = append(cuts, hidden.links)
	}
	slices.SortFunc(cuts, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	for _, cut := range cuts {
		pieces = append(pieces, triple.Range{Lo: r.Lo, Hi: cut.Lo})
		r.Lo = cut.Hi
	}
	for _, piece := range append(pieces, r) {
		if piece.Empty() {
			continue
		}
		n, err := s.Source.Count(ctx, piece)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	n, err := s.countRead(ctx, hidden.links, func(key []byte) bool { return !systemgraph.IsLinkKey(key) })
	return sum + n, err
}

// countRead reads a range, which may be empty, and counts the rows with certain keys.
func (s hidingSource) countRead(ctx context.Context, r triple.Range, counts func(key []byte) bool) (n int64, err error) {
	if r.Empty() {
		return 0, nil
	}
	err = s.Source.Lookup(ctx, []triple.Range{r}, func(_ int, key, _ []byte) error {
		if counts(key) {
			n++
		}
		return nil
	})
	return n, err
}

// rangeOf returns the range of one key.
func rangeOf(key []byte) triple.Range {
	return triple.Range{Lo: key, Hi: append(bytes.Clone(key), 0)}
}

// hidingRows skips hidden rows.
type hidingRows struct {
	sparql.Rows
	hidden  hiding
	reverse bool
}

// Next implements [source.Rows].
func (r *hidingRows) Next() bool { return r.skip(r.Rows.Next()) }

// SeekGE implements [source.Rows].
func (r *hidingRows) SeekGE(key []byte) bool { return r.skip(r.Rows.SeekGE(key)) }

// skip moves on until the current row is not hidden. In GSPO the hidden rows are next to each other, so that a list
// of graphs does not read them.
func (r *hidingRows) skip(valid bool) bool {
	for valid {
		key, _ := r.Rows.Row()
		switch {
		case !r.hidden.skips(key):
			return true
		case !r.reverse && triple.Order(key[0]) == triple.GSPO && r.hidden.links.Contains(key):
			valid = r.Rows.SeekGE(r.hidden.links.Hi)
		default:
			valid = r.Rows.Next()
		}
	}
	return false
}

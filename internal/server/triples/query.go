// The query of a read: a pattern or bounds, a direction, a cursor and a limit.

package triples

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// maxPageItems is the most items on a limited page.
const maxPageItems = 10_000

// query is one read of /range or /triples.
type query struct {
	byRange bool           // bounds are used; otherwise pattern
	bounds  triple.Bounds  // of /range
	pattern triple.Pattern // of /triples
	reverse bool

	keys  triple.Range // contains every key of the answer
	after []byte       // start beyond this key; nil for the beginning
	skip  int          // items to leave out at the start
	limit int          // most items of a page; 0 for a stream of all

	// defaultGraph leaves out the triples of named graphs, because the format cannot write their
	// names. It is not part of the fingerprint.
	defaultGraph bool

	// annotations includes the annotations of the triples that caller may read.
	annotations bool
	caller      access.Caller
}

var (
	triplesParams = slices.Concat(request.PatternParams, []string{"offset", "limit", "cursor", "annotations"})
	rangeParams   = slices.Concat(request.BoundsParams, []string{"reverse", "offset", "limit", "cursor", "annotations"})
)

// triplesQuery parses the parameters of GET /triples.
func triplesQuery(p request.Params) (*query, error) {
	pattern, err := p.Pattern()
	if err != nil {
		return nil, err
	}
	scan, err := pattern.Scan(pattern.Best())
	if err != nil {
		return nil, err
	}
	q := &query{pattern: pattern, keys: scan.Range}
	if q.annotations, err = p.Flag("annotations"); err != nil {
		return nil, err
	}
	return q, q.readPaging(p)
}

// rangeQuery parses the parameters of GET /range.
func rangeQuery(p request.Params) (*query, error) {
	b, err := p.Bounds()
	if err != nil {
		return nil, err
	}
	keys, err := b.KeyRange()
	if err != nil {
		return nil, problem.Errorf(problem.KindBadParameter, "", "%v", err)
	}
	q := &query{byRange: true, bounds: b, keys: keys.Range}
	if q.reverse, err = p.Flag("reverse"); err != nil {
		return nil, err
	}
	if q.annotations, err = p.Flag("annotations"); err != nil {
		return nil, err
	}
	return q, q.readPaging(p)
}

func (q *query) readPaging(p request.Params) (err error) {
	if q.limit, err = p.Number("limit", 1); err != nil {
		return err
	}
	q.limit = min(q.limit, maxPageItems)
	if q.skip, err = p.Number("offset", 0); err != nil {
		return err
	}
	if text, ok := p["cursor"]; ok {
		// A client that keeps its offset from page to page would lose rows of each page.
		if q.skip > 0 {
			return problem.Errorf(problem.KindBadParameter, "offset", "given with a cursor, which is behind the skipped triples already; leave offset out")
		}
		q.after, err = q.parseCursor(text)
	}
	return err
}

// fingerprint identifies a query. It covers everything that decides the items and their order. It
// is equal if two queries are spelled differently but mean the same.
func (q *query) fingerprint() uint64 {
	// Each part has its length in front, because the parts must not run into each other.
	b := make([]byte, 0, 256)
	// Terms are written as N-Triples, because different terms have different texts there.
	part := func(p []byte) { b = append(binary.AppendUvarint(b, uint64(len(p))), p...) }
	term := func(t triple.Term) { part(triple.AppendNT(nil, t)) }
	list := func(terms []triple.Term) {
		b = binary.AppendUvarint(b, uint64(len(terms)))
		for _, t := range terms {
			term(t)
		}
	}
	flag := func(f bool) {
		if f {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	// The kind comes first, because a range and a pattern have different parts.
	flag(q.byRange)
	flag(q.reverse)
	if q.byRange {
		b = append(b, byte(q.bounds.Order), byte(q.bounds.Starts.Kind))
		list(q.bounds.Prefix)
		list(q.bounds.From)
		list(q.bounds.Until)
		for _, t := range []triple.Term{q.bounds.GE, q.bounds.GT, q.bounds.LE, q.bounds.LT} {
			term(t)
		}
		part([]byte(q.bounds.Starts.Text))
		part([]byte(q.bounds.Starts.Lang))
	} else {
		flag(q.pattern.DefaultGraph)
		for _, t := range []triple.Term{q.pattern.Subject, q.pattern.Predicate, q.pattern.Object, q.pattern.Graph} {
			term(t)
		}
	}
	// A hash is enough, because it only detects a cursor of another query.
	return xxhash.Sum64(b)
}

// named reports whether all matches of q are in named graphs.
func (q *query) named() bool {
	if q.byRange {
		return q.bounds.Order == triple.GSPO
	}
	return !q.pattern.Graph.IsZero()
}

// rows returns the rows of the answer. If q has a limit, they may be one more, because that row
// shows that a next page exists.
func (q *query) rows(ctx context.Context, sn store.Reader) iter.Seq2[store.Row, error] {
	rows := q.allRows(ctx, sn)
	if !q.annotations || q.caller.All() {
		return rows
	}
	return func(yield func(store.Row, error) bool) {
		for row, err := range rows {
			row.Annotations = q.caller.Readable(row.Annotations)
			if !yield(row, err) {
				return
			}
		}
	}
}

// allRows returns the rows with all of their annotations.
func (q *query) allRows(ctx context.Context, sn store.Reader) iter.Seq2[store.Row, error] {
	o := store.ReadOptions{Reverse: q.reverse, After: q.after, Offset: int64(q.skip), DefaultGraph: q.defaultGraph, Annotations: q.annotations}
	if q.limit > 0 {
		o.Limit = int64(q.limit) + 1
	}
	if q.byRange {
		return sn.Range(ctx, q.bounds, o)
	}
	return sn.Match(ctx, q.pattern, o)
}

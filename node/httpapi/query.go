// What a reading door is asked for: a pattern or bounds, a direction, a place to
// go on from, and how much.

package httpapi

import (
	"context"
	"encoding/binary"
	"iter"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// maxPageItems is the most items that a limited page holds.
const maxPageItems = 10_000

// query is one question to /range or /triples.
type query struct {
	byRange bool           // bounds count; otherwise pattern
	bounds  triple.Bounds  // of /range
	pattern triple.Pattern // of /triples
	reverse bool

	keys  triple.Range // every key of the answer lies in it
	after []byte       // go on beyond this key; nil for the beginning
	limit int          // most items of a page; 0 for a stream of all

	// defaultGraph leaves out the triples of named graphs, because the format
	// has no place for their names. It is not part of the fingerprint.
	defaultGraph bool

	// annotations has the annotations of the triples written with them.
	annotations bool
}

var (
	patternParams = []string{"s", "p", "o", "g"}
	triplesParams = []string{"s", "p", "o", "g", "limit", "cursor", "annotations"}
	rangeParams   = []string{"order", "prefix", "ge", "gt", "le", "lt", "starts", "from", "until", "reverse", "limit", "cursor"}
)

// patternOf reads s, p, o and g.
func patternOf(p params) (pattern triple.Pattern, err error) {
	if pattern.Subject, err = p.term("s"); err != nil {
		return pattern, err
	}
	if pattern.Predicate, err = p.predicate("p"); err != nil {
		return pattern, err
	}
	if pattern.Object, err = p.term("o"); err != nil {
		return pattern, err
	}
	if p["g"] == "default" {
		pattern.DefaultGraph = true
		return pattern, nil
	}
	pattern.Graph, err = p.term("g")
	return pattern, err
}

// boundsOf reads the bounds of /range.
func boundsOf(p params) (b triple.Bounds, err error) {
	name, ok := p["order"]
	if !ok {
		return b, errorf(KindBadParameter, "order", "is missing: spo, pos, osp or gspo")
	}
	if b.Order, err = triple.ParseOrder(name); err != nil {
		return b, errorf(KindBadParameter, "order", "%v", err)
	}
	for _, list := range []struct {
		name string
		into *[]triple.Term
	}{{"prefix", &b.Prefix}, {"from", &b.From}, {"until", &b.Until}} {
		if *list.into, err = p.terms(list.name); err != nil {
			return b, err
		}
	}
	for _, bound := range []struct {
		name string
		into *triple.Term
	}{{"ge", &b.GE}, {"gt", &b.GT}, {"le", &b.LE}, {"lt", &b.LT}} {
		if *bound.into, err = p.term(bound.name); err != nil {
			return b, err
		}
	}
	if text, ok := p["starts"]; ok {
		if b.Starts, err = triple.ParseStarts(text); err != nil {
			return b, errorf(KindBadParameter, "starts", "%v", err)
		}
	}
	return b, nil
}

// triplesQuery reads a question to GET /triples.
func triplesQuery(p params) (*query, error) {
	pattern, err := patternOf(p)
	if err != nil {
		return nil, err
	}
	scan, err := pattern.Scan(pattern.Best())
	if err != nil {
		return nil, err
	}
	q := &query{pattern: pattern, keys: scan.Range}
	if q.annotations, err = p.flag("annotations"); err != nil {
		return nil, err
	}
	return q, q.readPaging(p)
}

// rangeQuery reads a question to GET /range.
func rangeQuery(p params) (*query, error) {
	b, err := boundsOf(p)
	if err != nil {
		return nil, err
	}
	keys, err := b.KeyRange()
	if err != nil {
		return nil, errorf(KindBadParameter, "", "%v", err)
	}
	q := &query{byRange: true, bounds: b, keys: keys.Range}
	if q.reverse, err = p.flag("reverse"); err != nil {
		return nil, err
	}
	return q, q.readPaging(p)
}

func (q *query) readPaging(p params) (err error) {
	if q.limit, err = p.number("limit"); err != nil {
		return err
	}
	q.limit = min(q.limit, maxPageItems)
	if text, ok := p["cursor"]; ok {
		q.after, err = q.parseCursor(text)
	}
	return err
}

// fingerprint tells queries apart: everything that decides which items come in
// which sequence, however it was spelled.
func (q *query) fingerprint() uint64 {
	b := make([]byte, 0, 256)
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
	return xxhash.Sum64(b)
}

// named reports whether all triples that q asks for are of named graphs.
func (q *query) named() bool {
	if q.byRange {
		return q.bounds.Order == triple.GSPO
	}
	return !q.pattern.Graph.IsZero()
}

// rows returns the rows of the answer. With a limit it gives up to one more, which
// tells that there is a next page.
func (q *query) rows(ctx context.Context, sn Snapshot) iter.Seq2[node.Row, error] {
	o := node.ReadOptions{Reverse: q.reverse, After: q.after, Annotations: q.annotations}
	if q.limit > 0 && !(q.byRange && q.defaultGraph) {
		o.Limit = int64(q.limit) + 1
	}
	if !q.byRange {
		p := q.pattern
		p.DefaultGraph = p.DefaultGraph || q.defaultGraph
		return sn.Match(ctx, p, o)
	}
	if q.defaultGraph {
		return inDefaultGraph(sn.Range(ctx, q.bounds, o))
	}
	return sn.Range(ctx, q.bounds, o)
}

// inDefaultGraph leaves out the rows of named graphs.
func inDefaultGraph(rows iter.Seq2[node.Row, error]) iter.Seq2[node.Row, error] {
	return func(yield func(node.Row, error) bool) {
		for row, err := range rows {
			if err == nil {
				var terms triple.KeyTerms
				_, terms, err = triple.SplitKey(row.Key)
				if err == nil && len(terms[triple.Graph]) > 0 {
					continue
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

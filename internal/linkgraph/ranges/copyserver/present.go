// The present state of triples that changed since a copy was made.

package copyserver

import (
	"context"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// factsTimeout bounds the wait for an order.
const factsTimeout = time.Second

// fact is the present state of a triple, in the default graph or any other one.
type fact struct {
	there           bool
	subject, object string       // of an existing triple, if they are IRIs
	claim           assign.Claim // in the default graph, if claims were requested
}

// presentState is the present state of triples that changed.
type presentState struct {
	facts map[string]fact    // of the triples that were looked up, by their keys in SPO without a graph
	pages map[string]uid.UID // of the ends of changed links, by URL
}

// copiedChange is a decoded change of a copied range.
type copiedChange struct {
	copies.Change
	terms triple.KeyTerms
	plain string // its key without a graph
}

func newChange(c copies.Change) (copiedChange, error) {
	_, terms, err := triple.SplitKey(c.Key)
	if err != nil {
		return copiedChange{}, err
	}
	plain := c.Key
	if len(terms[triple.Graph]) > 0 {
		plain = triple.AppendKeyOf(nil, triple.SPO, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], nil)
	}
	return copiedChange{c, terms, string(plain)}, nil
}

// keys returns the keys of the triple in an order, in all graphs.
func (c *copiedChange) keys(o triple.Order) triple.Range {
	lo := triple.AppendKeyOf(nil, o, c.terms[triple.Subject], c.terms[triple.Predicate], c.terms[triple.Object], nil)
	return triple.Range{Lo: lo, Hi: append(slices.Clip(lo), 0, 2)}
}

// conclusive reports whether a change alone determines whether the triple exists, if the link
// is not in named graphs too.
func (c *copiedChange) conclusive() bool {
	return c.Settled && len(c.terms[triple.Graph]) == 0 && !triple.IsLongTerm(c.terms[triple.Subject]) && !triple.IsLongTerm(c.terms[triple.Object])
}

// presentState finds the present state of the triples that changed.
func (g *Server) presentState(ctx context.Context, r *rowreader.Reader, v *view.View, kind byte, all []copiedList) (*presentState, error) {
	p := &presentState{map[string]fact{}, map[string]uid.UID{}}
	// 1. Resolve the ends of changed links, because isClear needs their UIDs.
	if kind == rowreader.CopiedList {
		if err := g.lookUpEnds(ctx, r, all, p); err != nil {
			return nil, err
		}
	}
	// 2. Collect the triples that are not clear, each once, and look them up.
	seen := map[string]bool{}
	var unclear []copiedChange
	for i := range all {
		for _, c := range all[i].changes {
			if !seen[c.plain] && !all[i].isClear(p, kind, &c) {
				seen[c.plain] = true
				unclear = append(unclear, c)
			}
		}
	}
	if len(unclear) == 0 {
		return p, nil
	}
	if err := g.lookUpFacts(ctx, r, v, kind, unclear, p.facts); err != nil || kind != rowreader.CopiedList {
		return p, err
	}
	// 3. Resolve the ends of the links that exist.
	var urls []string
	for _, f := range p.facts {
		if f.there {
			urls = append(urls, f.subject, f.object)
		}
	}
	uids, err := g.uids.AssignUIDs(ctx, r, urls)
	if err != nil {
		return nil, err
	}
	for i, u := range uids {
		p.pages[urls[i]] = u
	}
	return p, nil
}

// lookUpEnds finds the UIDs of the ends of links that changed.
func (g *Server) lookUpEnds(ctx context.Context, r *rowreader.Reader, all []copiedList, p *presentState) error {
	var there, gone []string
	for i := range all {
		for _, c := range all[i].changes {
			url, ok := linkkeys.ShortIRI(c.terms[all[i].far()])
			// Long terms are resolved later, from the rows of other orders.
			switch {
			case !ok:
			case c.Deleted:
				gone = append(gone, url)
			default:
				there = append(there, url)
			}
		}
	}
	// The end of a deleted link must not get a UID if it has none.
	for _, some := range []struct {
		urls []string
		find func(context.Context, *rowreader.Reader, []string) ([]uid.UID, error)
	}{{gone, g.uids.LookUpUIDs}, {there, g.uids.AssignUIDs}} {
		uids, err := some.find(ctx, r, some.urls)
		if err != nil {
			return err
		}
		for i, u := range uids {
			p.pages[some.urls[i]] = u
		}
	}
	return nil
}

// lookUpFacts looks up triples in an order whose reader is up. If no order can answer, the
// triple has no fact.
func (g *Server) lookUpFacts(ctx context.Context, r *rowreader.Reader, v *view.View, kind byte, all []copiedChange, facts map[string]fact) error {
	// 1. Probe the readers of all orders at once, because a down one must not delay each order.
	var everywhere []linkkeys.Wanted
	for i := range all {
		for _, o := range triple.Orders[:3] {
			everywhere = append(everywhere, linkkeys.Wanted{Range: all[i].keys(o), Item: i})
		}
	}
	g.Probe(ctx, v, everywhere, nil)
	now := g.Owners(v)
	// 2. Try one order after the other until every triple has a fact.
	for _, o := range []triple.Order{triple.POS, triple.OSP, triple.SPO} {
		var some []linkkeys.Wanted
		for i := range all {
			if _, done := facts[all[i].plain]; done {
				continue
			}
			keys := all[i].keys(o)
			if _, live, ok := now.Of(keys); ok && live {
				some = append(some, linkkeys.Wanted{Range: keys, Item: i})
			}
		}
		if len(some) == 0 {
			continue
		}
		found := map[int]fact{}
		if err := g.scanFacts(ctx, r, kind, some, found); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue // another order may have the answer
		}
		for _, w := range some {
			facts[all[w.Item].plain] = found[w.Item]
		}
	}
	return nil
}

func (g *Server) scanFacts(ctx context.Context, r *rowreader.Reader, kind byte, some []linkkeys.Wanted, found map[int]fact) error {
	ctx, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	return r.LookUp(ctx, slices.Clone(some), func(i int, row *linkkeys.Row) error {
		if found[i].there {
			return nil
		}
		f := fact{there: true}
		if subject, ok := row.Iri(triple.Subject); ok {
			f.subject = string(subject)
		}
		if object, ok := row.Iri(triple.Object); ok {
			f.object = string(object)
		}
		if c, ok := assign.ClaimOf(kind, row); ok && kind != rowreader.CopiedList {
			var err error
			if c.Stamp, err = row.Stamp(); err != nil {
				return err
			}
			f.claim = c
		}
		found[i] = f
		return nil
	})
}

// What has become of triples that have changed since copies were made.

package ranges

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/triple"
)

// factsTime bounds how long an order is waited for.
const factsTime = time.Second

// fact is how a triple is now, in the default graph or any other one.
type fact struct {
	there           bool
	subject, object string // of one that is there, where they are IRIs
	claim           claim  // in the default graph, where what was asked for are claims
}

// present is how triples are that have changed.
type present struct {
	facts map[string]fact    // of those that were looked up, by their keys in SPO without a graph
	pages map[string]uid.UID // of their links' ends
}

// change is one of a copied range, taken apart.
type change struct {
	copies.Change
	terms triple.KeyTerms
	plain string // its key without a graph
}

func takenApart(c copies.Change) (change, error) {
	_, terms, err := triple.SplitKey(c.Key)
	if err != nil {
		return change{}, err
	}
	plain := c.Key
	if len(terms[triple.Graph]) > 0 {
		plain = triple.AppendKeyOf(nil, triple.SPO, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], nil)
	}
	return change{c, terms, string(plain)}, nil
}

// keys returns the keys of the triple in an order, in all graphs.
func (c *change) keys(o triple.Order) triple.Range {
	lo := triple.AppendKeyOf(nil, o, c.terms[triple.Subject], c.terms[triple.Predicate], c.terms[triple.Object], nil)
	return triple.Range{Lo: lo, Hi: append(slices.Clip(lo), 0, 2)}
}

// told reports whether a change by itself says how the triple is, for a link that is not in
// named graphs too.
func (c *change) told() bool {
	return c.Settled && len(c.terms[triple.Graph]) == 0 && !triple.IsLongTerm(c.terms[triple.Subject]) && !triple.IsLongTerm(c.terms[triple.Object])
}

// copied is a copied range, ready to be told as it is now.
type copied struct {
	rows    []copies.Row
	changes []change
	// Of a list:
	backward   bool
	list, also []uid.UID // also are links in named graphs
}

// read reads a copied range.
func (c *copied) read(kind byte, f copies.Found, backward bool) error {
	c.rows, c.backward = f.Rows, backward
	for i := range f.Changed {
		one, err := takenApart(f.Changed[i])
		if err != nil {
			return err
		}
		c.changes = append(c.changes, one)
	}
	if kind != copiedList {
		return nil
	}
	for _, row := range f.Rows {
		d := peer.NewDecoder(row.Value)
		packed, more := d.Bytes(), d.Rest()
		if err := d.End(); err != nil {
			return err
		}
		var err error
		if c.list, err = unpack(c.list, packed); err != nil {
			return err
		}
		if c.also, err = unpack(c.also, more); err != nil {
			return err
		}
	}
	return nil
}

// far returns the position of a list's other ends.
func (c *copied) far() int {
	if c.backward {
		return triple.Subject
	}
	return triple.Object
}

// shortIRI returns the IRI that a term of a key is; false where it is none, or long.
func shortIRI(term []byte) (string, bool) {
	if len(term) < 2 || term[0] != tagIRI || triple.IsLongTerm(term) {
		return "", false
	}
	return string(term[1:]), true
}

// now finds out how the triples are that have changed.
func (r *reader) now(ctx context.Context, v *view.View, kind byte, all []copied) (*present, error) {
	p := &present{map[string]fact{}, map[string]uid.UID{}}
	if kind == copiedList {
		if err := r.namesOf(ctx, all, p); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	var unclear []change
	for i := range all {
		for _, c := range all[i].changes {
			if !seen[c.plain] && !all[i].clear(p, kind, &c) {
				seen[c.plain] = true
				unclear = append(unclear, c)
			}
		}
	}
	if len(unclear) == 0 {
		return p, nil
	}
	if err := r.factsOf(ctx, v, kind, unclear, p.facts); err != nil || kind != copiedList {
		return p, err
	}
	var urls []string
	for _, f := range p.facts {
		if f.there {
			urls = append(urls, f.subject, f.object)
		}
	}
	uids, err := r.named(ctx, urls)
	if err != nil {
		return nil, err
	}
	for i, u := range uids {
		p.pages[urls[i]] = u
	}
	return p, nil
}

// namesOf finds the UIDs of the ends of links that have changed.
func (r *reader) namesOf(ctx context.Context, all []copied, p *present) error {
	var there, gone []string
	for i := range all {
		for _, c := range all[i].changes {
			url, ok := shortIRI(c.terms[all[i].far()])
			switch {
			case !ok:
			case c.Deleted:
				gone = append(gone, url)
			default:
				there = append(there, url)
			}
		}
	}
	for _, some := range []struct {
		urls []string
		find func(context.Context, []string) ([]uid.UID, error)
	}{{gone, r.uids}, {there, r.named}} {
		uids, err := some.find(ctx, some.urls)
		if err != nil {
			return err
		}
		for i, u := range uids {
			p.pages[some.urls[i]] = u
		}
	}
	return nil
}

// clear reports whether a change says how its triple is.
func (c *copied) clear(p *present, kind byte, one *change) bool {
	if !one.told() {
		return false
	}
	if kind != copiedList || !one.Deleted {
		return true
	}
	url, _ := shortIRI(one.terms[c.far()])
	return !slices.Contains(c.also, p.pages[url])
}

// factsOf looks triples up in an order whose reader is there. Those that no order can tell
// are left out.
func (r *reader) factsOf(ctx context.Context, v *view.View, kind byte, all []change, facts map[string]fact) error {
	var everywhere []wanted
	for i := range all {
		for _, o := range triple.Orders[:3] {
			everywhere = append(everywhere, wanted{all[i].keys(o), i})
		}
	}
	r.graph.probe(ctx, v, everywhere, nil)
	now := r.graph.standing(v)
	for _, o := range []triple.Order{triple.POS, triple.OSP, triple.SPO} {
		var some []wanted
		for i := range all {
			if _, done := facts[all[i].plain]; done {
				continue
			}
			keys := all[i].keys(o)
			if _, live, ok := now.readerOf(keys); ok && live {
				some = append(some, wanted{keys, i})
			}
		}
		if len(some) == 0 {
			continue
		}
		found := map[int]fact{}
		if err := r.lookForFacts(ctx, kind, some, found); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue // another order may know
		}
		for _, w := range some {
			facts[all[w.item].plain] = found[w.item]
		}
	}
	return nil
}

func (r *reader) lookForFacts(ctx context.Context, kind byte, some []wanted, found map[int]fact) error {
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	return r.look(ctx, slices.Clone(some), func(i int, row *row) error {
		if found[i].there {
			return nil
		}
		f := fact{there: true}
		if subject, ok := row.iri(triple.Subject); ok {
			f.subject = string(subject)
		}
		if object, ok := row.iri(triple.Object); ok {
			f.object = string(object)
		}
		if c, ok := claimOf(kind, row); ok && kind != copiedList {
			var err error
			if c.stamp, err = row.stamp(); err != nil {
				return err
			}
			f.claim = c
		}
		found[i] = f
		return nil
	})
}

// appendList appends a list as it is now; false where that cannot be told.
func (c *copied) appendList(e *peer.Encoder, p *present) bool {
	list := c.list
	gone := map[uid.UID]bool{}
	for i := range c.changes {
		one := &c.changes[i]
		url, short := shortIRI(one.terms[c.far()])
		there := !one.Deleted
		// What was looked up is of all graphs, and counts for all changes of the triple.
		if f, ok := p.facts[one.plain]; ok || !c.clear(p, copiedList, one) {
			if !ok || !f.there && !short && triple.IsLongTerm(one.terms[c.far()]) {
				return false // of a long one that is gone nobody knows which it was
			}
			if there = f.there; there && c.backward {
				url = f.subject
			} else if there {
				url = f.object
			}
		}
		if u := p.pages[url]; there {
			list = append(list, u)
		} else {
			gone[u] = true
		}
	}
	list = slices.DeleteFunc(list, func(u uid.UID) bool { return u == 0 || gone[u] })
	slices.Sort(list)
	e.Bytes(appendPacked(nil, slices.Compact(list)))
	return true
}

// changed returns what is known of claims that have changed: those that are there, and
// the keys of all in an order.
func (c *copied) changed(kind byte, p *present, o triple.Order) (there []change, claims []claim, keys map[string]bool, ok bool) {
	keys = map[string]bool{}
	for _, one := range c.changes {
		t := &one.terms
		keys[string(triple.AppendKeyOf(nil, o, t[triple.Subject], t[triple.Predicate], t[triple.Object], nil))] = true
		var now claim
		if f, ok := p.facts[one.plain]; ok {
			now = f.claim
		} else if !one.told() {
			return nil, nil, nil, false
		} else if !one.Deleted {
			now, _ = claimOf(kind, &row{terms: one.terms})
			now.stamp = one.Stamp
		}
		if !now.none() {
			now.late = true
			there, claims = append(there, one), append(claims, now)
		}
	}
	return there, claims, keys, true
}

// appendClaims appends the UIDs of a page, or the claims of a grant, as they are now.
func (c *copied) appendClaims(e *peer.Encoder, kind byte, p *present) bool {
	_, claims, changed, ok := c.changed(kind, p, triple.SPO)
	if !ok {
		return false
	}
	for _, row := range c.rows {
		if !changed[string(row.Key)] {
			claims = append(claims, readClaim(peer.NewDecoder(row.Value)))
		}
	}
	e.Uvarint(uint64(len(claims)))
	for i := range claims {
		claims[i].encode(e)
		e.Bool(claims[i].late)
	}
	return true
}

// appendURLs appends the pages of a UID as they are now.
func (c *copied) appendURLs(e *peer.Encoder, p *present) bool {
	there, _, changed, ok := c.changed(copiedURLs, p, triple.POS)
	if !ok {
		return false
	}
	var urls [][]byte
	for _, one := range there {
		url, ok := shortIRI(one.terms[triple.Subject])
		if !ok {
			url = p.facts[one.plain].subject
		}
		urls = append(urls, []byte(url))
	}
	for _, row := range c.rows {
		if !changed[string(row.Key)] {
			urls = append(urls, row.Value)
		}
	}
	slices.SortFunc(urls, bytes.Compare)
	urls = slices.CompactFunc(urls, bytes.Equal)
	e.Uvarint(uint64(len(urls)))
	for _, url := range urls {
		e.Bytes(url)
	}
	return true
}

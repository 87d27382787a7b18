// A copied range, decoded, and its encoding as an answer.

package copyserver

import (
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// copiedList is a copied range with its changes since the copy was made.
type copiedList struct {
	rows    []copies.Row
	changes []copiedChange
	// Of a list:
	backward    bool
	list, named []uid.UID // named are those of list that are also in named graphs
}

// decode decodes a copied range.
func (c *copiedList) decode(kind byte, f copies.Found, backward bool) error {
	// 1. Decode the changes, which every kind has.
	c.rows, c.backward = f.Rows, backward
	for i := range f.Changed {
		one, err := newChange(f.Changed[i])
		if err != nil {
			return err
		}
		c.changes = append(c.changes, one)
	}
	if kind != rowreader.CopiedList {
		return nil
	}
	// 2. A list is in several rows if it is long.
	for _, row := range f.Rows {
		d := peer.NewDecoder(row.Value)
		packed, more := d.Bytes(), d.Rest()
		if err := d.End(); err != nil {
			return err
		}
		var err error
		if c.list, err = linkkeys.Unpack(c.list, packed); err != nil {
			return err
		}
		if c.named, err = linkkeys.Unpack(c.named, more); err != nil {
			return err
		}
	}
	return nil
}

// far returns the position of a list's other ends.
func (c *copiedList) far() int {
	if c.backward {
		return triple.Subject
	}
	return triple.Object
}

// isClear reports whether a change alone determines whether its triple exists.
func (c *copiedList) isClear(p *presentState, kind byte, one *copiedChange) bool {
	if !one.conclusive() {
		return false
	}
	if kind != rowreader.CopiedList || !one.Deleted {
		return true
	}
	// A deletion is not clear if the link was in a named graph too.
	url, _ := linkkeys.ShortIRI(one.terms[c.far()])
	return !slices.Contains(c.named, p.pages[url])
}

// appendList appends the present list. It returns false if the present state is not known.
func (c *copiedList) appendList(e *peer.Encoder, p *presentState) bool {
	list := c.list
	gone := map[uid.UID]bool{}
	for i := range c.changes {
		one := &c.changes[i]
		url, short := linkkeys.ShortIRI(one.terms[c.far()])
		there := !one.Deleted
		// A look-up is of all graphs, so it counts for every change of the triple.
		if f, ok := p.facts[one.plain]; ok || !c.isClear(p, rowreader.CopiedList, one) {
			if !ok || !f.there && !short && triple.IsLongTerm(one.terms[c.far()]) {
				return false // it is not known which long URL was deleted
			}
			if there = f.there; there && c.backward {
				url = f.subject
			} else if there {
				url = f.object
			}
		}
		// The UIDs of deleted links are removed from the list at the end.
		if u := p.pages[url]; there {
			list = append(list, u)
		} else {
			gone[u] = true
		}
	}
	list = slices.DeleteFunc(list, func(u uid.UID) bool { return u == 0 || gone[u] })
	slices.Sort(list)
	e.Bytes(linkkeys.AppendPacked(nil, slices.Compact(list)))
	return true
}

// changedClaims returns the changed claims that exist, and the keys of all changed ones in an
// order. ok is false if the state of one is not known.
func (c *copiedList) changedClaims(kind byte, p *presentState, o triple.Order) (there []copiedChange, claims []assign.Claim, keys map[string]bool, ok bool) {
	keys = map[string]bool{}
	for _, one := range c.changes {
		t := &one.terms
		keys[string(triple.AppendKeyOf(nil, o, t[triple.Subject], t[triple.Predicate], t[triple.Object], nil))] = true
		var now assign.Claim
		if f, ok := p.facts[one.plain]; ok {
			now = f.claim
		} else if !one.conclusive() {
			return nil, nil, nil, false
		} else if !one.Deleted {
			now, _ = assign.ClaimOf(kind, &linkkeys.Row{Terms: one.terms})
			now.Stamp = one.Stamp
		}
		if !now.None() {
			now.Late = true
			there, claims = append(there, one), append(claims, now)
		}
	}
	return there, claims, keys, true
}

// appendClaims appends the present UIDs of a page, or claims of a grant.
func (c *copiedList) appendClaims(e *peer.Encoder, kind byte, p *presentState) bool {
	_, claims, changed, ok := c.changedClaims(kind, p, triple.SPO)
	if !ok {
		return false
	}
	for _, row := range c.rows {
		if !changed[string(row.Key)] {
			claims = append(claims, assign.Claim{})
			claims[len(claims)-1].Fields(peer.NewDecoder(row.Value).Coder())
		}
	}
	assign.CodeClaims(e.Coder(), &claims)
	return true
}

// appendURLs appends the present pages of a UID.
func (c *copiedList) appendURLs(e *peer.Encoder, p *presentState) bool {
	there, _, changed, ok := c.changedClaims(rowreader.CopiedURLs, p, triple.POS)
	if !ok {
		return false
	}
	var urls []string
	for _, one := range there {
		url, ok := linkkeys.ShortIRI(one.terms[triple.Subject])
		if !ok {
			url = p.facts[one.plain].subject
		}
		urls = append(urls, url)
	}
	for _, row := range c.rows {
		if !changed[string(row.Key)] {
			urls = append(urls, string(row.Value))
		}
	}
	slices.Sort(urls)
	urls = slices.Compact(urls)
	assign.CodeURLs(e.Coder(), &urls)
	return true
}

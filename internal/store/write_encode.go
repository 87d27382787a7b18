// Encoding and sorting the triples of requests.

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// encoder encodes triples for requests. Consecutive triples often share terms: if a term stays the
// same, it is neither checked nor encoded again. An encoder must not outlive the call that owns
// the triples.
type encoder struct {
	last  triple.Triple
	terms [4]struct {
		form []byte
		long bool
	} // of last, by position
	checked triple.Triple // the last well-formed triple
}

// check is t.Check with a short way for a changed object.
func (e *encoder) check(t *triple.Triple) error {
	c := &e.checked
	if t.Subject == c.Subject && t.Predicate == c.Predicate && t.Graph == c.Graph && t.Object.Kind() == triple.IRI {
		if t.Object == c.Object || t.Object.Check() == nil {
			c.Object = t.Object
			return nil
		}
	}
	err := t.Check()
	if err == nil {
		*c = *t
	}
	return err
}

// encode encodes the terms of t, and reports whether one of them is long.
func (e *encoder) encode(t *triple.Triple) (anyLong bool) {
	for position, both := range [4][2]*triple.Term{
		triple.Subject: {&t.Subject, &e.last.Subject}, triple.Predicate: {&t.Predicate, &e.last.Predicate},
		triple.Object: {&t.Object, &e.last.Object}, triple.Graph: {&t.Graph, &e.last.Graph},
	} {
		to := &e.terms[position]
		if now, last := both[0], both[1]; *now != *last {
			to.form, to.long = triple.AppendTerm(to.form[:0], *now)
			*last = *now
		}
		anyLong = anyLong || to.long
	}
	return anyLong
}

// appendKey appends the key of the last encoded triple. If it has none in this order, nothing is
// appended.
func (e *encoder) appendKey(dst []byte, o triple.Order) []byte {
	t := &e.terms
	return triple.AppendKeyOf(dst, o, t[triple.Subject].form, t[triple.Predicate].form, t[triple.Object].form, t[triple.Graph].form)
}

// sortedItems is the number of items from which on a request is sorted.
const sortedItems = 32

// sort puts the items of a request in the order of SPO and finds their order in the others. Equal
// items keep their order. The reason is speed: rows enter the database in a third of the time if
// their keys are sorted.
func (r *request) sort() {
	if len(r.items) < sortedItems {
		return
	}
	sortKeys := r.sortKeys(nil, 0)
	items := make([]item, len(sortKeys))
	for i, p := range sortKeys {
		items[i] = r.items[p.at]
	}
	r.items = items
	for i := range r.sorted {
		// If all items share a predicate, OSP has the order of POS, because only the predicate's
		// position differs.
		if i+1 == orderOSP && r.onePredicate {
			r.sorted[i] = r.sorted[i-1]
			continue
		}
		sortKeys = r.sortKeys(sortKeys, i+1)
		r.sorted[i] = make([]int32, len(sortKeys))
		for j, p := range sortKeys {
			r.sorted[i][j] = p.at
		}
	}
}

// Indexes in triple.Orders.
const (
	orderPOS = 1
	orderOSP = 2
)

// sortKey is an item during sorting: eight bytes of its key, and its index.
type sortKey struct {
	window uint64
	at     int32
}

// sortKeys returns the items with a key in Orders[order], sorted by it. Equal items keep their
// order. It may use the memory of sortKeys.
func (r *request) sortKeys(sortKeys []sortKey, order int) []sortKey {
	sortKeys = sortKeys[:0]
	for at := range r.items {
		if len(r.key(&r.items[at], order)) > 0 {
			sortKeys = append(sortKeys, sortKey{at: int32(at)})
		}
	}
	r.sortFrom(sortKeys, order, 0)
	return sortKeys
}

// fewItems is the maximum number of items to compare as a whole.
const fewItems = 8

// sortFrom sorts items whose keys agree before depth. It sorts by the eight bytes there, then
// recursively the items that agree on these. So each byte is read once even if keys share long
// prefixes, as URLs do.
func (r *request) sortFrom(sortKeys []sortKey, order, depth int) {
	// 1. If the items are few or a key is short, compare the rest of the keys.
	whole := len(sortKeys) <= fewItems
	for i := range sortKeys {
		key := r.key(&r.items[sortKeys[i].at], order)
		if len(key) < depth+8 {
			whole = true
			break
		}
		sortKeys[i].window = binary.BigEndian.Uint64(key[depth:])
	}
	if whole {
		slices.SortFunc(sortKeys, func(a, b sortKey) int {
			if c := bytes.Compare(r.key(&r.items[a.at], order)[depth:], r.key(&r.items[b.at], order)[depth:]); c != 0 {
				return c
			}
			return int(a.at - b.at)
		})
		return
	}
	// 2. Otherwise sort by one window of eight bytes, and then each group of equal windows.
	slices.SortFunc(sortKeys, func(a, b sortKey) int { return cmp.Compare(a.window, b.window) })
	for len(sortKeys) > 0 {
		n := 1
		for n < len(sortKeys) && sortKeys[n].window == sortKeys[0].window {
			n++
		}
		if n > 1 {
			r.sortFrom(sortKeys[:n], order, depth+8)
		}
		sortKeys = sortKeys[n:]
	}
}

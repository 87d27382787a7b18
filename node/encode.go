package node

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// encoder encodes triples for requests. What comes one after the other often shares
// terms: one that stays as it was is neither checked nor encoded again. It must not be
// kept beyond the call that has the triples.
type encoder struct {
	last  triple.Triple
	terms [4]struct {
		form []byte
		long bool
	} // of last, by position
	checked triple.Triple // the last one that was found to be well-formed
}

// check is t.Check.
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

// encode makes terms those of t, and reports whether one of them is long.
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

// appendKey appends the key of the triple that was encoded last, nothing where it has
// none in this order.
func (e *encoder) appendKey(dst []byte, o triple.Order) []byte {
	t := &e.terms
	return triple.AppendKeyOf(dst, o, t[triple.Subject].form, t[triple.Predicate].form, t[triple.Object].form, t[triple.Graph].form)
}

// sortedItems is from how many items on a request is sorted.
const sortedItems = 32

// sort puts the items of a request in the order of SPO, equal ones as they were, and
// finds their order in the others: rows that enter the database in the order of their
// keys take a third of the time.
func (r *request) sort() {
	if len(r.items) < sortedItems {
		return
	}
	places := r.places(nil, 0)
	items := make([]item, len(places))
	for i, p := range places {
		items[i] = r.items[p.at]
	}
	r.items = items
	for i := range r.sorted {
		// OSP differs from POS in where the predicate stands.
		if i+1 == orderOSP && r.onePredicate {
			r.sorted[i] = r.sorted[i-1]
			continue
		}
		places = r.places(places, i+1)
		r.sorted[i] = make([]int32, len(places))
		for j, p := range places {
			r.sorted[i][j] = p.at
		}
	}
}

// Places in triple.Orders.
const (
	orderPOS = 1
	orderOSP = 2
)

// place is an item in sorting: eight bytes of its key, and which one it is.
type place struct {
	window uint64
	at     int32
}

// places returns the items that have a key in Orders[order], sorted by these, equal ones
// as they are. It may use the memory of places.
func (r *request) places(places []place, order int) []place {
	places = places[:0]
	for at := range r.items {
		if len(r.key(&r.items[at], order)) > 0 {
			places = append(places, place{at: int32(at)})
		}
	}
	r.sortPlaces(places, order, 0)
	return places
}

// fewPlaces is up to how many items are compared as a whole.
const fewPlaces = 8

// sortPlaces sorts items whose keys agree on the bytes before depth: by the eight bytes
// there, and then those that agree on these too. Each byte is read once where keys have
// long beginnings in common, which is what URLs have.
func (r *request) sortPlaces(places []place, order, depth int) {
	whole := len(places) <= fewPlaces
	for i := range places {
		key := r.key(&r.items[places[i].at], order)
		if len(key) < depth+8 {
			whole = true
			break
		}
		places[i].window = binary.BigEndian.Uint64(key[depth:])
	}
	if whole {
		slices.SortFunc(places, func(a, b place) int {
			if c := bytes.Compare(r.key(&r.items[a.at], order)[depth:], r.key(&r.items[b.at], order)[depth:]); c != 0 {
				return c
			}
			return int(a.at - b.at)
		})
		return
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.window, b.window) })
	for len(places) > 0 {
		n := 1
		for n < len(places) && places[n].window == places[0].window {
			n++
		}
		if n > 1 {
			r.sortPlaces(places[:n], order, depth+8)
		}
		places = places[n:]
	}
}

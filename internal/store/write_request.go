// Requests: writes on their way to the committer, encoded and sorted.

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// isExclusive reports whether a request is a group of its own.
func (k Kind) isExclusive() bool { return k == KindApply || k == kindJobAlone }

// changes reports whether a request has parts.
func (k Kind) changes() bool { return k == KindApply || k == kindEdit }

// mayShare reports whether requests of two kinds may share a group.
func (k Kind) mayShare(other Kind) bool {
	return !k.isExclusive() && !other.isExclusive() && (k == kindJob) == (other == kindJob)
}

// request is one write on its way to the committer. The caller's goroutine encodes the keys,
// because then all cores share this work.
type request struct {
	kind  Kind
	items []item
	arena []byte // the keys of all items, table byte first
	size  int64  // about how many bytes it holds
	// sorted are the indexes of items in the order of their keys in Orders[1:]. Items are then in
	// the order of SPO. It is nil if the items are few.
	sorted       [len(triple.Orders) - 1][]int32
	onePredicate bool // all items have one predicate and one graph

	tokens        []Token // by item, or one of a KindClaim; nil if the request has no key
	absentSince   uint64
	applicationID string // of KindAnnotate, which has one item
	data          []byte // nil removes the annotation
	when          Condition
	version       triple.Stamp // set when it is done: of the annotation; zero if it is removed

	job     Job          // of kindJob and kindJobAlone
	*change              // of KindApply and kindEdit, whose own items are empty
	steps   atomic.Int64 // grows when the committer works on it

	state atomic.Int32
	done  chan struct{} // closed when changed, unchanged or err are set

	changed, unchanged int64
	err                error
}

// States of a request.
const (
	stateQueued int32 = iota
	stateTaken
	stateWithdrawn
)

// item is one triple of a request: its keys in the arena, order by order, and the value of its row
// if it has long terms. A key of GSPO is empty in the default graph.
type item struct {
	at   [len(triple.Orders) + 1]uint32 // key of Orders[i]: arena[at[i]:at[i+1]]
	long []byte                         // encoded value with a zero stamp
	// absent means that the triple was absent at the sequence absentSince of the feed.
	absent bool
}

// maxRequestBytes limits one request. A longer list of triples becomes several.
const maxRequestBytes = 8 << 20

// itemBytes is about the cost of an item beside its keys.
const itemBytes = 64

// key returns the Pebble key of an item in Orders[i], or an empty key if it has none.
func (r *request) key(it *item, i int) []byte {
	return r.arena[it.at[i]:it.at[i+1]:it.at[i+1]]
}

// add appends a triple. It keeps nothing of t.
func (r *request) add(e *encoder, t triple.Triple) {
	var it item
	r.onePredicate = len(r.items) == 0 || r.onePredicate && t.Predicate == e.last.Predicate && t.Graph == e.last.Graph
	anyLong := e.encode(&t)
	for i, order := range triple.Orders {
		it.at[i] = uint32(len(r.arena))
		if order == triple.GSPO && t.Graph.IsZero() {
			continue
		}
		r.arena = e.appendKey(append(r.arena, keyspace.Storage), order)
	}
	it.at[len(triple.Orders)] = uint32(len(r.arena))
	if anyLong {
		it.long = triple.AppendValue(nil, triple.Stamp{}, t)
	}
	r.items = append(r.items, it)
	orders := len(triple.Orders)
	if t.Graph.IsZero() {
		orders--
	}
	r.size += int64(it.at[len(triple.Orders)]-it.at[0]) + int64(orders*len(it.long)) + itemBytes
}

// newRequests returns the requests for a list of triples, usually one. Its error names the first
// malformed triple.
func newRequests(kind Kind, triples []triple.Triple, key *RequestKey) ([]*request, error) {
	var e encoder
	for i := range triples {
		if err := e.check(&triples[i]); err != nil {
			return nil, fmt.Errorf("triple %d: %w", i, err)
		}
	}
	var requests []*request
	var r *request
	for i := range triples {
		if r == nil || r.size >= maxRequestBytes {
			r = newRequest(kind, len(triples)-i)
			requests = append(requests, r)
		}
		r.add(&e, triples[i])
	}
	for _, r := range requests {
		r.sort()
		r.name(key)
	}
	return requests, nil
}

// name sets the tokens of all items, if the request has a key.
func (r *request) name(key *RequestKey) {
	if key == nil {
		return
	}
	operation := OperationAdd
	if r.kind == KindDelete {
		operation = OperationDelete
	}
	r.tokens = make([]Token, len(r.items))
	for i := range r.items {
		r.tokens[i] = key.Token(operation, r.key(&r.items[i], 0)[1:])
	}
}

func newRequest(kind Kind, items int) *request {
	return &request{
		kind:  kind,
		items: make([]item, 0, min(items, 1<<14)),
		arena: make([]byte, 0, min(items, 1<<12)*256),
		done:  make(chan struct{}),
	}
}

// value returns the value of an item's row.
func (r *request) value(it *item, plain []byte, stamp triple.Stamp) ([]byte, error) {
	if it.long == nil {
		return plain, nil
	}
	v, err := triple.DecodeValue(it.long)
	if err != nil {
		return nil, err
	}
	v.Stamp = stamp
	return v.Append(nil), nil
}

// queued returns the size that counts in the queue. The caller holds a change itself while it
// waits for room. So a change need not wait for more room than another request.
func (r *request) queued() int64 {
	if r.kind == KindApply {
		return min(r.size, maxRequestBytes)
	}
	return r.size
}

// undo resets the counts, because nothing was done.
func (r *request) undo() {
	r.changed, r.unchanged = 0, 0
	if r.change != nil {
		r.removed = 0
	}
}

// finish answers a request.
func (r *request) finish(err error) {
	r.err = err
	close(r.done)
}

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

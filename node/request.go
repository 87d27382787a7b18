package node

import (
	"fmt"
	"sync/atomic"

	"github.com/trefoildb/trefoil/triple"
)

// kind is what a request asks for.
type kind uint8

const (
	kindAdd kind = iota
	kindDelete
	kindAnnotate
	kindApply
	kindEdit // a kindApply that clears nothing and is small: it is done beside others
	kindClaim
	kindStamped
	kindSweep
	kindPurge
)

// alone tells that a request is a group of its own.
func (k kind) alone() bool { return k == kindApply || k == kindSweep || k == kindPurge }

// changes tells that a request has parts.
func (k kind) changes() bool { return k == kindApply || k == kindEdit }

// beside reports whether requests of two kinds may be in one group.
func (k kind) beside(other kind) bool {
	return !k.alone() && !other.alone() && (k == kindStamped) == (other == kindStamped)
}

// request is one write on its way to the committer. Its keys are encoded by who
// makes it, so that this happens on all cores.
type request struct {
	kind  kind
	items []item
	arena []byte // the keys of all items, table byte first
	size  int64  // about the bytes it holds
	// sorted are the places of items in the order of their keys in Orders[1:]; nil where
	// the items are few. Then they are in the order of SPO, too.
	sorted       [len(triple.Orders) - 1][]int32
	onePredicate bool // all items have one predicate and one graph

	tokens        []Token // by item, or the one of a kindClaim; nil if the request has no key
	absentSince   uint64
	applicationID string // of kindAnnotate, which has one item
	data          []byte // nil removes

	*stamped               // of kindStamped
	*sweeping              // of kindSweep
	purging   *purging     // of kindPurge
	*change                // of kindApply and kindEdit, which have no items of their own
	steps     atomic.Int64 // grows while the committer works on it

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

// item is one triple of a request: its keys in the arena, order by order, and
// the value of a version of it where it has long terms. A key of GSPO is empty
// in the default graph.
type item struct {
	at   [len(triple.Orders) + 1]uint32 // key of Orders[i]: arena[at[i]:at[i+1]]
	long []byte                         // encoded value with a zero stamp
	// absent says that the triple was not there at entry absentSince of the feed.
	absent bool
}

// maxRequestBytes bounds one request: a longer list of triples becomes several.
const maxRequestBytes = 8 << 20

// itemBytes is about what an item costs beside its keys.
const itemBytes = 64

// key returns the Pebble key of an item in Orders[i]; empty where it has none.
func (r *request) key(it *item, i int) []byte {
	return r.arena[it.at[i]:it.at[i+1]:it.at[i+1]]
}

// add appends a triple. It keeps nothing of it.
func (r *request) add(e *encoder, t triple.Triple) {
	var it item
	r.onePredicate = len(r.items) == 0 || r.onePredicate && t.Predicate == e.last.Predicate && t.Graph == e.last.Graph
	anyLong := e.encode(&t)
	for i, order := range triple.Orders {
		it.at[i] = uint32(len(r.arena))
		if order == triple.GSPO && t.Graph.IsZero() {
			continue
		}
		r.arena = e.appendKey(append(r.arena, tableStorage), order)
	}
	it.at[len(triple.Orders)] = uint32(len(r.arena))
	if anyLong && r.kind == kindAdd {
		it.long = triple.AppendValue(nil, triple.Stamp{}, t)
	}
	r.items = append(r.items, it)
	orders := len(triple.Orders)
	if t.Graph.IsZero() {
		orders--
	}
	r.size += int64(it.at[len(triple.Orders)]-it.at[0]) + int64(orders*len(it.long)) + itemBytes
}

// newRequests returns the requests for a list of triples, most often one. The
// error names the first triple that is not well-formed.
func newRequests(kind kind, triples []triple.Triple, key *RequestKey) ([]*request, error) {
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

// name gives each item its token, if the request has a key.
func (r *request) name(key *RequestKey) {
	if key == nil {
		return
	}
	operation := OperationAdd
	if r.kind == kindDelete {
		operation = OperationDelete
	}
	r.tokens = make([]Token, len(r.items))
	for i := range r.items {
		r.tokens[i] = key.Token(operation, r.key(&r.items[i], 0)[1:])
	}
}

func newRequest(kind kind, items int) *request {
	return &request{
		kind:  kind,
		items: make([]item, 0, min(items, 1<<14)),
		arena: make([]byte, 0, min(items, 1<<12)*256),
		done:  make(chan struct{}),
	}
}

// value returns the value of a version of an item.
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

// queued returns the size that the queue counts of a request. A change is held
// by its caller while it waits for room in the queue, so that it need not wait
// for more of it than another request does.
func (r *request) queued() int64 {
	if r.kind == kindApply {
		return min(r.size, maxRequestBytes)
	}
	return r.size
}

// undo makes a request say that nothing was done.
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

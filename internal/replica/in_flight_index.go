// An index of the in-flight list by key.

package replica

import (
	"slices"

	"github.com/tidwall/btree"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

const orderCount = len(triple.Orders)

// inFlightIndex finds entries by the keys of their operations. Each order has its own tree. An
// entry enters it when a reader requests a range of that order. So a machine without reads derives
// no keys.
type inFlightIndex struct {
	trees   [orderCount]*btree.BTreeG[indexed]
	waiting [orderCount][]*batchEntry // not in the tree yet; some may be removed already
}

// indexed is a key of an operation, with its entry.
type indexed struct {
	key   string
	entry *batchEntry // nil sorts before all entries of the key
}

func (x *inFlightIndex) init() {
	for i := range x.trees {
		x.trees[i] = btree.NewBTreeGOptions(func(a, b indexed) bool {
			switch {
			case a.key != b.key:
				return a.key < b.key
			case a.entry == nil || b.entry == nil:
				return a.entry == nil && b.entry != nil
			}
			return compareOrigins(a.entry.origin, b.entry.origin) < 0
		}, btree.Options{NoLocks: true})
	}
}

func (x *inFlightIndex) add(e *batchEntry) {
	for i := range x.waiting {
		x.waiting[i] = append(x.waiting[i], e)
	}
}

// fewWaiting is the number of waiting entries, removed ones included, before remove cleans up.
const fewWaiting = 64

// remove removes an entry. left is the number of entries that stay.
func (x *inFlightIndex) remove(e *batchEntry, left int) {
	for i := range x.trees {
		for _, key := range e.keys[i] {
			x.trees[i].Delete(indexed{key, e})
		}
		if e.keys[i] == nil {
			// It waits. An empty list of keys marks it as removed.
			e.keys[i] = []string{}
		}
		if n := len(x.waiting[i]); n > fewWaiting && n > 2*left {
			x.waiting[i] = slices.DeleteFunc(x.waiting[i], func(e *batchEntry) bool { return e.keys[i] != nil })
		}
	}
}

// fillTree moves the waiting entries into the tree of an order.
func (x *inFlightIndex) fillTree(i int) {
	var buffer []byte
	for _, e := range x.waiting[i] {
		if e.keys[i] != nil {
			continue
		}
		e.keys[i] = make([]string, 0, len(e.operations))
		for j := range e.operations {
			key, ok, err := recovery.AppendVersion(buffer[:0], triple.Orders[i], e.operations[j].Key)
			buffer = key
			if err != nil || !ok {
				continue // it has no key in this order; it decodes, because that was checked on arrival
			}
			at := indexed{string(key), e}
			e.keys[i] = append(e.keys[i], at.key)
			x.trees[i].Set(at)
		}
	}
	x.waiting[i] = nil
}

// batchesIn returns the batches with an operation in r whose key passes, ascending by origin; nil passes all.
func (u *inFlight) batchesIn(r triple.Range, pass func(key string) bool) []Origin {
	if u.count.Load() == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	// 1. Search each order of the range. Stop when all entries are found.
	all := int(u.count.Load())
	seen := map[*batchEntry]struct{}{}
	var found []Origin
	u.eachIn(r, func(at indexed) bool {
		// An entry may have several keys in r, but its batch must be listed once.
		if _, ok := seen[at.entry]; !ok && (pass == nil || pass(at.key)) {
			seen[at.entry] = struct{}{}
			found = append(found, at.entry.origin)
		}
		return len(found) < all
	})
	// 2. Sort by origin, because callers rely on it.
	slices.SortFunc(found, compareOrigins)
	return found
}

// eachIn calls do for the keys of operations in r, until it returns false. The caller holds mu.
func (u *inFlight) eachIn(r triple.Range, do func(indexed) bool) {
	more := true
	for i, o := range triple.Orders {
		part := r.Intersect(triple.OrderRange(o))
		if part.Empty() || !more {
			continue
		}
		u.index.fillTree(i)
		hi := string(part.Hi)
		u.index.trees[i].Ascend(indexed{key: string(part.Lo)}, func(at indexed) bool {
			more = at.key >= hi || do(at)
			return more && at.key < hi
		})
	}
}

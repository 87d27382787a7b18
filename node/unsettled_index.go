package node

import (
	"slices"

	"github.com/tidwall/btree"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

const orderCount = len(triple.Orders)

// unsettledIndex finds entries by the keys of their operations. Each order has a
// tree of its own, which an entry enters when a range of that order is asked
// for: a machine that nobody reads derives no keys.
type unsettledIndex struct {
	trees   [orderCount]*btree.BTreeG[indexed]
	waiting [orderCount][]*unsettledEntry // not in the tree yet; some may be gone
}

// indexed is a key of an operation, and the entry that it is of.
type indexed struct {
	key   string
	entry *unsettledEntry // nil sorts before all entries of the key
}

func (x *unsettledIndex) init() {
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

func (x *unsettledIndex) add(e *unsettledEntry) {
	for i := range x.waiting {
		x.waiting[i] = append(x.waiting[i], e)
	}
}

// fewWaiting is how many entries may wait, gone ones among them, before these are
// sorted out.
const fewWaiting = 64

// remove removes an entry; so many are left.
func (x *unsettledIndex) remove(e *unsettledEntry, left int) {
	for i := range x.trees {
		for _, key := range e.keys[i] {
			x.trees[i].Delete(indexed{key, e})
		}
		if e.keys[i] == nil {
			// It waits. An empty list of keys says that it is gone.
			e.keys[i] = []string{}
		}
		if n := len(x.waiting[i]); n > fewWaiting && n > 2*left {
			x.waiting[i] = slices.DeleteFunc(x.waiting[i], func(e *unsettledEntry) bool { return e.keys[i] != nil })
		}
	}
}

// settleDown puts the entries that wait into the tree of an order.
func (x *unsettledIndex) settleDown(i int) {
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
				continue // it has none; that it decodes was tested when it came
			}
			at := indexed{string(key), e}
			e.keys[i] = append(e.keys[i], at.key)
			x.trees[i].Set(at)
		}
	}
	x.waiting[i] = nil
}

// in returns the batches that have an operation in r, ascending by origin.
func (u *unsettled) in(r triple.Range) []Origin {
	if u.count.Load() == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	all := int(u.count.Load())
	seen := map[*unsettledEntry]struct{}{}
	var found []Origin
	for i, o := range triple.Orders {
		part := r.Intersect(triple.OrderRange(o))
		if part.Empty() {
			continue
		}
		u.index.settleDown(i)
		hi := string(part.Hi)
		u.index.trees[i].Ascend(indexed{key: string(part.Lo)}, func(at indexed) bool {
			if at.key >= hi || len(found) == all {
				return false
			}
			if _, ok := seen[at.entry]; !ok {
				seen[at.entry] = struct{}{}
				found = append(found, at.entry.origin)
			}
			return true
		})
	}
	slices.SortFunc(found, compareOrigins)
	return found
}

// Who writes, reads, stamps and fills a triple in a joint layout.

package recovery

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Resolver answers what a [Joint] says of one triple after the other. It keeps
// its memory between them; one goroutine at a time may use it. What its methods
// return is valid until the next call of Resolve, and what Writes, Owes and Fills
// return until the next call of one of them.
type Resolver struct {
	joint        *Joint
	extrasFirst  bool // see Joint.extrasFirst
	keys         [len(triple.Orders)][]byte
	orders       int                             // how many keys there are: GSPO is last, for named graphs only
	found        [2][len(triple.Orders)]position // of the keys in base's trie and in target's
	base, target []Slot                          // target is base, or other
	other        []Slot
	slots        []Slot // of the last answer
}

// position is a segment that a key was found in.
type position struct {
	segment trie.Segment
	known   bool
}

// Resolve makes the triple that key, of any order, is a version of the one that
// is asked about. It keeps nothing of key. A walk in the order of the keys is
// quick: the segment of the row before is tried first. The error wraps
// [triple.ErrCorrupt].
func (r *Resolver) Resolve(key []byte) error {
	order, terms, err := triple.SplitKey(key)
	if err != nil {
		return err
	}
	orders := len(triple.Orders)
	if len(terms[triple.Graph]) == 0 {
		if order == triple.GSPO {
			return fmt.Errorf("%w: a key of gspo without a graph", triple.ErrCorrupt)
		}
		orders--
	}
	r.orders = orders
	for i, o := range triple.Orders[:r.orders] {
		r.keys[i] = appendKey(r.keys[i][:0], o, terms)
	}
	base, target := r.joint.Base, r.joint.Target
	r.locate(&r.found[0], base.Trie, order)
	r.base = r.appendSlots(r.base[:0], base, &r.found[0])
	r.target = r.base
	if !r.joint.joint() || target == base {
		return nil
	}
	found := &r.found[0]
	if target.Trie != base.Trie {
		found = &r.found[1]
		r.locate(found, target.Trie, order)
	}
	r.other = r.appendSlots(r.other[:0], target, found)
	r.target = r.other
	return nil
}

// locate finds the segments of the triple's keys. That in the order which is
// walked is often the one of the row before; those in the others seldom are.
func (r *Resolver) locate(found *[len(triple.Orders)]position, t *trie.Trie, walked triple.Order) {
	for i := range r.orders {
		p := &found[i]
		if p.known && triple.Orders[i] == walked && p.segment.Contains(r.keys[i]) {
			continue
		}
		p.segment, p.known = t.Lookup(r.keys[i]), true
	}
}

// appendSlots appends the slots under a layout, in the order of [Layout.Slots].
func (r *Resolver) appendSlots(dst []Slot, l Layout, found *[len(triple.Orders)]position) []Slot {
	for i := range r.orders {
		dst = append(dst, Slot{Machine: l.Placement.Owner(found[i].segment), Order: triple.Orders[i]})
	}
	return l.appendExtras(dst)
}

// Key returns the key of the triple in an order; nil where it has none: in GSPO,
// in the default graph.
func (r *Resolver) Key(o triple.Order) []byte {
	i := slices.Index(triple.Orders[:], o)
	if i < 0 || i >= r.orders {
		return nil
	}
	return r.keys[i]
}

// Writes returns the slots that must have an operation on the triple before it
// is settled: those of base that live and, while there is a target, those of
// target. No slot comes twice.
func (r *Resolver) Writes() []Slot {
	r.slots = r.slots[:0]
	for _, s := range r.base {
		if r.joint.BaseLive.Contains(s.Machine) {
			r.slots = append(r.slots, s)
		}
	}
	if r.joint.joint() {
		for _, s := range r.target {
			if r.joint.Members.Contains(s.Machine) && !slices.Contains(r.slots, s) {
				r.slots = append(r.slots, s)
			}
		}
	}
	return r.slots
}

// Sequencer returns the machine that stamps operations on the triple: the owner
// of SPO in base while that lives and is read, target's otherwise.
func (r *Resolver) Sequencer() (machine trie.MachineID, ok bool) {
	if m := r.base[0].Machine; r.joint.Phase != Serve && r.joint.BaseLive.Contains(m) {
		return m, true
	}
	m := r.target[0].Machine
	return m, r.joint.Members.Contains(m)
}

// Owes returns the slots of target that the backfill of machine from fills for this
// triple: those that its rows fill, see [Resolver.Fills].
func (r *Resolver) Owes(from trie.MachineID) []Slot {
	r.slots = r.slots[:0]
	for _, s := range r.target {
		if source, ok := r.source(s); ok && source.Machine == from {
			r.slots = append(r.slots, s)
		}
	}
	return r.slots
}

// Fills returns the slots of target that are filled with the row in slot from: each
// slot that is not live in base is filled from exactly one live slot of base, if one
// is left. The row of any other slot, such as one that a machine has left over from
// an earlier target, fills nothing.
func (r *Resolver) Fills(from Slot) []Slot {
	r.slots = r.slots[:0]
	for _, s := range r.target {
		if source, ok := r.source(s); ok && source == from {
			r.slots = append(r.slots, s)
		}
	}
	return r.slots
}

// source returns the live slot of base that fills a slot of target; ok is false if
// that needs no filling, or no slot of base lives. A version comes from the live
// owner of its order. Everything else comes from [Resolver.Repairer].
func (r *Resolver) source(s Slot) (from Slot, ok bool) {
	j := r.joint
	if !j.Members.Contains(s.Machine) || j.BaseLive.Contains(s.Machine) && slices.Contains(r.base, s) {
		return Slot{}, false
	}
	if !s.Extra {
		i := slices.IndexFunc(r.base, func(b Slot) bool { return b.Order == s.Order && !b.Extra })
		if i >= 0 && j.BaseLive.Contains(r.base[i].Machine) {
			return r.base[i], true
		}
	}
	return r.Repairer()
}

// Repairer returns the slot of base whose row makes up for the slots of target that
// have no live owner in base; ok is false if no slot of base lives: the triple is lost.
//
// The choice keeps down what [Joint.Backfill] must read. A version that moves is read
// in any case. If machines are dead, OSP is read as a whole, because it finds the lost
// rows of SPO and of POS; rows of POS then make up for the lost ranges of OSP alone,
// which are ranges of each predicate. If only the ring has changed, extra replicas come
// first, because those that change lie on a few machines.
func (r *Resolver) Repairer() (from Slot, ok bool) {
	live := &r.joint.BaseLive
	for _, i := range repairers {
		if b := r.base[i]; live.Contains(b.Machine) && r.target[i].Machine != b.Machine {
			return b, true
		}
	}
	if r.extrasFirst {
		if from, ok = r.liveExtra(); ok {
			return from, true
		}
	}
	for _, i := range repairers[:2] {
		if live.Contains(r.base[i].Machine) {
			return r.base[i], true
		}
	}
	if from, ok = r.liveExtra(); ok {
		return from, true
	}
	for i := range r.base { // SPO, and GSPO, which is no copy but may be the last one left
		if live.Contains(r.base[i].Machine) {
			return r.base[i], true
		}
	}
	return Slot{}, false
}

// repairers are the places of OSP, POS and SPO in the slots of a triple.
var repairers = [versions]int{2, 1, 0}

func (r *Resolver) liveExtra() (Slot, bool) {
	for _, b := range r.base {
		if b.Extra && r.joint.BaseLive.Contains(b.Machine) {
			return b, true
		}
	}
	return Slot{}, false
}

// Base and Target return the triple's slots in either layout.
func (r *Resolver) Base() []Slot { return r.base }

// Target: see [Resolver.Base].
func (r *Resolver) Target() []Slot { return r.target }

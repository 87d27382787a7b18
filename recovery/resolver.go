// The machines that stamp, write and fill one triple in a joint layout.

package recovery

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Resolver applies a [Joint] to one triple after the other. It reuses its memory, so only one
// goroutine at a time may use it. A result is valid until the next call of Resolve; a result
// of Writes, Owes and Fills only until the next call of one of these.
type Resolver struct {
	joint        *Joint
	extrasFirst  bool // see Joint.extrasFirst
	keys         [len(triple.Orders)][]byte
	orders       int                             // of keys in use: GSPO is last, and for named graphs only
	found        [2][len(triple.Orders)]position // of the keys in base's trie and in target's
	base, target []Place                         // target is base, or other
	other        []Place
	places       []Place // of the last answer
}

// position is the segment of a key, if it is known.
type position struct {
	segment trie.Segment
	known   bool
}

// Resolve selects the triple for the other methods; key is its row in any order, and is not
// kept. If keys ascend, it is quick, because it tries the segment of the key before first.
// The error wraps [triple.ErrCorrupt].
func (r *Resolver) Resolve(key []byte) error {
	order, terms, err := triple.SplitKey(key)
	if err != nil {
		return err
	}
	// 1. The keys of the triple in all orders.
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
	// 2. The places under base, and under target if that differs.
	base, target := r.joint.Base, r.joint.Target
	r.locate(&r.found[0], base.Trie, order)
	r.base = r.appendPlaces(r.base[:0], base, &r.found[0])
	r.target = r.base
	if !r.joint.joint() || target == base {
		return nil
	}
	found := &r.found[0]
	if target.Trie != base.Trie {
		found = &r.found[1]
		r.locate(found, target.Trie, order)
	}
	r.other = r.appendPlaces(r.other[:0], target, found)
	r.target = r.other
	return nil
}

// locate finds the segments of the triple's keys. In the walked order the segment is often
// that of the key before; in the other orders it seldom is.
func (r *Resolver) locate(found *[len(triple.Orders)]position, t *trie.Trie, walked triple.Order) {
	for i := range r.orders {
		p := &found[i]
		if p.known && triple.Orders[i] == walked && p.segment.Contains(r.keys[i]) {
			continue
		}
		p.segment, p.known = t.Lookup(r.keys[i]), true
	}
}

// appendPlaces appends the places under a layout, in the sequence of [Layout.Places].
func (r *Resolver) appendPlaces(dst []Place, l Layout, found *[len(triple.Orders)]position) []Place {
	for i := range r.orders {
		dst = append(dst, Place{Machine: l.Placement.Owner(found[i].segment), Order: triple.Orders[i]})
	}
	return l.appendExtras(dst)
}

// Key returns the key of the triple in an order, nil if it has none there: a triple of the
// default graph is not in GSPO.
func (r *Resolver) Key(o triple.Order) []byte {
	i := slices.Index(triple.Orders[:], o)
	if i < 0 || i >= r.orders {
		return nil
	}
	return r.keys[i]
}

// Writes returns the places that must have an operation on the triple before it is committed:
// the live places of base and, if there is another target, those of target. No place comes
// twice.
func (r *Resolver) Writes() []Place {
	r.places = r.places[:0]
	for _, s := range r.base {
		if r.joint.BaseLive.Contains(s.Machine) {
			r.places = append(r.places, s)
		}
	}
	if r.joint.joint() {
		for _, s := range r.target {
			if r.joint.Members.Contains(s.Machine) && !slices.Contains(r.places, s) {
				r.places = append(r.places, s)
			}
		}
	}
	return r.places
}

// Sequencer returns the machine that stamps operations on the triple: the owner of SPO in base
// while it lives and base is read, and the owner in target otherwise.
func (r *Resolver) Sequencer() (machine trie.MachineID, ok bool) {
	if m := r.base[0].Machine; r.joint.Phase != Serve && r.joint.BaseLive.Contains(m) {
		return m, true
	}
	m := r.target[0].Machine
	return m, r.joint.Members.Contains(m)
}

// Confirms returns the machine that the sequencer asks before it stamps, whether it is still in the epoch of the
// view and has a lease. needed is false if the sequencer queries nobody.
//
// Two epochs overlap, because machines adopt a view one after the other. An operation of the later one is not
// committed before each live place of base has adopted it, because base stays the same until it is replaced by
// the target. So if the sequencer has such a place, or the target is read, it has left the earlier epoch by then.
// Otherwise its owner in base is dead, and the target may have changed without the sequencer. It could then stamp
// an operation lower than one that its client has seen. The machine that it asks has a place in base; if none
// lives, machine is 0, and all members must be queried.
func (r *Resolver) Confirms() (machine trie.MachineID, needed bool) {
	sequencer, ok := r.Sequencer()
	if !ok || r.joint.Phase == Serve {
		return 0, false
	}
	for _, s := range r.base {
		switch {
		case !r.joint.BaseLive.Contains(s.Machine):
		case s.Machine == sequencer:
			return 0, false
		case machine == 0:
			machine = s.Machine
		}
	}
	return machine, true
}

// OwedPlaces returns the places of target that the backfill of machine from must fill for the
// triple; see [Resolver.Fills].
func (r *Resolver) OwedPlaces(from trie.MachineID) []Place {
	r.places = r.places[:0]
	for _, s := range r.target {
		if source, ok := r.source(s); ok && source.Machine == from {
			r.places = append(r.places, s)
		}
	}
	return r.places
}

// Fills returns the places of target that the row in place from must fill. Each place that is
// not live in base is filled from exactly one live place of base, if one is left. Any other
// row fills nothing, for example one left over from an earlier target.
func (r *Resolver) Fills(from Place) []Place {
	r.places = r.places[:0]
	for _, s := range r.target {
		if source, ok := r.source(s); ok && source == from {
			r.places = append(r.places, s)
		}
	}
	return r.places
}

// source returns the live place of base that fills a place of target. ok is false if the place
// is full already, or if no place of base lives. A row comes from the live owner of its order.
// Everything else comes from [Resolver.Repairer].
func (r *Resolver) source(s Place) (from Place, ok bool) {
	j := r.joint
	if !j.Members.Contains(s.Machine) || j.BaseLive.Contains(s.Machine) && slices.Contains(r.base, s) {
		return Place{}, false
	}
	if !s.Extra {
		i := slices.IndexFunc(r.base, func(b Place) bool { return b.Order == s.Order && !b.Extra })
		if i >= 0 && j.BaseLive.Contains(r.base[i].Machine) {
			return r.base[i], true
		}
	}
	return r.Repairer()
}

// Repairer returns the place of base whose row fills the places of target without a live owner
// in base. ok is false if no place of base lives: the triple is lost.
//
// The choice must keep the ranges of [Joint.Backfill] small:
//
//  1. A row that moves is read in any case.
//  2. If only the ring has changed, extra replicas come next, because those that change are
//     on few machines.
//  3. If machines are down, OSP is read as a whole, because it has the lost rows of SPO and
//     POS. POS then repairs only the lost ranges of OSP.
func (r *Resolver) Repairer() (from Place, ok bool) {
	live := &r.joint.BaseLive
	// 1. A row that moves.
	for _, i := range repairers {
		if b := r.base[i]; live.Contains(b.Machine) && r.target[i].Machine != b.Machine {
			return b, true
		}
	}
	// 2. An extra replica, if only the ring has changed.
	if r.extrasFirst {
		if from, ok = r.liveExtra(); ok {
			return from, true
		}
	}
	// 3. Any live row: OSP, then POS, then an extra replica, then the rest. GSPO is no copy, but
	// may be the last row left.
	for _, i := range repairers[:2] {
		if live.Contains(r.base[i].Machine) {
			return r.base[i], true
		}
	}
	if from, ok = r.liveExtra(); ok {
		return from, true
	}
	for i := range r.base {
		if live.Contains(r.base[i].Machine) {
			return r.base[i], true
		}
	}
	return Place{}, false
}

// repairers are the indexes of OSP, POS and SPO in the places of a triple.
var repairers = [fullOrders]int{2, 1, 0}

// liveExtra returns the first live extra replica of base.
func (r *Resolver) liveExtra() (Place, bool) {
	for _, b := range r.base {
		if b.Extra && r.joint.BaseLive.Contains(b.Machine) {
			return b, true
		}
	}
	return Place{}, false
}

// Base returns the places of the triple under base.
func (r *Resolver) Base() []Place { return r.base }

// Target returns the places of the triple under target.
func (r *Resolver) Target() []Place { return r.target }

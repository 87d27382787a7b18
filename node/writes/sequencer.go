package writes

import (
	"bytes"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/triple"
)

// This file is how operations get their stamps: one group after the other, by
// one goroutine.

// sequence stamps what is submitted until the queue is closed.
func (w *Writes) sequence() {
	for {
		group := w.queue.take()
		if len(group) == 0 {
			return
		}
		w.stampGroup(group)
	}
}

// enter keeps the adopted view from changing until leave is called.
func (w *Writes) enter() (v *view.View, leave func(), err error) {
	for {
		v = w.cluster.View()
		if leave, err = w.cluster.Enter(v.Epoch); err == nil {
			return v, leave, nil
		}
		if w.cluster.View() == v {
			return nil, nil, err
		}
	}
}

// stampGroup stamps a group of requests, or refuses them, within the gate.
func (w *Writes) stampGroup(group []*request) {
	v, leave, err := w.enter()
	if err != nil {
		w.refuseAll(group, err)
		return
	}
	defer leave()
	if err := w.cluster.Lease(); err != nil {
		w.refuseAll(group, noLease(v, err))
		return
	}
	group = slices.DeleteFunc(group, func(r *request) bool {
		err := w.admit(v, r)
		switch {
		case err != nil:
			w.refuseAll([]*request{r}, err)
		case r.full != 0:
			w.drop(r, nil)
		}
		return err != nil || r.full != 0
	})
	if len(group) == 0 {
		return
	}
	g, err := w.lookUp(v, group)
	if err != nil {
		w.refuseAll(group, refuse(peer.CodeUnavailable, v.Epoch, "look-up: %v", err))
		return
	}
	if err := w.remember(g); err != nil {
		w.refuseAll(group, refuse(peer.CodeUnavailable, v.Epoch, "look up tokens: %v", err))
		return
	}
	if g = w.withdraw(g); len(g.requests) == 0 {
		return
	}
	group = g.requests
	// What was found is what there is only if nobody else could have stamped by
	// the time of the look-up.
	if err := w.cluster.Lease(); err != nil {
		w.refuseAll(group, noLease(v, err))
		return
	}
	w.mu.Lock()
	free := w.stamp(g)
	w.mu.Unlock()
	w.room.give(free)
	for _, r := range group {
		r.finish(nil)
	}
}

func noLease(v *view.View, err error) error {
	return refuse(peer.CodeLease, v.Epoch, "%v", err)
}

func (w *Writes) refuseAll(group []*request, err error) {
	var refusal *peer.Refusal
	if !errors.As(err, &refusal) { // of a kind that does not cross the wire
		refusal = refuse(peer.CodeUnavailable, 0, "%v", err)
	}
	for _, r := range group {
		w.drop(r, refusal)
	}
}

// drop answers a request of which nothing is done; where err is nil, it says why.
func (w *Writes) drop(r *request, err error) {
	w.stats.refused.Add(int64(len(r.operations)))
	w.room.give(r.size)
	r.finish(err)
}

// admit checks that a request is for this machine, and notes in it whose disk is
// full.
func (w *Writes) admit(v *view.View, r *request) error {
	if r.route.view != v && named(r.operations) {
		return wrongEpoch(v) // other machines may remember more than was asked
	}
	if r.route.view != v {
		route, err := newRoute(v, w.self, r.operations)
		if err != nil {
			return malformed(err)
		}
		r.route = route
	}
	if i := r.route.foreign; i >= 0 {
		return refuse(peer.CodeNotOwner, v.Epoch, "machine %s is not the sequencer of operation %d", w.self, i)
	}
	r.full = w.lacksRoom(r)
	return nil
}

// finding is what is known of a triple when its operations are stamped.
type finding struct {
	live  bool
	stamp triple.Stamp // of the version or tombstone; zero where there is none
	// certain: it may be answered with, once rests is settled, where that is set.
	certain bool
	rests   *batch
}

// grouped is a group of requests with what was found.
type grouped struct {
	view     *view.View
	requests []*request
	findings []finding
	done     []bool  // operation i was done before; nil if none has a token
	pending  []bool  // operation i was left unsettled by another sequencer
	of       []int32 // operation i, of all requests in a row, has findings[of[i]]
}

// lookUp finds the states of the triples of a group.
func (w *Writes) lookUp(v *view.View, group []*request) (*grouped, error) {
	g := &grouped{view: v, requests: group}
	type item struct {
		key  []byte
		at   int32
		full bool
	}
	var items []item
	for _, r := range group {
		for i := range r.operations {
			items = append(items, item{r.operations[i].Key, int32(len(items)), r.route.full[i]})
		}
	}
	g.of = make([]int32, len(items))
	slices.SortFunc(items, func(a, b item) int { return bytes.Compare(a.key, b.key) })
	// First what is in flight, then what is stored: what is settled meanwhile is in
	// the store.
	var keys [][]byte
	var asked []int32 // keys[i] is of findings[asked[i]]
	w.mu.Lock()
	for i, it := range items {
		if i == 0 || !bytes.Equal(it.key, items[i-1].key) {
			f := finding{certain: it.full}
			s := w.keys[string(it.key)]
			if s != nil && s.newest != nil && s.stamp.Epoch == v.Epoch { // newer than what was handed over
				f = finding{live: s.live, stamp: s.stamp, certain: true, rests: s.newest}
			} else {
				f.certain = f.certain && s == nil
				asked = append(asked, int32(len(g.findings)))
				keys = append(keys, it.key)
			}
			g.findings = append(g.findings, f)
		}
		g.of[it.at] = int32(len(g.findings) - 1)
	}
	w.mu.Unlock()
	if len(keys) == 0 {
		return g, nil
	}
	states, err := w.store.States(w.ctx, keys)
	if err != nil {
		return nil, err
	}
	foreign := w.foreign(v)
	for i, s := range states {
		f := &g.findings[asked[i]]
		f.live, f.stamp = s.Live, s.Stamp
		if s.Exists && s.Stamp.Epoch < v.Epoch && foreign[string(keys[i])] {
			f.certain = false
		}
	}
	return g, nil
}

// remember finds which operations of a group were done before under their tokens. It
// drops requests of which another sequencer has left something unsettled: that is not
// known to be done yet.
func (w *Writes) remember(g *grouped) error {
	var tokens []node.Token
	for _, r := range g.requests {
		for i := range r.operations {
			tokens = append(tokens, r.operations[i].Token)
		}
	}
	if !slices.ContainsFunc(tokens, func(t node.Token) bool { return t != node.Token{} }) {
		return nil
	}
	// First what is in flight, then what is stored: what is settled meanwhile is there.
	g.done = make([]bool, len(tokens))
	w.mu.Lock()
	for at, t := range tokens {
		g.done[at] = w.tokens[t] != nil
	}
	w.mu.Unlock()
	stored, err := w.store.HasTokens(tokens)
	if err != nil {
		return err
	}
	foreign := w.foreignTokens()
	at := 0
	for _, r := range g.requests {
		for i := range r.operations {
			g.pending = append(g.pending, foreign[tokens[at]])
			g.done[at] = g.done[at] || stored[at] || r.known != nil && r.known[i]
			at++
		}
	}
	return nil
}

// withdraw drops the requests of which something is pending, and returns the others.
func (w *Writes) withdraw(g *grouped) *grouped {
	if !slices.Contains(g.pending, true) {
		return g
	}
	kept := &grouped{view: g.view, findings: g.findings}
	at := 0
	for _, r := range g.requests {
		n := at + len(r.operations)
		if slices.Contains(g.pending[at:n], true) {
			w.drop(r, refuse(peer.CodeUnavailable, g.view.Epoch, "what an earlier try of the request has left is being taken over"))
		} else {
			kept.requests = append(kept.requests, r)
			kept.done = append(kept.done, g.done[at:n]...)
			kept.of = append(kept.of, g.of[at:n]...)
		}
		at = n
	}
	return kept
}

// foreignTokens returns the tokens of operations in this machine's list of what is not
// settled that others have stamped.
func (w *Writes) foreignTokens() map[node.Token]bool {
	var tokens map[node.Token]bool
	for _, b := range w.store.UnsettledBatches() {
		if w.mine(b.Origin) {
			continue
		}
		for i := range b.Operations {
			if t := b.Operations[i].Token; t != (node.Token{}) {
				if tokens == nil {
					tokens = map[node.Token]bool{}
				}
				tokens[t] = true
			}
		}
	}
	return tokens
}

// foreign returns the keys of operations in this machine's list of what is not
// settled that others have stamped before this epoch. In this epoch only this
// machine stamps what it is the sequencer of. Call it after the look-up: a batch
// is in the list before its rows can be seen.
func (w *Writes) foreign(v *view.View) map[string]bool {
	var keys map[string]bool
	for _, b := range w.store.UnsettledBatches() {
		if w.mine(b.Origin) {
			continue
		}
		for i := range b.Operations {
			if o := &b.Operations[i]; o.Stamp.Epoch < v.Epoch && o.Note == nil {
				if keys == nil {
					keys = map[string]bool{}
				}
				keys[string(o.Key)] = true
			}
		}
	}
	return keys
}

func (w *Writes) mine(o node.Origin) bool {
	return o.Sequencer == w.self && o.Incarnation == w.incarnation
}

// stamp gives stamps to the operations of g that need one, and sends them; it
// returns how many bytes the others have used. The caller holds mu.
func (w *Writes) stamp(g *grouped) (free int64) {
	b := newBatch()
	var sets []holders
	var of []uint32
	index := map[holders]uint32{}
	at := 0
	for _, r := range g.requests {
		for i := range r.operations {
			o := r.operations[i]
			f := &g.findings[g.of[at]]
			before := g.done != nil && g.done[at]
			at++
			if on := w.tokens[o.Token]; on != nil {
				r.await(on)
				before = true
			}
			if before {
				r.unchanged++
				free += size(&o)
				continue
			}
			adds := o.Kind == node.OperationAdd
			switch {
			case o.Note != nil:
				if !r.found(&o, f) {
					free += size(&o)
					continue
				}
				b.unsure = b.unsure || !f.certain
			case o.Kind == node.OperationClaim:
				r.changed++
			case f.live == adds:
				r.unchanged++
			default:
				r.changed++
			}
			if o.Note == nil && o.Kind != node.OperationClaim && f.live == adds && f.certain {
				if f.rests != nil {
					r.await(f.rests)
				}
				w.stats.unchanged.Add(1)
				free += size(&o)
				continue
			}
			w.era.sequence++
			o.Stamp = triple.Stamp{Epoch: g.view.Epoch, Sequence: w.era.sequence}
			b.operations = append(b.operations, o)
			b.size += size(&o)
			set := r.route.sets[r.route.of[i]]
			n, ok := index[set]
			if !ok {
				n = uint32(len(sets))
				index[set] = n
				sets = append(sets, set)
			}
			of = append(of, n)
			if o.Token != (node.Token{}) {
				w.tokens[o.Token] = b
			}
			if o.Note == nil && o.Kind != node.OperationClaim {
				*f = finding{live: adds, stamp: o.Stamp, certain: true, rests: b}
			}
			r.await(b)
		}
	}
	if len(b.operations) == 0 {
		return free
	}
	w.track(b)
	w.stats.operations.Add(int64(len(b.operations)))
	w.stats.batches.Add(1)
	w.send(b, split(b.operations, sets, of))
	return free
}

// The sequencer: it stamps one group of requests after the other, in one goroutine.

package writes

import (
	"bytes"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// sequence stamps the submitted requests until the queue is closed.
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
		v = w.member.View()
		if leave, err = w.member.Enter(v.Epoch); err == nil {
			return v, leave, nil
		}
		if w.member.View() == v {
			return nil, nil, err
		}
	}
}

// stampGroup stamps a group of requests, or refuses them.
//
// It must stay within the gate throughout, because the route of a batch must follow the adopted
// view. It checks the lease before the look-up and after it, because the result of the look-up is
// only complete if no other sequencer could stamp meanwhile.
func (w *Writes) stampGroup(group []*request) {
	v, leave, err := w.enter()
	if err != nil {
		w.refuseAll(group, err)
		return
	}
	defer leave()
	if err := w.member.Lease(); err != nil {
		w.refuseAll(group, noLease(v, err))
		return
	}
	// 1. Refuse requests for other sequencers and those without room.
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
	// 2. Look up the triples, and the tokens of retries.
	g, err := w.lookUp(v, group)
	if err != nil {
		w.refuseAll(group, peer.Refuse(peer.CodeUnavailable, v.Epoch, "look-up: %v", err))
		return
	}
	if err := w.remember(g); err != nil {
		w.refuseAll(group, peer.Refuse(peer.CodeUnavailable, v.Epoch, "look up tokens: %v", err))
		return
	}
	if g = w.withdraw(g); len(g.requests) == 0 {
		return
	}
	group = g.requests
	// 3. Stamp and send. The lease must still run.
	if err := w.member.Lease(); err != nil {
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

// noLease returns the refusal of a request without a lease.
func noLease(v *view.View, err error) error {
	return peer.Refuse(peer.CodeLease, v.Epoch, "%v", err)
}

// refuseAll refuses all requests of a group.
func (w *Writes) refuseAll(group []*request, err error) {
	var refusal *peer.Refusal
	if !errors.As(err, &refusal) { // only refusals keep their code on the wire
		refusal = peer.Refuse(peer.CodeUnavailable, 0, "%v", err)
	}
	for _, r := range group {
		w.drop(r, refusal)
	}
}

// drop answers a request without doing it. If err is nil, the request has the reason.
func (w *Writes) drop(r *request, err error) {
	w.stats.refused.Add(int64(len(r.operations)))
	w.room.give(r.size)
	r.finish(err)
}

// admit rejects a request if this machine is not its sequencer. If a holder has a full disk,
// admit records it in the request.
func (w *Writes) admit(v *view.View, r *request) error {
	if r.route.view != v && named(r.operations) {
		return wrongEpoch(v) // members of this view were not asked for its tokens
	}
	if r.route.view != v {
		route, err := newRoute(v, w.self.Machine, r.operations)
		if err != nil {
			return malformed(err)
		}
		r.route = route
	}
	if i := r.route.foreign; i >= 0 {
		return peer.Refuse(peer.CodeNotOwner, v.Epoch, "machine %s is not the sequencer of operation %d", w.self.Machine, i)
	}
	r.full = w.lacksRoom(r)
	return nil
}

// finding is the state of a triple when its operations are stamped.
type finding struct {
	live  bool
	stamp triple.Stamp // of the row or tombstone; zero if there is none
	// certain is true if an answer may rely on the finding. If rests is set, it must be
	// committed before the answer.
	certain bool
	rests   *batch
}

// grouped is a group of requests with the state of their triples.
type grouped struct {
	view     *view.View
	requests []*request
	findings []finding
	done     []bool  // operation i was done before; nil if none has a token
	pending  []bool  // operation i is in flight from another sequencer
	of       []int32 // findings[of[i]] is for operation i, counted over all requests
}

// lookUp finds the states of the triples of a group.
func (w *Writes) lookUp(v *view.View, group []*request) (*grouped, error) {
	g := &grouped{view: v, requests: group}
	type item struct {
		key  []byte
		at   int32
		full bool
	}
	// 1. Sort the operations by key, because each triple must be looked up once.
	var items []item
	for _, r := range group {
		for i := range r.operations {
			items = append(items, item{r.operations[i].Key, int32(len(items)), r.route.full[i]})
		}
	}
	g.of = make([]int32, len(items))
	slices.SortFunc(items, func(a, b item) int { return bytes.Compare(a.key, b.key) })
	// 2. The operations in flight must come before the stored rows: if an operation is committed
	// in between, it is in the store.
	var keys [][]byte
	var asked []int32 // keys[i] is of findings[asked[i]]
	w.mu.Lock()
	for i, it := range items {
		if i == 0 || !bytes.Equal(it.key, items[i-1].key) {
			f := finding{certain: it.full}
			s := w.keys[string(it.key)]
			if s != nil && s.newest != nil && s.stamp.Epoch == v.Epoch { // newer than any handed over
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
	// 3. The stored rows. A row from before this epoch is not certain if another sequencer has
	// an operation in flight on it.
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

// remember marks the operations of a group if they were done before under their tokens. It also
// marks those in flight from another sequencer, because their outcome is not known yet.
func (w *Writes) remember(g *grouped) error {
	// 1. The tokens of all operations; most requests have none.
	var tokens []store.Token
	for _, r := range g.requests {
		for i := range r.operations {
			tokens = append(tokens, r.operations[i].Token)
		}
	}
	if !slices.ContainsFunc(tokens, func(t store.Token) bool { return t != store.Token{} }) {
		return nil
	}
	// 2. Those in flight must come before the stored ones: if an operation is committed in
	// between, it is in the store.
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

// withdraw refuses the requests with a pending operation, and returns the others.
func (w *Writes) withdraw(g *grouped) *grouped {
	if !slices.Contains(g.pending, true) {
		return g
	}
	kept := &grouped{view: g.view, findings: g.findings}
	at := 0
	for _, r := range g.requests {
		n := at + len(r.operations)
		if slices.Contains(g.pending[at:n], true) {
			w.drop(r, peer.Refuse(peer.CodeUnavailable, g.view.Epoch, "an earlier try of the request is not settled yet: its operations are being taken over"))
		} else {
			kept.requests = append(kept.requests, r)
			kept.done = append(kept.done, g.done[at:n]...)
			kept.of = append(kept.of, g.of[at:n]...)
		}
		at = n
	}
	return kept
}

// foreignTokens returns the tokens of operations in flight on this machine with the stamps of
// other sequencers.
func (w *Writes) foreignTokens() map[store.Token]bool {
	var tokens map[store.Token]bool
	for _, b := range w.store.UnsettledBatches() {
		if sequencerOf(b.Origin) == w.self {
			continue
		}
		for i := range b.Operations {
			if t := b.Operations[i].Token; t != (store.Token{}) {
				if tokens == nil {
					tokens = map[store.Token]bool{}
				}
				tokens[t] = true
			}
		}
	}
	return tokens
}

// foreign returns the keys of operations in flight on this machine if other sequencers stamped
// them before this epoch. In this epoch only this machine stamps their triples. It must be called
// after the look-up, because a batch is in the list before its rows are visible.
func (w *Writes) foreign(v *view.View) map[string]bool {
	var keys map[string]bool
	for _, b := range w.store.UnsettledBatches() {
		if sequencerOf(b.Origin) == w.self {
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

// sequencerOf returns the process of the sequencer of a batch.
func sequencerOf(o replica.Origin) member.Process {
	return member.Process{Machine: o.Sequencer, Incarnation: o.Incarnation}
}

// stamp stamps the operations of g if they need it, and sends them. It returns the bytes of the
// others, because they are free again. The caller must hold mu.
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
			// 1. A retry: the operation was done, or is in flight.
			if on := w.tokens[o.Token]; on != nil {
				r.await(on)
				before = true
			}
			if before {
				r.unchanged++
				free += size(&o)
				continue
			}
			// 2. Count it, and check the triple of an annotation.
			adds := o.Kind == store.OperationAdd
			switch {
			case o.Note != nil:
				if !r.found(&o, f) {
					free += size(&o)
					continue
				}
				b.unsure = b.unsure || !f.certain
			case o.Kind == store.OperationClaim:
				r.changed++
			case f.live == adds:
				r.unchanged++
			default:
				r.changed++
			}
			// 3. It certainly changes nothing: the answer must wait for the batch it relies on.
			if o.Note == nil && o.Kind != store.OperationClaim && f.live == adds && f.certain {
				if f.rests != nil {
					r.await(f.rests)
				}
				w.stats.unchanged.Add(1)
				free += size(&o)
				continue
			}
			// 4. Stamp it, and remember it for the operations after it.
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
			if o.Token != (store.Token{}) {
				w.tokens[o.Token] = b
			}
			if o.Note == nil && o.Kind != store.OperationClaim {
				*f = finding{live: adds, stamp: o.Stamp, certain: true, rests: b}
			}
			r.await(b)
		}
	}
	if len(b.operations) == 0 {
		return free
	}
	// 5. Send the batch.
	w.track(b)
	w.stats.operations.Add(int64(len(b.operations)))
	w.stats.batches.Add(1)
	w.send(b, split(b.operations, sets, of))
	return free
}

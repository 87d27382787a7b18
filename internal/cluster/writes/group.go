// A group of requests for the sequencer: the state of their triples, and their stamps.

package writes

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// finding is the state of a triple when its operations are stamped.
type finding struct {
	live  bool
	stamp triple.Stamp // of the row or tombstone; zero if there is none
	// certain is true if an answer may rely on the finding. If pending is set, it must be
	// committed before the answer.
	certain   bool
	pending   *batch
	annotated *batch // of the newest annotation in flight, nil if there is none
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

// lookUpItem is an operation of a group, for the look-up of its triple.
type lookUpItem struct {
	key       []byte
	operation int32 // counted over all requests
	full      bool  // the SPO place of the triple on this machine is full
}

// lookUp finds the states of the triples of a group.
func (sq *sequencer) lookUp(v *view.View, group []*request) (*grouped, error) {
	g := &grouped{view: v, requests: group}
	// 1. Sort the operations by key, because each triple must be looked up once.
	var items []lookUpItem
	for _, r := range group {
		for i := range r.operations {
			items = append(items, lookUpItem{r.operations[i].Key, int32(len(items)), r.route.full[i]})
		}
	}
	g.of = make([]int32, len(items))
	slices.SortFunc(items, func(a, b lookUpItem) int { return bytes.Compare(a.key, b.key) })
	// 2. The operations in flight must come before the stored rows: if an operation is committed
	// in between, it is in the store.
	keys, rest := sq.flight.find(g, items)
	if err := sq.lookUpAnnotations(group); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return g, nil
	}
	// 3. The stored rows. A row from before this epoch is not certain if another sequencer has
	// an operation in flight on it.
	states, err := sq.store.States(sq.ctx, keys)
	if err != nil {
		return nil, err
	}
	foreign := sq.foreign(v)
	for i, s := range states {
		f := &g.findings[rest[i]]
		f.live, f.stamp = s.Live, s.Stamp
		if s.Exists && s.Stamp.Epoch < v.Epoch && foreign[string(keys[i])] {
			f.certain = false
		}
	}
	return g, nil
}

// find makes the findings of a group if operations of this epoch are in flight. It returns the
// keys of the other triples; keys[i] is of findings[rest[i]]. The items must be sorted by key.
func (fl *inFlight) find(g *grouped, items []lookUpItem) (keys [][]byte, rest []int32) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for i, it := range items {
		if i == 0 || !bytes.Equal(it.key, items[i-1].key) {
			f := finding{certain: it.full}
			s := fl.keys[string(it.key)]
			if s != nil && s.newest != nil && s.stamp.Epoch == g.view.Epoch { // newer than any handed over
				f = finding{live: s.live, stamp: s.stamp, certain: true, pending: s.newest}
			} else {
				f.certain = f.certain && (s == nil || s.newest == nil && len(s.handed) == 0)
				rest = append(rest, int32(len(g.findings)))
				keys = append(keys, it.key)
			}
			if s != nil {
				f.annotated = s.annotated
			}
			g.findings = append(g.findings, f)
		}
		g.of[it.operation] = int32(len(g.findings) - 1)
	}
	return keys, rest
}

// foreign returns the keys of operations in flight on this machine if other sequencers stamped
// them before this epoch. In this epoch only this machine stamps their triples. It must be called
// after the look-up, because a batch is in the list before its rows are visible.
func (sq *sequencer) foreign(v *view.View) map[string]bool {
	var keys map[string]bool
	for _, b := range sq.store.InFlightBatches() {
		if sequencerOf(b.Origin) == sq.self {
			continue
		}
		for i := range b.Operations {
			if o := &b.Operations[i]; o.Stamp.Epoch < v.Epoch && o.Annotation == nil {
				if keys == nil {
					keys = map[string]bool{}
				}
				keys[string(o.Key)] = true
			}
		}
	}
	return keys
}

// remember marks the operations of a group if they were done before under their tokens. It also
// marks those in flight from another sequencer that are not taken over, because their outcome is not known yet.
func (sq *sequencer) remember(g *grouped) error {
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
	states := sq.flight.tokenStates(tokens)
	stored, err := sq.store.HasTokens(tokens)
	if err != nil {
		return err
	}
	foreign := sq.tokens.foreignTokens()
	at := 0
	for _, r := range g.requests {
		for i := range r.operations {
			known := states[at] != tokenUnknown || r.known != nil && r.known[i]
			g.pending = append(g.pending, foreign[tokens[at]] && !known)
			g.done = append(g.done, known || stored[at])
			at++
		}
	}
	return nil
}

// withdraw refuses the requests with a pending operation, and returns the others.
func (sq *sequencer) withdraw(g *grouped) *grouped {
	if !slices.Contains(g.pending, true) {
		return g
	}
	kept := &grouped{view: g.view, findings: g.findings}
	at := 0
	for _, r := range g.requests {
		n := at + len(r.operations)
		if slices.Contains(g.pending[at:n], true) {
			sq.drop(r, peer.Refuse(peer.CodeUnavailable, g.view.Epoch, "an earlier try of the request is not settled yet: its operations are being taken over"))
		} else {
			kept.requests = append(kept.requests, r)
			kept.done = append(kept.done, g.done[at:n]...)
			kept.of = append(kept.of, g.of[at:n]...)
		}
		at = n
	}
	return kept
}

// stamp stamps the operations of g if they need it, and sends them. It returns the bytes of the
// others, because they are free again.
func (fl *inFlight) stamp(g *grouped) (free int64) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	b := newBatch()
	var sets []holders
	var of []uint32
	index := map[holders]uint32{}
	at := 0
	for _, r := range g.requests {
		b.origin, b.part, b.forwarded = cmp.Or(b.origin, r.origin), r.part, r.forwards // these are alone in their groups
		first := len(b.operations)
		for i := range r.operations {
			o := r.operations[i]
			f := &g.findings[g.of[at]]
			before := g.done != nil && g.done[at]
			at++
			// 1. A retry: the operation was done, or is in flight.
			if on := fl.tokens[o.Token]; on != nil {
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
			case o.Annotation != nil:
				if !r.found(g.view, &o, f) {
					free += size(&o)
					continue
				}
				b.unsure = b.unsure || !f.certain
			case o.Kind == store.OperationClaim:
				r.changed++
			case f.live == adds:
				r.unchanged++
			default:
				if r.changed++; !adds {
					r.removed++
				}
			}
			// 3. It certainly changes nothing: the answer must wait for the batch it relies on.
			// One of several operations is stamped all the same if that batch is in flight, because all must be visible
			// at one tick, and if there is a record, because forwarding it would do what has left no token.
			rests := f.pending == nil || f.pending == b || len(r.operations) == 1 && r.part == nil
			if o.Annotation == nil && o.Kind != store.OperationClaim && f.live == adds && f.certain && rests && len(r.record) == 0 {
				if f.pending != nil {
					r.await(f.pending)
				}
				fl.stats.unchanged.Add(1)
				free += size(&o)
				continue
			}
			// 4. Stamp it, and remember it for the operations after it.
			fl.era.sequence++
			o.Stamp = triple.Stamp{Epoch: g.view.Epoch, Sequence: fl.era.sequence}
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
				fl.tokens[o.Token] = b
			}
			b.follow(f.pending)
			switch {
			case o.Annotation != nil:
				f.annotated = b
				if r.version = o.Stamp; o.Annotation.Removed {
					r.version = triple.Stamp{}
				}
			case o.Kind != store.OperationClaim:
				*f = finding{live: adds, stamp: o.Stamp, certain: true, pending: b, annotated: f.annotated}
			}
			r.await(b)
		}
		// 5. The record follows its operations, and goes where they go (split).
		if len(r.record) > 0 && len(b.operations) > first {
			fl.era.sequence++
			stamp := triple.Stamp{Epoch: g.view.Epoch, Sequence: fl.era.sequence}
			o := replica.Operation{Kind: store.OperationRecord, Stamp: stamp, Key: b.operations[first].Key, Long: r.record}
			b.operations, of = append(b.operations, o), append(of, of[first]) // b.size is without it, as that of the request
		}
	}
	switch e := fl.era; {
	case len(b.operations) > 0:
	case b.part != nil:
		part := *b.part
		g.requests[0].await(b) // because the oracle drops a transaction when its coordinator has finished it
		fl.running.Go(func() { fl.joinUnchanged(e, part, b) })
		return free
	default:
		return free
	}
	// 6. Send the batch.
	fl.track(b, fl.era.view.Phase == recovery.Idle)
	fl.stats.operations.Add(int64(len(b.operations)))
	fl.stats.batches.Add(1)
	fl.send(b, split(b.operations, sets, of))
	return free
}

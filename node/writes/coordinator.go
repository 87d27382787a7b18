package writes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Write adds or deletes triples, as [node.Store.Add] and [node.Store.Delete] do:
// changed are the triples that were not there, or were, unchanged the others. All
// slots of all of them have it durably when it returns nil. Many triples are not
// one transaction.
//
// Where it fails, changed and unchanged say what is done all the same.
// [node.ErrUnknown]: of the others each may be done, or be done later.
// [node.ErrUnavailable] and [node.ErrDiskFull]: none of the others is. Nothing is
// sent a second time unless it was refused; it is then tried again for
// Options.Patience. What was done before under the key of ctx ([node.WithRequestKey]) is
// not done again, and counts as unchanged.
func (w *Writes) Write(ctx context.Context, kind node.OperationKind, triples []triple.Triple) (changed, unchanged int64, err error) {
	for i := range triples {
		if err := triples[i].Check(); err != nil {
			return 0, 0, fmt.Errorf("triple %d: %w", i, err)
		}
	}
	x := w.newWriting(ctx, len(triples))
	x.run(kind, triples)
	x.running.Wait()
	w.stats.coordinated.Add(x.changed + x.unchanged)
	return x.changed, x.unchanged, x.result()
}

// writing is one call of Write.
type writing struct {
	writes  *Writes
	ctx     context.Context
	key     *node.RequestKey // nil if the request has none
	first   uint64           // the epoch in which it came, if it was not sent before
	total   int
	places  chan struct{} // one for each request on its way
	running sync.WaitGroup

	mu                 sync.Mutex
	changed, unchanged int64
	unknown, failed    error // the first of either kind
}

func (w *Writes) newWriting(ctx context.Context, total int) *writing {
	x := &writing{writes: w, ctx: ctx, key: node.RequestKeyOf(ctx), total: total, places: make(chan struct{}, parallel)}
	if v := w.cluster.View(); v != nil && x.key != nil && x.key.First {
		x.first = v.Epoch
	}
	return x
}

// run sends the triples in requests of some size, until one fails.
func (x *writing) run(kind node.OperationKind, triples []triple.Triple) {
	var chunks chunks
	var r *recovery.Resolver
	if chunks.view = x.writes.cluster.View(); chunks.view != nil {
		r = chunks.view.Joint().Resolver()
	}
	var key []byte
	for i := range triples {
		o := node.Operation{Kind: kind}
		var long bool
		key, long = triple.AppendKey(key[:0], triple.SPO, triples[i])
		o.Key = bytes.Clone(key)
		if o.Token = x.key.Token(kind, key); kind == node.OperationClaim {
			o.Token = x.key.Claim()
		}
		if long && kind == node.OperationAdd {
			o.Long = triple.AppendValue(nil, triple.Stamp{}, triples[i])
		}
		var to trie.MachineID // none: send finds out
		if r != nil {
			if err := r.Resolve(o.Key); err != nil {
				x.fail(err)
				return
			}
			if m, ok := r.Sequencer(); ok {
				to = m
			}
		}
		if c := chunks.add(to, o); c != nil && !x.start(c) {
			return
		}
	}
	for _, c := range chunks.rest() {
		if !x.start(c) {
			return
		}
	}
}

func errNoSequencer(v *view.View) *peer.Refusal {
	if v == nil {
		return refuse(peer.CodeUnavailable, 0, "this machine has no view yet")
	}
	return refuse(peer.CodeUnavailable, v.Epoch, "a triple has no sequencer")
}

// start sends a chunk in the background, when there is a place; false says that
// another one has failed.
func (x *writing) start(c *chunk) bool {
	x.places <- struct{}{} // the requests that have the others end with ctx
	if x.result() != nil {
		<-x.places
		return false
	}
	x.running.Go(func() {
		x.send(c)
		<-x.places
	})
	return true
}

// send submits a chunk until it is settled or cannot be. Where the view changes,
// it may become several.
func (x *writing) send(c *chunk) {
	tries := newPatience(x.writes)
	for left := []*chunk{c}; len(left) > 0; {
		v := x.writes.cluster.View()
		parts, err := regroup(v, left[0])
		if err == nil && len(parts) > 1 {
			left = append(parts, left[1:]...)
			continue
		}
		var a answer
		if err == nil {
			a, err = x.writes.submitTo(x.ctx, v, parts[0], x.first)
		}
		switch {
		case err == nil && a.outcome == diskFull:
			x.fail(errFull(v, a.full))
			return
		case err == nil:
			x.mu.Lock()
			x.changed += a.changed
			x.unchanged += a.unchanged
			x.mu.Unlock()
			left = left[1:]
			tries = newPatience(x.writes)
			continue
		case !peer.IsDefinite(err):
			x.fail(fmt.Errorf("%w: %w", node.ErrUnknown, err))
			return
		}
		if err := tries.again(x.ctx, err); err != nil {
			x.fail(err)
			return
		}
	}
}

// regroup groups the operations of a chunk by their sequencers under v.
func regroup(v *view.View, c *chunk) ([]*chunk, error) {
	if v == nil {
		return nil, errNoSequencer(v)
	}
	if c.view == v && c.machine != 0 {
		return []*chunk{c}, nil
	}
	r := v.Joint().Resolver()
	chunks := chunks{view: v}
	var full []*chunk
	for i := range c.operations {
		if err := r.Resolve(c.operations[i].Key); err != nil {
			return nil, malformed(err)
		}
		m, ok := r.Sequencer()
		if !ok {
			return nil, errNoSequencer(v)
		}
		if of := chunks.add(m, c.operations[i]); of != nil {
			full = append(full, of)
		}
	}
	return append(full, chunks.rest()...), nil
}

// submitTo submits a chunk to its machine. It does not wait for a machine that is
// no member any more.
func (w *Writes) submitTo(ctx context.Context, v *view.View, c *chunk, first uint64) (answer, error) {
	if c.machine == w.self {
		return w.submit(ctx, c.operations, first)
	}
	m := v.Find(c.machine)
	if m == nil {
		return answer{}, wrongEpoch(v)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() { w.watch(ctx, cancel, node.Origin{Sequencer: m.ID, Incarnation: m.Incarnation}) })
	e := peer.NewEncoder(int(c.size))
	e.Uvarint(first)
	encodeOperations(e, c.operations, false)
	body, err := w.cluster.Call(ctx, c.machine, MethodSubmit, e.Data())
	if err != nil {
		if cause := context.Cause(ctx); cause == errGone {
			err = fmt.Errorf("machine %s: %w: %w", c.machine, cause, err)
		}
		return answer{}, err
	}
	var changed, unchanged, full uint64
	o, err := decodeOutcome(body, &changed, &unchanged, &full)
	return answer{o, int64(changed), int64(unchanged), trie.MachineID(full)}, err
}

var errGone = errors.New("the sequencer was excluded")

// watch ends ctx, by cancel, when a sequencer is no member any more, or this machine is
// cut off.
func (w *Writes) watch(ctx context.Context, cancel context.CancelCauseFunc, sequencer node.Origin) {
	defer context.AfterFunc(w.ctx, func() { cancel(node.ErrClosed) })()
	for {
		v := w.cluster.View()
		if !alive(v, sequencer) {
			cancel(errGone)
			return
		}
		if err := w.cluster.Newer(ctx, v.Epoch); err != nil {
			cancel(err) // unless it has ended
			return
		}
	}
}

// fail notes why not all is done.
func (x *writing) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case !errors.Is(err, node.ErrUnknown):
		if x.failed == nil {
			x.failed = err
		}
	case x.unknown == nil:
		x.unknown = err
	}
}

func (x *writing) result() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.failed
	if x.unknown != nil {
		err = x.unknown
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%d of %d triples are written: %w", x.changed+x.unchanged, x.total, err)
}

// patience bounds how long something is tried again that was refused.
type patience struct {
	writes *Writes
	until  time.Time // zero before the first refusal
	pause  time.Duration
}

func newPatience(w *Writes) *patience { return &patience{writes: w, pause: firstPause} }

// again waits for a newer view, where the refusal tells of one, or a moment. It
// returns an error when it has waited for long enough, or ctx has ended; that
// says that nothing was done.
func (p *patience) again(ctx context.Context, refused error) error {
	now := time.Now()
	if p.until.IsZero() {
		p.until = now.Add(p.writes.options.Patience)
	}
	left := p.until.Sub(now)
	if left <= 0 {
		return fmt.Errorf("%w: %w", node.ErrUnavailable, refused)
	}
	pause := min(left, jitter(p.pause))
	p.pause = min(2*p.pause, lastPause)
	epoch := uint64(0)
	if v := p.writes.cluster.View(); v != nil {
		epoch = v.Epoch
	}
	var r *peer.Refusal
	if errors.As(refused, &r) && epoch > 0 && r.Epoch > epoch {
		pause = left // the view is on its way
	}
	wait, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	defer context.AfterFunc(p.writes.ctx, cancel)()
	err := p.writes.cluster.Newer(wait, epoch)
	switch {
	case errors.Is(err, node.ErrUnavailable):
		return fmt.Errorf("%w: %w", err, refused)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), refused)
	case p.writes.ctx.Err() != nil:
		return node.ErrClosed
	}
	return nil
}

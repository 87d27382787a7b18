// The backfill of a view: which rows are read, and what is sent to fill slots of target.

package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// walk goes once through those rows of this machine that may fill a slot of target, and
// sends what the slots lack.
type walk struct {
	node     *Node
	view     *view.View
	planned  bool // nobody is dead: its rate is bounded
	start    time.Time
	total    int64 // rows that there were about at the start
	rows     atomic.Int64
	repaired atomic.Int64 // rows sent, and made here
	damaged  atomic.Int64 // rows that cannot be decoded, and are passed over
	resumed  atomic.Int64 // rows that are not sent again: see earlier
	at       position     // of the row that is looked at
	earlier  *earlier
	resolver *recovery.Resolver
	backfill *recovery.Backfill // which rows are read
	seek     []byte
	// unsettled has, by the keys of their rows in SPO, the operations that are not
	// settled: whoever gets these rows must know that.
	unsettled map[string]pending
	key       []byte
	mu        sync.Mutex // guards out against those who are not the walk itself
	out       map[trie.MachineID]*outbox
	shift     *shift
}

type pending struct {
	origin    node.Origin
	operation node.Operation
}

// walkProgress is what a walk says of itself.
type walkProgress struct {
	Rows     int64   `json:"rows"`
	Repaired int64   `json:"repaired"`
	Left     int64   `json:"left"`
	Damaged  int64   `json:"damaged,omitempty"`
	Resumed  int64   `json:"resumed,omitempty"`
	Seconds  float64 `json:"seconds"`
	ETA      float64 `json:"etaSeconds"`
}

func (w *walk) progress() *walkProgress {
	p := &walkProgress{Rows: w.rows.Load(), Repaired: w.repaired.Load(), Damaged: w.damaged.Load(), Resumed: w.resumed.Load(), Seconds: time.Since(w.start).Seconds()}
	p.Left = max(w.total-p.Rows, 0)
	if p.Rows > 0 {
		p.ETA = p.Seconds / float64(p.Rows) * float64(p.Left)
	}
	return p
}

// doWalk is the walk of one view. The snapshot is taken after the view was
// adopted: what is written later goes to the slots of target by itself.
func (n *Node) doWalk(ctx context.Context, v *view.View) error {
	snapshot, err := n.store.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	j := v.Joint()
	w := &walk{
		node: n, view: v, planned: len(j.BaseLive) == len(v.BaseIncarnations), start: time.Now(),
		resolver: j.Resolver(), backfill: j.Backfill(n.self), unsettled: map[string]pending{}, out: map[trie.MachineID]*outbox{},
	}
	for _, b := range n.store.UnsettledBatches() { // after the snapshot: what it shows and is not here, is settled
		w.note(b)
	}
	if w.total, err = w.estimate(ctx, snapshot); err != nil {
		return err
	}
	n.work.mu.Lock()
	if n.work.epoch == v.Epoch {
		n.work.walk = w
	}
	w.earlier = newEarlier(n.self, v, n.work.history)
	n.work.mu.Unlock()
	w.shift = n.pace.shift()
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	err = w.all(sending, snapshot)
	if err != nil {
		cancel()
	}
	marks := map[trie.MachineID]uint64{}
	var mu sync.Mutex
	var group sync.WaitGroup
	errs := make(chan error, len(w.out)+1)
	errs <- err
	for to, box := range w.out {
		group.Go(func() {
			mark, err := box.finish(sending)
			errs <- err
			mu.Lock()
			defer mu.Unlock()
			marks[to] = mark
		})
	}
	group.Wait()
	n.work.mu.Lock()
	n.work.history = n.work.history.note(w.stretch())
	n.work.mu.Unlock()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	n.work.mu.Lock()
	defer n.work.mu.Unlock()
	if n.work.epoch == v.Epoch {
		n.work.walked, n.work.marks = true, marks
	}
	n.log.Info("walked", "epoch", v.Epoch, "rows", w.rows.Load(), "repaired", w.repaired.Load(), "resumed", w.resumed.Load(), "damaged", w.damaged.Load())
	return nil
}

// note notes the operations of a batch that is not settled. Of those on one triple the
// newest counts: its rows are those that are sent.
func (w *walk) note(b node.UnsettledBatch) {
	for _, o := range b.Operations {
		key := o.Key
		if o.Note != nil {
			key = triple.AppendAnnotationKey(nil, key, o.Note.ApplicationID)
		}
		if p, ok := w.unsettled[string(key)]; !ok || p.operation.Stamp.Less(o.Stamp) {
			w.unsettled[string(key)] = pending{b.Origin, o}
		}
	}
}

// estimate returns about how many rows are read, without replicas.
func (w *walk) estimate(ctx context.Context, snapshot *node.Snapshot) (total int64, err error) {
	for i, o := range triple.Orders {
		rows, _, err := snapshot.EstimateRange(triple.OrderRange(o))
		if err != nil {
			return 0, err
		}
		total += int64(float64(rows) * w.backfill.Shares[i])
	}
	return total, ctx.Err()
}

// all goes through the ranges of the backfill, and sends what there is to send.
func (w *walk) all(ctx context.Context, snapshot *node.Snapshot) error {
	var place []byte
	for _, span := range w.backfill.Ranges {
		table := node.TableStorage
		if span.Replica {
			table = node.TableReplica
		}
		err := snapshot.EachRaw(ctx, table, span.Range, func(row node.RawRow) (seek []byte, err error) {
			w.rows.Add(1)
			place = append(place[:0], row.Key...)
			w.at = positionOf(table, place)
			suffix, ok := w.resolve(table, row.Key, row.Value)
			if ok {
				err = w.row(ctx, recovery.Slot{Machine: w.node.self, Order: triple.Order(row.Key[0]), Extra: span.Replica}, suffix, row.Value)
			}
			w.shift.row(ctx)
			if ok && err == nil && span.Sparse {
				if seek = w.backfill.Skip(w.seek, row.Key, w.resolver.Key(triple.OSP)); seek != nil {
					w.seek = seek
				}
			}
			return seek, err
		})
		if err != nil {
			return err
		}
	}
	w.at = position{table: 2}
	for _, box := range w.out {
		if err := box.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxDamageLogged is how many damaged rows the log names, of one backfill.
const maxDamageLogged = 16

// damage notes a row that cannot be decoded. The backfill goes on without it: the leader
// hears that the disk is damaged and excludes this machine if the others have what it
// has, and they regenerate the row.
func (w *walk) damage(table byte, key []byte, err error) {
	w.node.store.NoteDamage()
	if w.damaged.Add(1) <= maxDamageLogged {
		w.node.log.Error("a damaged row is passed over in a backfill", "epoch", w.view.Epoch, "table", table, "key", fmt.Sprintf("%X", key), "error", err)
	}
}

// resolve makes the resolver answer for the triple of a row. suffix is what an
// annotation's key has behind that of its version. ok is false if the row is damaged.
func (w *walk) resolve(table byte, key, value []byte) (suffix []byte, ok bool) {
	version := key
	if triple.IsAnnotation(value) {
		v, _, ok := triple.CutAnnotation(key)
		if !ok {
			w.damage(table, key, fmt.Errorf("%w: an annotation's key", node.ErrCorrupt))
			return nil, false
		}
		version, suffix = v, key[len(v):]
	}
	if err := w.resolver.Resolve(version); err != nil {
		w.damage(table, key, err)
		return nil, false
	}
	return suffix, true
}

// row sends what the resolved row, in one slot of this machine, fills.
func (w *walk) row(ctx context.Context, from recovery.Slot, suffix, value []byte) error {
	r := w.resolver
	fills := r.Fills(from)
	if len(fills) == 0 {
		return nil
	}
	half := w.pending(suffix)
	w.earlier.next()
	for _, slot := range fills {
		// Of an operation that is not settled it is not known who has it.
		if half == nil && w.earlier.arrived(w.at, r, from, slot) {
			w.box(slot.Machine) // which is synced in the end, and counted on
			w.resumed.Add(1)
			continue
		}
		to := node.TableStorage
		if slot.Extra {
			to = node.TableReplica
		}
		row := node.FillRow{Table: to, Key: append(append([]byte(nil), r.Key(slot.Order)...), suffix...), Value: append([]byte(nil), value...)}
		if half != nil {
			row.Unsettled, row.Operation = half.origin, &half.operation
		}
		if err := w.send(ctx, slot.Machine, row); err != nil {
			return err
		}
	}
	return nil
}

// pending returns the operation that is not settled of the row that is resolved, or of its
// annotation, whose key has a suffix; nil if there is none.
func (w *walk) pending(suffix []byte) *pending {
	if len(w.unsettled) == 0 {
		return nil
	}
	w.key = append(append(w.key[:0], w.resolver.Key(triple.SPO)...), suffix...)
	if p, ok := w.unsettled[string(w.key)]; ok {
		return &p
	}
	return nil
}

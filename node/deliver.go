// Operations that sequencers deliver: checking and queueing them.

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// stamped is what a request of kindStamped asks for: rows that have their stamps
// from elsewhere, of which the greatest wins, and what is to be known of them.
type stamped struct {
	rows    []stampedRow // ascending by key
	epoch   uint64       // the greatest of the rows'
	adds    bool
	entries []UnsettledBatch
	forget  []UnsettledBatch

	durable  bool   // to be synced before it is answered
	delivery Origin // zero where it is none
	settled  uint64
	open     []uint64
	acks     map[trie.MachineID]uint64

	counts bool   // the fills before it, as SyncFills does
	mark   uint64 // the answer
}

// stampedRow is a row with its Pebble key.
type stampedRow struct {
	key, value []byte
	stamp      triple.Stamp
	on         triple.Stamp // of an annotation: that of the version it was noted on
}

func newStamped() *request {
	return &request{kind: kindStamped, stamped: &stamped{}, done: make(chan struct{})}
}

// Deliver writes the operations of a delivery into the slots that this machine
// has under j (see [recovery.Resolver.Writes]), durably when it returns. Of a row
// the greatest stamp stays. A delete leaves a tombstone, also where nothing was,
// and removes what was noted on the triple before; what is noted on it comes beside
// each version and replica. With the rows go the batch's entry in the list of
// what is not settled and the number of the last batch received.
//
// Deliveries of one sequencer's incarnation come in ascending order, the next one
// when the one before is answered. The same one again is harmless: it writes what
// is missing, as where another layout gives this machine more slots, and takes
// nothing back. Nothing of the delivery is kept.
//
// Deliveries that wait share one fsync. [ErrDiskFull] says that nothing was done: it
// would have taken more than half of the space that is kept free. [ErrUnknown]
// leaves open whether it was done.
func (s *Store) Deliver(ctx context.Context, d *Delivery, j *recovery.Joint) error {
	r, err := s.newDelivery(d, j)
	if err == nil {
		err = s.doStamped(ctx, r)
	}
	return wrap("deliver", err)
}

func (s *Store) doStamped(ctx context.Context, r *request) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	return s.queue.do(ctx, r, &s.health, s.options.WriteTimeout)
}

// Drain waits until all writes have ended that were begun before, whatever has become of
// them: after [ErrUnknown] nothing is under way any more when it returns nil. A disk
// that is full does not keep it waiting, one that does not answer does.
func (s *Store) Drain(ctx context.Context) error {
	if s.options.ReadOnly {
		return nil
	}
	r := newStamped() // it asks for nothing, and is answered behind the others
	if err := s.queue.put(ctx, r); err != nil {
		return wrap("drain", err)
	}
	select {
	case <-r.done:
		if errors.Is(r.err, ErrClosed) {
			return wrap("drain", r.err)
		}
		return nil
	case <-s.health.failed:
		return wrap("drain", s.health.err())
	case <-ctx.Done():
		err := context.Cause(ctx)
		return wrap("drain", s.queue.abandon(r, err, err))
	}
}

func (s *Store) newDelivery(d *Delivery, j *recovery.Joint) (*request, error) {
	if d.Origin.Sequencer == 0 || d.Origin.Batch == 0 {
		return nil, fmt.Errorf("%w: a delivery without an origin", ErrInvalid)
	}
	r := newStamped()
	r.durable, r.delivery, r.settled, r.open, r.acks = true, d.Origin, d.Settled, d.Open, d.Acks
	r.size = itemBytes
	parts := d.Parts
	if parts == nil {
		parts = []Part{{d.Origin.Batch, len(d.Operations)}}
	}
	if err := checkParts(d, parts); err != nil {
		return nil, err
	}
	var space arena
	resolver := j.Resolver()
	r.rows = make([]stampedRow, 0, orderCount*len(d.Operations))
	floors, at := s.currentFloors(), 0
	for _, p := range parts {
		// The operations of each batch have memory of their own: one may stay for long.
		encoded := appendOperations(nil, d.Operations[at:at+p.Operations])
		own, err := parseOperations(encoded, p.Operations)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrInvalid, err)
		}
		r.size += int64(len(encoded))
		fresh := own[:0]
		for i := range own {
			late, err := r.addOperation(&own[i], resolver, floors, s.MachineID(), &space)
			if err != nil {
				return nil, fmt.Errorf("%w: operation %d: %v", ErrInvalid, at+i, err)
			}
			if !late {
				fresh = append(fresh, own[i])
			}
		}
		origin := d.Origin
		origin.Batch = p.Batch
		r.entries = append(r.entries, UnsettledBatch{origin, fresh})
		at += p.Operations
	}
	r.seal()
	return r, nil
}

// checkParts checks that the parts of a delivery ascend to its last batch and have
// all of its operations, and that Open ascends.
func checkParts(d *Delivery, parts []Part) error {
	last, left := uint64(0), len(d.Operations)
	for _, p := range parts {
		if p.Batch <= last || p.Operations < 0 || p.Operations > left {
			return fmt.Errorf("%w: a delivery whose batches do not ascend or have more operations than it", ErrInvalid)
		}
		last, left = p.Batch, left-p.Operations
	}
	if last != d.Origin.Batch || left != 0 || !slices.IsSorted(d.Open) {
		return fmt.Errorf("%w: the batches of a delivery are not the delivery", ErrInvalid)
	}
	return nil
}

// addOperation appends the rows that an operation has on a machine. One that is late
// is below its floor, and has none.
func (r *stamped) addOperation(o *Operation, resolver *recovery.Resolver, floors Floors, machine trie.MachineID, space *arena) (late bool, err error) {
	if triple.Order(o.Key[0]) != triple.SPO {
		return false, fmt.Errorf("its key is not one of spo")
	}
	if err := resolver.Resolve(o.Key); err != nil {
		return false, err
	}
	if len(floors) > 0 {
		if sequencer, ok := resolver.Sequencer(); ok && floors.below(sequencer, o.Stamp) {
			return true, nil
		}
	}
	if o.Kind == OperationClaim {
		return false, nil
	}
	row := stampedRow{stamp: o.Stamp}
	if o.Note != nil {
		if row.on = o.Note.On; row.on == (triple.Stamp{}) {
			row.on = o.Stamp
		}
	}
	encode, adds, err := o.encoder()
	if err != nil {
		return false, err
	}
	r.adds = r.adds || adds
	for _, slot := range resolver.Writes() {
		if slot.Machine != machine {
			continue
		}
		if row.value == nil {
			row.value = space.take(encode)
		}
		table := TableStorage
		if slot.Extra {
			table = TableReplica
		}
		key := resolver.Key(slot.Order)
		row.key = space.take(func(dst []byte) []byte {
			dst = append(append(dst, table), key...)
			if o.Note != nil {
				dst = triple.AppendAnnotationKey(dst, nil, o.Note.ApplicationID)
			}
			return dst
		})
		r.rows = append(r.rows, row)
	}
	return false, nil
}

// encoder returns what appends the value of the rows of an operation, and whether
// they add something.
func (o *Operation) encoder() (encode func(dst []byte) []byte, adds bool, err error) {
	if o.Kind == OperationAnnotate {
		a := triple.Annotation{Stamp: o.Stamp, On: o.Note.On, Removed: o.Note.Removed, Data: o.Note.Data}
		return a.Append, !a.Removed, nil
	}
	v := triple.Value{}
	if o.Kind == OperationAdd && o.Long != nil {
		if v, err = triple.DecodeValue(o.Long); err != nil {
			return nil, false, err
		}
	}
	v.Stamp, v.Tombstone = o.Stamp, o.Kind == OperationDelete
	return v.Append, !v.Tombstone, nil
}

// seal ends the making of a request: its rows are put in order and counted.
func (r *request) seal() {
	slices.SortFunc(r.rows, compareRows)
	for i := range r.rows {
		r.size += int64(len(r.rows[i].key)+len(r.rows[i].value)) + itemBytes
		r.epoch = max(r.epoch, r.rows[i].stamp.Epoch)
	}
}

// compareRows orders by key, the newest first: of annotations that on the newest
// version, then that of the greatest stamp.
func compareRows(a, b stampedRow) int {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	if c := b.on.Compare(a.on); c != 0 {
		return c
	}
	return b.stamp.Compare(a.stamp)
}

// arena makes many small slices of few large ones.
type arena []byte

// arenaBytes is the size of a large one.
const arenaBytes = 64 << 10

// take returns what encode appends.
func (a *arena) take(encode func(dst []byte) []byte) []byte {
	from := len(*a)
	whole := encode(*a)
	if cap(whole) != cap(*a) { // it did not fit: what came before stays where it is
		out := slices.Clip(bytes.Clone(whole[from:]))
		*a = make([]byte, 0, arenaBytes)
		return out
	}
	*a = whole
	return whole[from:len(whole):len(whole)]
}

// Settle takes what a sequencer reports without operations: its batches up to
// o.Batch are settled, except those in open, which ascend. Nil acks say nothing. It
// does not wait for the disk.
func (s *Store) Settle(o Origin, open []uint64, acks map[trie.MachineID]uint64) {
	if o.Sequencer != 0 {
		s.unsettled.settle(o.stream(), o.Batch, open, acks)
	}
}

// Unsettled returns the batches that are not known to be settled and have an
// operation on a row in r, in whatever slot that is, ascending by origin. Call it
// after the snapshot that is read was taken: a batch is in the list before its
// rows can be seen.
func (s *Store) Unsettled(r triple.Range) []Origin { return s.unsettled.in(r) }

// UnsettledBatches returns all that is not known to be settled, ascending by
// origin. The operations must not be modified.
func (s *Store) UnsettledBatches() []UnsettledBatch { return s.unsettled.batches() }

// Forget removes batches from the list, durably: another sequencer has settled the
// operations that they have here. One that has got more of them meanwhile stays.
func (s *Store) Forget(ctx context.Context, batches []UnsettledBatch) error {
	r := newStamped()
	r.forget = slices.Clone(batches)
	r.durable = true
	r.size = int64(len(batches)) * itemBytes
	return wrap("forget settled batches", s.doStamped(ctx, r))
}

// Heard returns what this machine can prove about sequencers, by machine and
// incarnation.
func (s *Store) Heard() []Heard { return s.unsettled.heard() }

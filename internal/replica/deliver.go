// Operations that sequencers deliver: checking and queueing them.

package replica

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// stamped is a job that writes rows with the stamps of sequencers. In each row the greatest stamp
// wins. It implements [store.Job].
type stamped struct {
	store   *Store
	size    int64        // about how many bytes it holds and writes
	rows    []stampedRow // ascending by key
	epoch   uint64       // the greatest epoch of the rows
	adds    bool
	entries []InFlightBatch
	forget  []InFlightBatch

	sent      uint64 // the epoch in which the entries were sent; 0 if unknown
	durable   bool   // if set, it must be synced before it is answered
	delivery  Origin // zero if it is no delivery
	committed uint64
	open      []uint64
	acks      map[trie.MachineID]uint64
	ticks     CommitTicks

	counts bool   // if set, it counts the fills before it, because SyncFills does
	mark   uint64 // the answer
}

// rowBytes is about what a row of a job costs beside its key and value.
const rowBytes = 64

// stampedRow is a row with its Pebble key.
type stampedRow struct {
	key, value []byte
	stamp      triple.Stamp
	on         triple.Stamp // of an annotation: the stamp of its row of the triple
	batch      *Origin      // nil if it is no delivery's
}

// Bytes implements [store.Job].
func (r *stamped) Bytes() int64 { return r.size }

// Reserved implements [store.Job]: the other holders count on a delivery.
func (r *stamped) Reserved() bool { return !r.adds || r.delivery != (Origin{}) }

// Alone implements [store.Job]: stamped jobs share a commit and its fsync.
func (r *stamped) Alone() bool { return false }

// Deliver writes the operations of a delivery into the places of this machine under j (see
// [recovery.Resolver.Writes]). They are durable when it returns. The greatest stamp of each row
// stays. A delete leaves a tombstone, even if no row was there. It removes older annotations of
// the triple. A newer annotation must stand beside each row and each extra copy. The commit also
// holds the batch's entry in the in-flight list and the number of the last batch received.
//
// Deliveries of one sequencer's incarnation must ascend: the next one comes when the one before is
// answered. A repetition is harmless, because it writes only missing rows and takes nothing back.
// Rows may be missing if another layout gives this machine more places. Deliver keeps nothing of
// the delivery.
//
// Deliveries in the queue share one fsync. [ErrDiskFull] means that nothing was done, because the
// delivery needs more than half of the reserved space. If the error is [ErrUnknown], the delivery
// may be done or not.
func (s *Store) Deliver(ctx context.Context, d *Delivery, j *recovery.Joint) error {
	r, err := s.newDelivery(d, j)
	if err == nil {
		err = s.Committer().Do(ctx, r)
	}
	return fault.Wrap("deliver", err)
}

func (s *Store) newDelivery(d *Delivery, j *recovery.Joint) (*stamped, error) {
	if d.Origin.Sequencer == 0 || d.Origin.Batch == 0 {
		return nil, fmt.Errorf("%w: a delivery without an origin", store.ErrInvalid)
	}
	r := &stamped{store: s}
	r.durable, r.delivery, r.committed, r.open, r.acks, r.ticks = true, d.Origin, d.Committed, d.Open, d.Acks, d.Ticks
	r.size, r.sent = rowBytes, d.Epoch
	parts := d.Parts
	if parts == nil {
		parts = []Part{{d.Origin.Batch, len(d.Operations)}}
	}
	// 1. Check the parts, because a wrong one would mix up batches in the in-flight list.
	if err := checkParts(d, parts); err != nil {
		return nil, err
	}
	var space arena
	resolver := j.Resolver()
	r.rows = make([]stampedRow, 0, orderCount*len(d.Operations))
	floors, at := s.currentFloors(), 0
	for _, p := range parts {
		// 2. Copy the operations of each batch into memory of its own, because one may stay for
		// long.
		encoded := appendOperations(nil, d.Operations[at:at+p.Operations])
		own, err := parseOperations(encoded, p.Operations)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", store.ErrInvalid, err)
		}
		r.size += int64(len(encoded))
		// 3. Make the rows. A late operation must not enter the in-flight list.
		fresh, batch := own[:0], d.Origin
		batch.Batch = p.Batch
		for i := range own {
			late, err := r.addOperation(&own[i], &batch, resolver, floors, s.MachineID(), &space)
			if err != nil {
				return nil, fmt.Errorf("%w: operation %d: %v", store.ErrInvalid, at+i, err)
			}
			if !late {
				fresh = append(fresh, own[i])
			}
		}
		r.entries = append(r.entries, InFlightBatch{batch, fresh})
		at += p.Operations
	}
	r.seal()
	return r, nil
}

// checkParts returns an error unless the parts of a delivery ascend to its last batch and hold all
// its operations. Open must ascend, too.
func checkParts(d *Delivery, parts []Part) error {
	last, left := uint64(0), len(d.Operations)
	for _, p := range parts {
		if p.Batch <= last || p.Operations < 0 || p.Operations > left {
			return fmt.Errorf("%w: a delivery whose batches do not ascend or have more operations than it", store.ErrInvalid)
		}
		last, left = p.Batch, left-p.Operations
	}
	if last != d.Origin.Batch || left != 0 || !slices.IsSorted(d.Open) {
		return fmt.Errorf("%w: the batches of a delivery are not the delivery", store.ErrInvalid)
	}
	return nil
}

// addOperation appends the rows of a batch's operation on a machine. If the operation is below its floor,
// it is late and gets no row.
func (r *stamped) addOperation(o *Operation, batch *Origin, resolver *recovery.Resolver, floors Floors, machine trie.MachineID, space *arena) (late bool, err error) {
	// 1. Drop a repetition: if the stamp is below the floor, every holder has applied it.
	if triple.Order(o.Key[0]) != triple.SPO {
		return false, fmt.Errorf("its key is not one of spo")
	}
	if err := resolver.Resolve(o.Key); err != nil {
		return false, err
	}
	if len(floors) > 0 {
		if sequencer, ok := resolver.Sequencer(); ok && floors.isBelow(sequencer, o.Stamp) {
			return true, nil
		}
	}
	// A claim and a record have no rows. They still enter the list, because they must be kept.
	if !o.Kind.Changes() {
		return false, nil
	}
	// 2. If the annotated row is unknown, the annotation counts as made on a row of its own stamp.
	row := stampedRow{stamp: o.Stamp, batch: batch}
	if o.Annotation != nil {
		if row.on = o.Annotation.On; row.on == (triple.Stamp{}) {
			row.on = o.Stamp
		}
	}
	encode, adds, err := o.encoder()
	if err != nil {
		return false, err
	}
	r.adds = r.adds || adds
	// 3. Write one row for each place of this machine. All share one value.
	for _, place := range resolver.Writes() {
		if place.Machine != machine {
			continue
		}
		if row.value == nil {
			row.value = space.take(encode)
		}
		table := keyspace.Storage
		if place.Extra {
			table = keyspace.Replica
		}
		key := resolver.Key(place.Order)
		row.key = space.take(func(dst []byte) []byte {
			dst = append(append(dst, table), key...)
			if o.Annotation != nil {
				dst = triple.AppendAnnotationKey(dst, nil, o.Annotation.ApplicationID)
			}
			return dst
		})
		r.rows = append(r.rows, row)
	}
	return false, nil
}

// encoder returns a function that appends the value of the operation's rows. adds reports whether
// they add something.
func (o *Operation) encoder() (encode func(dst []byte) []byte, adds bool, err error) {
	if o.Kind == store.OperationAnnotate {
		a := triple.Annotation{Stamp: o.Stamp, On: o.Annotation.On, Removed: o.Annotation.Removed, Data: o.Annotation.Data}
		return a.Append, !a.Removed, nil
	}
	v := triple.Value{}
	if o.Kind == store.OperationAdd && o.Long != nil {
		if v, err = triple.DecodeValue(o.Long); err != nil {
			return nil, false, err
		}
	}
	v.Stamp, v.Tombstone = o.Stamp, o.Kind == store.OperationDelete
	return v.Append, !v.Tombstone, nil
}

// seal completes a job: it sorts the rows and counts their bytes.
func (r *stamped) seal() {
	slices.SortFunc(r.rows, compareRows)
	for i := range r.rows {
		r.size += int64(len(r.rows[i].key)+len(r.rows[i].value)) + rowBytes
		r.epoch = max(r.epoch, r.rows[i].stamp.Epoch)
	}
}

// compareRows orders by key, the newest first. Of two annotations the one on the newer row comes
// first, then the one with the greater stamp.
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

// arenaBytes is the size of a large slice.
const arenaBytes = 64 << 10

// take returns the bytes that encode appends.
func (a *arena) take(encode func(dst []byte) []byte) []byte {
	from := len(*a)
	whole := encode(*a)
	if cap(whole) != cap(*a) { // it did not fit: earlier slices must stay, so only this one is copied
		out := slices.Clip(bytes.Clone(whole[from:]))
		*a = make([]byte, 0, arenaBytes)
		return out
	}
	*a = whole
	return whole[from:len(whole):len(whole)]
}

// RecordCommitted records a sequencer's report without operations: its batches up to o.Batch are committed,
// except the ones in open, which must ascend. If acks is nil, the report has no acks. It does
// not wait for the disk.
func (s *Store) RecordCommitted(o Origin, open []uint64, acks map[trie.MachineID]uint64, ticks CommitTicks) {
	if o.Sequencer != 0 {
		s.inFlight.commit(o.stream(), o.Batch, open, acks, &ticks)
	}
}

// RecordSome records that some batches of the sequencer of o are committed. They must ascend. It does not wait for
// the disk.
func (s *Store) RecordSome(o Origin, batches []uint64, ticks CommitTicks) {
	s.inFlight.commitSome(o.stream(), batches, &ticks)
}

// InFlight returns the batches in flight with an operation on a row in r whose key passes, in any place, ascending
// by origin; nil passes all. It must be called after the snapshot was taken, because a batch enters the list
// before readers see its rows.
func (s *Store) InFlight(r triple.Range, pass func(key string) bool) []Origin {
	return s.inFlight.batchesIn(r, pass)
}

// InFlightBatches returns all batches in flight, ascending by origin. The caller must not modify
// the operations.
func (s *Store) InFlightBatches() []InFlightBatch { return s.inFlight.batches() }

// Forget removes batches from the in-flight list, durably, because another sequencer has committed
// their operations. If a batch has got more operations meanwhile, it stays.
func (s *Store) Forget(ctx context.Context, batches []InFlightBatch) error {
	r := &stamped{store: s}
	r.forget = slices.Clone(batches)
	r.durable = true
	r.size = int64(len(batches)) * rowBytes
	return s.do(ctx, "forget settled batches", r)
}

// SequencerStates returns this machine's proof about sequencers, by machine and incarnation.
func (s *Store) SequencerStates() []Heard { return s.inFlight.sequencerStates() }

// Messages between coordinators, sequencers and holders as bytes.

package writes

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The messages, of what peer.Encoder writes:
//
//	operation    kind byte (with replica.TokenFlag a token of 16 bytes behind it), key, long terms, and of an annotation: application id,
//	             epoch and sequence of the version, bool removed, data
//	operations   count, then each operation
//	stamped      count, then each operation with epoch and sequence behind the kind
//	acks         count, then for each: machine in 8 bytes, batch
//
//	submit       epoch in which the request came if it is its first try, else 0; operations, or one annotation -> outcome, changed, unchanged,
//	             machine whose disk is full
//	numbers      count, then for each: how much greater it is than the one before
//	parts        count, then for each: batch, count of operations
//	settlement   sequencer in 8 bytes, incarnation, batch up to which all are committed
//	             but the open ones, numbers of these, acks
//
//	deliver      epoch, settlement, parts, stamped -> outcome, room
//	settled      incarnation, numbers of batches -> settlement, numbers of the batches that
//	             are open
//	watermark    settlement -> room
//	handover     epoch, stamped -> nothing
//	tokens       epoch, count, then each token -> for each a remembrance byte

// outcome is the result of a submission or a delivery if it was not refused.
type outcome byte

const (
	done     outcome = iota
	diskFull         // nothing was done
	missing          // nothing was written: the triple does not exist
	unsure           // nothing was written: the coordinator must look up the triple first
)

// Minimum bytes of the elements of lists.
const (
	minOperation = 3
	minAck       = 9
	minNumber    = 1
	minPart      = 2
)

func encodeOperations(e *peer.Encoder, operations []replica.Operation, stamped bool) {
	e.Uvarint(uint64(len(operations)))
	for i := range operations {
		encodeOperation(e, &operations[i], stamped)
	}
}

// EncodeOperation writes an operation with its stamp.
func EncodeOperation(e *peer.Encoder, o *replica.Operation) { encodeOperation(e, o, true) }

func encodeOperation(e *peer.Encoder, o *replica.Operation, stamped bool) {
	if o.Token == (store.Token{}) {
		e.Byte(byte(o.Kind))
	} else {
		e.Byte(byte(o.Kind) | replica.TokenFlag)
		encodeToken(e, o.Token)
	}
	if stamped {
		e.Uvarint(o.Stamp.Epoch)
		e.Uvarint(o.Stamp.Sequence)
	}
	e.Bytes(o.Key)
	e.Bytes(o.Long)
	if n := o.Note; n != nil {
		e.String(n.ApplicationID)
		e.Uvarint(n.On.Epoch)
		e.Uvarint(n.On.Sequence)
		e.Bool(n.Removed)
		e.Bytes(n.Data)
	}
}

// decodeOperations returns operations; they alias the message. It checks kinds and the order of
// the keys; the caller must check the rest.
func decodeOperations(d *peer.Decoder, stamped bool) ([]replica.Operation, error) {
	n := d.Count(minOperation)
	operations := make([]replica.Operation, n)
	for i := range operations {
		var err error
		if operations[i], err = decodeOperation(d, stamped); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return operations, nil
}

// DecodeOperation reads the result of EncodeOperation.
func DecodeOperation(d *peer.Decoder) (replica.Operation, error) { return decodeOperation(d, true) }

func decodeOperation(d *peer.Decoder, stamped bool) (o replica.Operation, err error) {
	kind := d.Byte()
	if o.Kind = store.OperationKind(kind &^ replica.TokenFlag); kind&replica.TokenFlag != 0 {
		o.Token = decodeToken(d)
	}
	if stamped {
		o.Stamp = decodeStamp(d)
	}
	o.Key = d.Bytes()
	if long := d.Bytes(); len(long) > 0 {
		o.Long = long
	}
	if o.Kind == store.OperationAnnotate {
		o.Note = &replica.Note{ApplicationID: d.String(), On: decodeStamp(d), Removed: d.Bool(), Data: d.Bytes()}
	}
	switch {
	case d.Err() != nil:
		return o, d.Err()
	case !o.Kind.Valid():
		return o, fmt.Errorf("%w: an operation of kind %d", peer.ErrMessage, o.Kind)
	case len(o.Key) == 0 || triple.Order(o.Key[0]) != triple.SPO:
		return o, fmt.Errorf("%w: an operation without a key of spo", peer.ErrMessage)
	case o.Note != nil && o.Note.Check() != nil:
		return o, fmt.Errorf("%w: %v", peer.ErrMessage, o.Note.Check())
	}
	return o, nil
}

func encodeToken(e *peer.Encoder, t store.Token) {
	e.Uint64(binary.BigEndian.Uint64(t[:8]))
	e.Uint64(binary.BigEndian.Uint64(t[8:]))
}

func decodeToken(d *peer.Decoder) (t store.Token) {
	binary.BigEndian.PutUint64(t[:8], d.Uint64())
	binary.BigEndian.PutUint64(t[8:], d.Uint64())
	return t
}

func decodeStamp(d *peer.Decoder) triple.Stamp {
	return triple.Stamp{Epoch: d.Uvarint(), Sequence: d.Uvarint()}
}

func encodeAcks(e *peer.Encoder, acks map[trie.MachineID]uint64) {
	e.Uvarint(uint64(len(acks)))
	for _, m := range slices.SortedFunc(maps.Keys(acks), cmp.Compare) {
		e.Uint64(uint64(m))
		e.Uvarint(acks[m])
	}
}

// decodeAcks returns nil if the message has none.
func decodeAcks(d *peer.Decoder) (acks map[trie.MachineID]uint64) {
	for range d.Count(minAck) {
		if acks == nil {
			acks = map[trie.MachineID]uint64{}
		}
		m := trie.MachineID(d.Uint64())
		acks[m] = d.Uvarint()
	}
	return acks
}

func encodeDelivery(epoch uint64, d *replica.Delivery) []byte {
	capacity := 64 + 20*len(d.Acks) + 4*len(d.Open) + 12*len(d.Parts)
	for i := range d.Operations {
		capacity += bytesOf(&d.Operations[i]) + 24
	}
	e := peer.NewEncoder(capacity)
	e.Uvarint(epoch)
	s := settlement{upTo: d.Origin, open: d.Open, acks: d.Acks}
	s.upTo.Batch = d.Settled
	encodeSettlement(e, s)
	parts := d.Parts
	if parts == nil {
		parts = []replica.Part{{Batch: d.Origin.Batch, Operations: len(d.Operations)}}
	}
	e.Uvarint(uint64(len(parts)))
	for _, p := range parts {
		e.Uvarint(p.Batch)
		e.Uvarint(uint64(p.Operations))
	}
	encodeOperations(e, d.Operations, true)
	return e.Data()
}

func decodeDelivery(body []byte) (epoch uint64, _ *replica.Delivery, err error) {
	d := peer.NewDecoder(body)
	epoch = d.Uvarint()
	s := decodeSettlement(d)
	delivery := &replica.Delivery{Origin: s.upTo, Settled: s.upTo.Batch, Open: s.open, Acks: s.acks}
	delivery.Origin.Batch = 0
	for range d.Count(minPart) {
		p := replica.Part{Batch: d.Uvarint(), Operations: int(min(d.Uvarint(), maxPartOperations))}
		delivery.Parts = append(delivery.Parts, p)
		delivery.Origin.Batch = p.Batch
	}
	if delivery.Operations, err = decodeOperations(d, true); err == nil {
		err = d.End()
	}
	return epoch, delivery, err
}

// maxPartOperations is more than any message has. A greater count is cut to it, because it must fit
// in an int and still be too large.
const maxPartOperations = 1 << 30

func encodeSettlement(e *peer.Encoder, s settlement) {
	encodeOrigin(e, s.upTo)
	encodeNumbers(e, s.open)
	encodeAcks(e, s.acks)
}

func decodeSettlement(d *peer.Decoder) settlement {
	return settlement{upTo: decodeOrigin(d), open: decodeNumbers(d), acks: decodeAcks(d)}
}

// encodeNumbers writes numbers. They must ascend.
func encodeNumbers(e *peer.Encoder, numbers []uint64) {
	e.Uvarint(uint64(len(numbers)))
	before := uint64(0)
	for _, n := range numbers {
		e.Uvarint(n - before)
		before = n
	}
}

func decodeNumbers(d *peer.Decoder) (numbers []uint64) {
	before := uint64(0)
	for range d.Count(minNumber) {
		before += d.Uvarint()
		numbers = append(numbers, before)
	}
	return numbers
}

func encodeOrigin(e *peer.Encoder, o replica.Origin) {
	e.Uint64(uint64(o.Sequencer))
	e.Uvarint(o.Incarnation)
	e.Uvarint(o.Batch)
}

func decodeOrigin(d *peer.Decoder) replica.Origin {
	return replica.Origin{Sequencer: trie.MachineID(d.Uint64()), Incarnation: d.Uvarint(), Batch: d.Uvarint()}
}

// encodeOutcome returns the answer to a submission or a delivery.
func encodeOutcome(o outcome, numbers ...uint64) []byte {
	e := peer.NewEncoder(1 + 10*len(numbers))
	e.Byte(byte(o))
	for _, n := range numbers {
		e.Uvarint(n)
	}
	return e.Data()
}

func decodeOutcome(body []byte, numbers ...*uint64) (outcome, error) {
	d := peer.NewDecoder(body)
	o := outcome(d.Byte())
	for _, n := range numbers {
		*n = d.Uvarint()
	}
	if o > unsure {
		return 0, fmt.Errorf("%w: outcome %d", peer.ErrMessage, o)
	}
	return o, d.End()
}

// malformed returns the refusal of a message if it cannot be decoded.
func malformed(err error) *peer.Refusal {
	return peer.Refuse(peer.CodeStranger, 0, "%v", err)
}

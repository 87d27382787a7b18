package writes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The messages, of what peer.Encoder writes:
//
//	operations   count, then for each: kind byte, key, long terms
//	stamped      count, then for each: kind byte, epoch, sequence, key, long terms
//	acks         count, then for each: machine in 8 bytes, batch
//
//	submit       operations -> outcome, changed, unchanged, machine whose disk is full
//	deliver      epoch, sequencer in 8 bytes, incarnation, batch, settled, acks,
//	             stamped -> outcome, room
//	settled      incarnation, batch -> settled, acks
//	watermark    sequencer in 8 bytes, incarnation, settled, acks -> room
//	handover     epoch, stamped -> nothing

// outcome is how a submission or a delivery ended, where it is no refusal.
type outcome byte

const (
	done     outcome = iota
	diskFull         // nothing was done
)

// Least bytes of the elements of lists.
const (
	minOperation = 3
	minAck       = 9
)

func encodeOperations(e *peer.Encoder, operations []node.Operation, stamped bool) {
	e.Uvarint(uint64(len(operations)))
	for i := range operations {
		o := &operations[i]
		e.Byte(byte(o.Kind))
		if stamped {
			e.Uvarint(o.Stamp.Epoch)
			e.Uvarint(o.Stamp.Sequence)
		}
		e.Bytes(o.Key)
		e.Bytes(o.Long)
	}
}

// decodeOperations returns operations that alias the message. What they hold is
// for who uses them to check, but for the order of the keys and the kinds.
func decodeOperations(d *peer.Decoder, stamped bool) ([]node.Operation, error) {
	n := d.Count(minOperation)
	operations := make([]node.Operation, n)
	for i := range operations {
		o := &operations[i]
		o.Kind = node.OperationKind(d.Byte())
		if stamped {
			o.Stamp.Epoch = d.Uvarint()
			o.Stamp.Sequence = d.Uvarint()
		}
		o.Key = d.Bytes()
		if long := d.Bytes(); len(long) > 0 {
			o.Long = long
		}
		if d.Err() != nil {
			return nil, d.Err()
		}
		if o.Kind != node.OperationAdd && o.Kind != node.OperationDelete {
			return nil, fmt.Errorf("%w: operation %d is of kind %d", peer.ErrMessage, i, o.Kind)
		}
		if len(o.Key) == 0 || triple.Order(o.Key[0]) != triple.SPO {
			return nil, fmt.Errorf("%w: operation %d has no key of spo", peer.ErrMessage, i)
		}
	}
	return operations, nil
}

func encodeAcks(e *peer.Encoder, acks map[trie.MachineID]uint64) {
	e.Uvarint(uint64(len(acks)))
	for _, m := range slices.SortedFunc(maps.Keys(acks), cmp.Compare) {
		e.Uint64(uint64(m))
		e.Uvarint(acks[m])
	}
}

func decodeAcks(d *peer.Decoder) map[trie.MachineID]uint64 {
	acks := map[trie.MachineID]uint64{}
	for range d.Count(minAck) {
		m := trie.MachineID(d.Uint64())
		acks[m] = d.Uvarint()
	}
	return acks
}

func encodeDelivery(epoch uint64, d *node.Delivery) []byte {
	capacity := 64 + 20*len(d.Acks)
	for i := range d.Operations {
		capacity += len(d.Operations[i].Key) + len(d.Operations[i].Long) + 24
	}
	e := peer.NewEncoder(capacity)
	e.Uvarint(epoch)
	encodeOrigin(e, d.Origin)
	e.Uvarint(d.Settled)
	encodeAcks(e, d.Acks)
	encodeOperations(e, d.Operations, true)
	return e.Data()
}

func decodeDelivery(body []byte) (epoch uint64, _ *node.Delivery, err error) {
	d := peer.NewDecoder(body)
	epoch = d.Uvarint()
	delivery := &node.Delivery{Origin: decodeOrigin(d), Settled: d.Uvarint(), Acks: decodeAcks(d)}
	if delivery.Operations, err = decodeOperations(d, true); err == nil {
		err = d.End()
	}
	return epoch, delivery, err
}

func encodeOrigin(e *peer.Encoder, o node.Origin) {
	e.Uint64(uint64(o.Sequencer))
	e.Uvarint(o.Incarnation)
	e.Uvarint(o.Batch)
}

func decodeOrigin(d *peer.Decoder) node.Origin {
	return node.Origin{Sequencer: trie.MachineID(d.Uint64()), Incarnation: d.Uvarint(), Batch: d.Uvarint()}
}

// encodeOutcome makes the answer to a submission or a delivery.
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
	if o > diskFull {
		return 0, fmt.Errorf("%w: outcome %d", peer.ErrMessage, o)
	}
	return o, d.End()
}

// malformed refuses a message that cannot be read.
func malformed(err error) *peer.Refusal {
	return refuse(peer.CodeStranger, 0, "%v", err)
}

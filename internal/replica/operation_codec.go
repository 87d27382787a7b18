// The codec of streams and operations of sequencers in local state.

package replica

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The package comment lists the rows of local state that a holder keeps.

// heardKey returns the key of the row of a sequencer's incarnation.
func heardKey(id stream) []byte { return id.Append(keyspace.LocalKey(heardPrefix)) }

// Flags in the kind byte of an operation, on disk and in messages: it has a token or a stamper.
const (
	TokenFlag   = 0x80
	StamperFlag = 0x40
)

// rowHeader begins the row of a batch.
const rowHeader = 0x10

// batchRow is the row of a batch.
type batchRow struct {
	epoch      uint64 // in which it was sent; 0 if unknown, of a backfill
	time       int64  // of the commit, in unix ms
	operations []Operation
}

// append appends the row: rowHeader, uvarint epoch, uvarint time, and the operations.
func (r *batchRow) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, rowHeader), r.epoch)
	return appendOperations(binary.AppendUvarint(dst, uint64(max(r.time, 0))), r.operations)
}

// parseHeader decodes a row without its operations, and returns their bytes.
func (r *batchRow) parseHeader(b []byte) (operations []byte, err error) {
	if len(b) == 0 || b[0] != rowHeader {
		return nil, keyspace.LocalError(b)
	}
	c := cutter{rest: b[1:]}
	if r.epoch, r.time = c.uvarint(), int64(c.uvarint()); c.bad || r.time < 0 {
		return nil, keyspace.LocalError(b)
	}
	return c.rest, nil
}

// parseBatchRow decodes a row. The operations alias b.
func parseBatchRow(b []byte) (r batchRow, err error) {
	rest, err := r.parseHeader(b)
	if err == nil {
		r.operations, err = parseOperations(rest, 0)
	}
	return r, err
}

// logged returns what the log must know of the row of a batch.
func (r *batchRow) logged(id stream, number uint64, size int) batchlog.Batch {
	b := batchlog.Batch{Stream: id, Number: number, Bytes: int64(size)}
	for i := range r.operations {
		o := &r.operations[i]
		switch {
		// The log has an operation of a backfill when its sequencer delivers it.
		case r.epoch == 0 || !o.Kind.Changes():
		case r.fresh(o):
			b.Fresh = true
			if b.Stamp.Less(o.Stamp) {
				b.Stamp = o.Stamp
			}
		case !slices.Contains(b.Old, o.Stamp.Epoch):
			b.Old = append(b.Old, o.Stamp.Epoch)
		}
	}
	return b
}

// fresh reports whether an operation was stamped by the sequencer of the row, in the epoch in which
// the row was sent.
func (r *batchRow) fresh(o *Operation) bool { return o.Stamper == 0 && o.Stamp.Epoch == r.epoch }

// appendOperations appends the encoded operations, one after the other. Each has its kind, 16
// bytes of token if TokenFlag is set, 8 bytes of the stamper's ID if StamperFlag is set, uvarint
// epoch, uvarint sequence, uvarint length and key,
// uvarint length and long terms. An annotation continues with uvarint length and application ID,
// uvarints epoch and sequence of the annotated row, a byte (1: removed), uvarint length and data.
func appendOperations(dst []byte, operations []Operation) []byte {
	for i := range operations {
		o := &operations[i]
		dst = append(dst, o.KindByte())
		if o.Token != (store.Token{}) {
			dst = append(dst, o.Token[:]...)
		}
		if o.Stamper != 0 {
			dst = binary.BigEndian.AppendUint64(dst, uint64(o.Stamper))
		}
		dst = keyspace.AppendStamp(dst, o.Stamp)
		dst = appendField(appendField(dst, o.Key), o.Long)
		if n := o.Annotation; n != nil {
			dst = keyspace.AppendStamp(appendField(dst, []byte(n.ApplicationID)), n.On)
			removed := byte(0)
			if n.Removed {
				removed = 1
			}
			dst = appendField(append(dst, removed), n.Data)
		}
	}
	return dst
}

// KindByte returns the kind with its flags.
func (o *Operation) KindByte() byte {
	kind := byte(o.Kind)
	if o.Token != (store.Token{}) {
		kind |= TokenFlag
	}
	if o.Stamper != 0 {
		kind |= StamperFlag
	}
	return kind
}

func appendField(dst, field []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(field))), field...)
}

// parseOperations decodes the output of appendOperations. The operations alias b.
func parseOperations(b []byte, count int) ([]Operation, error) {
	operations := make([]Operation, 0, count)
	for r := (cutter{rest: b}); len(r.rest) > 0 && !r.bad; {
		var o Operation
		kind := r.byte()
		if o.Kind = store.OperationKind(kind &^ (TokenFlag | StamperFlag)); kind&TokenFlag != 0 {
			copy(o.Token[:], r.bytes(len(o.Token)))
		}
		if kind&StamperFlag != 0 {
			o.Stamper = r.machine()
		}
		o.Stamp, o.Key, o.Long = r.stamp(), r.field(), r.field()
		if o.Kind == store.OperationAnnotate {
			o.Annotation = &Annotation{ApplicationID: string(r.field()), On: r.stamp(), Removed: r.byte() != 0, Data: r.field()}
			r.bad = r.bad || o.Annotation.Check() != nil
		}
		if r.bad || !o.Kind.Valid() || len(o.Key) == 0 {
			return nil, keyspace.LocalError(b)
		}
		operations = append(operations, o)
	}
	return operations, nil
}

// cutter reads fields from the front of rest. bad is set when a field is incomplete.
type cutter struct {
	rest []byte
	bad  bool
}

func (c *cutter) byte() byte {
	if c.bad || len(c.rest) == 0 {
		c.bad = true
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cutter) uvarint() uint64 {
	n, size := binary.Uvarint(c.rest)
	if c.bad || size <= 0 {
		c.bad = true
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

func (c *cutter) stamp() triple.Stamp {
	return triple.Stamp{Epoch: c.uvarint(), Sequence: c.uvarint()}
}

// machine returns the machine in the next 8 bytes. It must not be 0.
func (c *cutter) machine() trie.MachineID {
	b := c.bytes(8)
	if b == nil {
		return 0
	}
	id := trie.MachineID(binary.BigEndian.Uint64(b))
	c.bad = c.bad || id == 0
	return id
}

// field returns the next field, or nil if it is empty.
func (c *cutter) field() []byte {
	n := c.uvarint()
	if c.bad || n > uint64(len(c.rest)) {
		c.bad = true
		return nil
	}
	if n == 0 {
		return nil
	}
	return c.bytes(int(n))
}

// bytes returns the next n bytes, or nil if there are fewer.
func (c *cutter) bytes(n int) []byte {
	if c.bad || n > len(c.rest) {
		c.bad = true
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// append appends the value of a row of heardPrefix: uvarints last, settled and the number of acks.
// Each ack has the machine in 8 bytes and a uvarint batch.
func (h *Heard) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, h.Last)
	dst = binary.AppendUvarint(dst, h.Committed)
	dst = binary.AppendUvarint(dst, uint64(len(h.Acks)))
	for _, machine := range slices.Sorted(maps.Keys(h.Acks)) {
		dst = binary.BigEndian.AppendUint64(dst, uint64(machine))
		dst = binary.AppendUvarint(dst, h.Acks[machine])
	}
	return dst
}

func parseHeard(id stream, b []byte) (*Heard, error) {
	h := &Heard{Sequencer: id.Machine, Incarnation: id.Incarnation}
	// 1. Read the uvarints at the front.
	rest, count := b, uint64(0)
	for _, n := range []*uint64{&h.Last, &h.Committed, &count} {
		var size int
		if *n, size = binary.Uvarint(rest); size <= 0 {
			return nil, keyspace.LocalError(b)
		}
		rest = rest[size:]
	}
	if count > 0 {
		h.Acks = map[trie.MachineID]uint64{}
	}
	// 2. Read the acks: at least 9 bytes each. Nothing may follow the last one.
	for range count {
		if len(rest) < 9 {
			return nil, keyspace.LocalError(b)
		}
		batch, size := binary.Uvarint(rest[8:])
		if size <= 0 {
			return nil, keyspace.LocalError(b)
		}
		h.Acks[trie.MachineID(binary.BigEndian.Uint64(rest))] = batch
		rest = rest[8+size:]
	}
	if len(rest) > 0 {
		return nil, keyspace.LocalError(b)
	}
	return h, nil
}

// rowStamp returns the stamp in the value of a row or an annotation.
func rowStamp(value []byte) (triple.Stamp, error) {
	if len(value) > 0 {
		epoch, n := binary.Uvarint(value[1:])
		if n > 0 {
			if sequence, m := binary.Uvarint(value[1+n:]); m > 0 {
				return triple.Stamp{Epoch: epoch, Sequence: sequence}, nil
			}
		}
	}
	return triple.Stamp{}, fmt.Errorf("%w: a row without a stamp", triple.ErrCorrupt)
}

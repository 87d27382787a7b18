// How streams and operations of sequencers are written in local state.

package node

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is the rows of local state that a holder keeps; the package comment
// lists them.

// originKey returns the row of a batch that is not settled.
func originKey(o Origin) []byte {
	key := appendStream(localKey(unsettledPrefix), o.stream())
	return binary.BigEndian.AppendUint64(key, o.Batch)
}

func parseOriginKey(key []byte) (Origin, error) {
	b := key[1+len(unsettledPrefix):]
	if len(b) != 24 {
		return Origin{}, errLocal(key)
	}
	id, err := parseStream(b[:16])
	return Origin{id.machine, id.incarnation, binary.BigEndian.Uint64(b[16:])}, err
}

// heardKey returns the row of a sequencer's incarnation.
func heardKey(id stream) []byte { return appendStream(localKey(heardPrefix), id) }

func appendStream(dst []byte, id stream) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(id.machine))
	return binary.BigEndian.AppendUint64(dst, id.incarnation)
}

func parseStream(b []byte) (stream, error) {
	if len(b) != 16 {
		return stream{}, errLocal(b)
	}
	return stream{trie.MachineID(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])}, nil
}

func errLocal(b []byte) error {
	return fmt.Errorf("%w: a row of local state: % X", ErrCorrupt, clip(b))
}

// TokenFlag is set in the byte of the kind of an operation that has a token, on disks and
// in messages.
const TokenFlag = 0x80

// appendOperations appends the encoded form of operations, one after the other:
// kind, with TokenFlag the 16 bytes of the token, uvarint epoch, uvarint sequence, uvarint length and key, uvarint length
// and long terms; of an annotation also uvarint length and application id, uvarints
// epoch and sequence of the version, a byte (1: removed), uvarint length and data.
func appendOperations(dst []byte, operations []Operation) []byte {
	for i := range operations {
		o := &operations[i]
		if o.Token == (Token{}) {
			dst = append(dst, byte(o.Kind))
		} else {
			dst = append(append(dst, byte(o.Kind)|TokenFlag), o.Token[:]...)
		}
		dst = appendStamp(dst, o.Stamp)
		dst = appendField(appendField(dst, o.Key), o.Long)
		if n := o.Note; n != nil {
			dst = appendStamp(appendField(dst, []byte(n.ApplicationID)), n.On)
			removed := byte(0)
			if n.Removed {
				removed = 1
			}
			dst = appendField(append(dst, removed), n.Data)
		}
	}
	return dst
}

func appendField(dst, field []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(field))), field...)
}

// parseOperations decodes what appendOperations made; the operations alias b.
func parseOperations(b []byte, count int) ([]Operation, error) {
	operations := make([]Operation, 0, count)
	for r := (cutter{rest: b}); len(r.rest) > 0 && !r.bad; {
		var o Operation
		kind := r.byte()
		if o.Kind = OperationKind(kind &^ TokenFlag); kind&TokenFlag != 0 {
			copy(o.Token[:], r.bytes(len(o.Token)))
		}
		o.Stamp, o.Key, o.Long = r.stamp(), r.field(), r.field()
		if o.Kind == OperationAnnotate {
			o.Note = &Note{ApplicationID: string(r.field()), On: r.stamp(), Removed: r.byte() != 0, Data: r.field()}
			r.bad = r.bad || o.Note.Check() != nil
		}
		if r.bad || !o.Kind.Valid() || len(o.Key) == 0 {
			return nil, errLocal(b)
		}
		operations = append(operations, o)
	}
	return operations, nil
}

// cutter reads fields from the front of rest; bad says that one is not whole.
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

// field returns nil where it is empty.
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

// bytes returns so many bytes, nil if there are fewer.
func (c *cutter) bytes(n int) []byte {
	if c.bad || n > len(c.rest) {
		c.bad = true
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// append appends the value of a row of heardPrefix: uvarints last, settled and
// the number of acks, and for each the machine in 8 bytes and a uvarint batch.
func (h *Heard) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, h.Last)
	dst = binary.AppendUvarint(dst, h.Settled)
	dst = binary.AppendUvarint(dst, uint64(len(h.Acks)))
	for _, machine := range slices.Sorted(maps.Keys(h.Acks)) {
		dst = binary.BigEndian.AppendUint64(dst, uint64(machine))
		dst = binary.AppendUvarint(dst, h.Acks[machine])
	}
	return dst
}

func parseHeard(id stream, b []byte) (*Heard, error) {
	h := &Heard{Sequencer: id.machine, Incarnation: id.incarnation}
	rest, count := b, uint64(0)
	for _, n := range []*uint64{&h.Last, &h.Settled, &count} {
		var size int
		if *n, size = binary.Uvarint(rest); size <= 0 {
			return nil, errLocal(b)
		}
		rest = rest[size:]
	}
	if count > 0 {
		h.Acks = map[trie.MachineID]uint64{}
	}
	for range count {
		if len(rest) < 9 {
			return nil, errLocal(b)
		}
		batch, size := binary.Uvarint(rest[8:])
		if size <= 0 {
			return nil, errLocal(b)
		}
		h.Acks[trie.MachineID(binary.BigEndian.Uint64(rest))] = batch
		rest = rest[8+size:]
	}
	if len(rest) > 0 {
		return nil, errLocal(b)
	}
	return h, nil
}

// rowStamp returns the stamp of a row's value, of a version or an annotation.
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

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

// appendOperations appends the encoded form of operations, one after the other:
// kind, uvarint epoch, uvarint sequence, uvarint length and key, uvarint length
// and long terms.
func appendOperations(dst []byte, operations []Operation) []byte {
	for i := range operations {
		o := &operations[i]
		dst = append(dst, byte(o.Kind))
		dst = appendStamp(dst, o.Stamp)
		for _, field := range [][]byte{o.Key, o.Long} {
			dst = binary.AppendUvarint(dst, uint64(len(field)))
			dst = append(dst, field...)
		}
	}
	return dst
}

// parseOperations decodes what appendOperations made; the operations alias b.
func parseOperations(b []byte, count int) ([]Operation, error) {
	operations := make([]Operation, 0, count)
	for rest := b; len(rest) > 0; {
		o := Operation{Kind: OperationKind(rest[0])}
		ok := o.Kind == OperationAdd || o.Kind == OperationDelete
		rest = rest[1:]
		for _, n := range []*uint64{&o.Stamp.Epoch, &o.Stamp.Sequence} {
			var size int
			*n, size = binary.Uvarint(rest)
			if size <= 0 {
				return nil, errLocal(b)
			}
			rest = rest[size:]
		}
		for _, field := range []*[]byte{&o.Key, &o.Long} {
			n, size := binary.Uvarint(rest)
			if size <= 0 || n > uint64(len(rest)-size) {
				return nil, errLocal(b)
			}
			if n > 0 {
				*field = rest[size : size+int(n) : size+int(n)]
			}
			rest = rest[size+int(n):]
		}
		if !ok || len(o.Key) == 0 {
			return nil, errLocal(b)
		}
		operations = append(operations, o)
	}
	return operations, nil
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

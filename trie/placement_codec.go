// Placements as bytes.

package trie

import (
	"encoding/binary"
	"fmt"
)

// AppendBinary appends the encoding of the placement to b and returns the
// result. The package comment draws the format. The error is always nil; it is
// there for encoding.BinaryAppender.
func (p *Placement) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = placementFormat.begin(b)
	b = binary.AppendUvarint(b, uint64(len(p.machines)))
	for _, id := range p.machines {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
	}
	b = binary.AppendUvarint(b, uint64(len(p.owners)))
	for _, owner := range p.owners {
		b = binary.AppendUvarint(b, uint64(owner))
	}
	return placementFormat.seal(b, start), nil
}

// ParsePlacement returns the placement encoded by b; all of b, to its last byte. It keeps nothing
// of b. For any b, ParsePlacement does not panic, and allocates no more than some 10 times
// len(b). Its errors wrap [ErrCorrupt] or [ErrVersion] and name the byte and the element at
// fault.
func ParsePlacement(b []byte) (*Placement, error) {
	p, err := parsePlacement(b)
	if err != nil {
		return nil, fmt.Errorf("trie: parse a placement: %w", err)
	}
	return p, nil
}

func parsePlacement(b []byte) (*Placement, error) {
	r, err := placementFormat.open(b)
	if err != nil {
		return nil, err
	}
	// 1. The machines. They must ascend, because equal placements must have equal bytes.
	machines := r.count("the number of machines", 8, MaxMachines)
	idsOff := r.off
	ids := r.bytes("the machine IDs", 8*machines)
	p := &Placement{machines: make(Ring, 0, machines)}
	previous := MachineID(0)
	for i := 0; i < len(ids); i += 8 {
		id := MachineID(binary.BigEndian.Uint64(ids[i:]))
		if id <= previous {
			r.fail(idsOff+i, "machine %s is zero, or not greater than the one before", id)
			return nil, fmt.Errorf("machine %d of %d: %w", i/8+1, machines, r.err)
		}
		p.machines = append(p.machines, id)
		previous = id
	}
	// 2. The owners, as places among the machines.
	p.owners = make([]uint16, r.count("the number of partitions", 1, MaxPartitions))
	for i := range p.owners {
		p.owners[i] = uint16(r.uvarint("the owner", uint64(len(p.machines)-1)))
		if r.err != nil {
			return nil, fmt.Errorf("partition %d of %d: %w", i, len(p.owners), r.err)
		}
	}
	r.end()
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

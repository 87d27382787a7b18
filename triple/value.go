package triple

import (
	"encoding/binary"
	"fmt"
)

// Stamp is when a version was written, in the cluster's order: greater stamps
// win (epoch first, then sequence).
type Stamp struct {
	Epoch    uint64
	Sequence uint64
}

// Less tells whether s is older than other.
func (s Stamp) Less(other Stamp) bool {
	if s.Epoch != other.Epoch {
		return s.Epoch < other.Epoch
	}
	return s.Sequence < other.Sequence
}

// Flags in a value's first byte. Bits 4 to 7 tell which terms are long, subject
// first.
const (
	flagTombstone  = 1 << 0
	flagAnnotation = 1 << 1
	flagLong       = 0xF0
	flagKnown      = flagTombstone | flagLong
)

// Value is the value of a version.
type Value struct {
	Stamp     Stamp
	Tombstone bool // the triple is deleted since Stamp
	// Long holds, by position, the whole encoded form of each long term; nil for
	// terms that the key holds whole.
	Long [4][]byte
}

// AppendValue appends the encoded value of a version of t: flags, stamp, and the
// whole form of every long term.
func AppendValue(dst []byte, stamp Stamp, t Triple) []byte {
	v := Value{Stamp: stamp}
	for position := range v.Long {
		term := t.term(position)
		if len(term.value)+len(term.lang)+len(term.datatype) <= longBody/4 {
			continue // even escaped and with its value bytes it cannot be long
		}
		whole := AppendWholeTerm(nil, *term)
		if isLong(whole) {
			v.Long[position] = whole
		}
	}
	return v.Append(dst)
}

// Append appends the encoded value.
func (v *Value) Append(dst []byte) []byte {
	flags := byte(0)
	if v.Tombstone {
		flags |= flagTombstone
	}
	for position, whole := range v.Long {
		if whole != nil {
			flags |= 0x10 << position
		}
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, v.Stamp.Epoch)
	dst = binary.AppendUvarint(dst, v.Stamp.Sequence)
	for _, whole := range v.Long {
		if whole != nil {
			dst = binary.AppendUvarint(dst, uint64(len(whole)))
			dst = append(dst, whole...)
		}
	}
	return dst
}

// DecodeValue decodes a value; long terms alias b. The error wraps [ErrCorrupt].
func DecodeValue(b []byte) (Value, error) {
	var v Value
	if len(b) == 0 {
		return v, fmt.Errorf("%w: empty value", ErrCorrupt)
	}
	flags := b[0]
	if flags&^byte(flagKnown) != 0 {
		return v, fmt.Errorf("%w: unknown flags 0x%02X in a value", ErrCorrupt, flags)
	}
	v.Tombstone = flags&flagTombstone != 0
	rest := b[1:]
	for _, field := range []*uint64{&v.Stamp.Epoch, &v.Stamp.Sequence} {
		var ok bool
		if *field, rest, ok = cutUvarint(rest); !ok {
			return v, fmt.Errorf("%w: bad stamp in a value", ErrCorrupt)
		}
	}
	for position := range v.Long {
		if flags&(0x10<<position) == 0 {
			continue
		}
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			return v, fmt.Errorf("%w: a long term runs past its value", ErrCorrupt)
		}
		rest = rest[size:]
		v.Long[position] = rest[:n:n]
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return v, fmt.Errorf("%w: %d bytes after a value", ErrCorrupt, len(rest))
	}
	return v, nil
}

// cutUvarint reads a uvarint from the front of b.
func cutUvarint(b []byte) (n uint64, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, b, false
	}
	return n, b[size:], true
}

// IsAnnotation tells whether a row's value is an annotation's.
func IsAnnotation(value []byte) bool { return len(value) > 0 && value[0]&flagAnnotation != 0 }

// IsTombstone tells whether a version's value is a tombstone.
func IsTombstone(value []byte) bool { return len(value) > 0 && value[0]&flagTombstone != 0 }

// AppendAnnotation appends the value of an annotation row: flags, stamp, data to
// the end.
func AppendAnnotation(dst []byte, stamp Stamp, data []byte) []byte {
	dst = append(dst, flagAnnotation)
	dst = binary.AppendUvarint(dst, stamp.Epoch)
	dst = binary.AppendUvarint(dst, stamp.Sequence)
	return append(dst, data...)
}

// DecodeAnnotation decodes the value of an annotation row; data aliases b. The
// error wraps [ErrCorrupt].
func DecodeAnnotation(b []byte) (stamp Stamp, data []byte, err error) {
	if len(b) == 0 || b[0] != flagAnnotation {
		return stamp, nil, fmt.Errorf("%w: not an annotation", ErrCorrupt)
	}
	var ok bool
	if stamp.Epoch, b, ok = cutUvarint(b[1:]); !ok {
		return stamp, nil, fmt.Errorf("%w: bad stamp in an annotation", ErrCorrupt)
	}
	if stamp.Sequence, b, ok = cutUvarint(b); !ok {
		return stamp, nil, fmt.Errorf("%w: bad stamp in an annotation", ErrCorrupt)
	}
	return stamp, b, nil
}

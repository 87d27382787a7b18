// Values of rows: flags, stamps and terms that do not fit into keys.

package triple

import (
	"cmp"
	"encoding/binary"
	"fmt"
)

// Stamp is the position of a write in the cluster's order: epoch first, then sequence. If a triple
// has two rows, the greater stamp wins.
type Stamp struct {
	Epoch    uint64
	Sequence uint64
}

// Less reports whether s is older than other.
func (s Stamp) Less(other Stamp) bool {
	if s.Epoch != other.Epoch {
		return s.Epoch < other.Epoch
	}
	return s.Sequence < other.Sequence
}

// Compare returns -1 if s is older than other, 1 if it is newer, else 0.
func (s Stamp) Compare(other Stamp) int {
	if c := cmp.Compare(s.Epoch, other.Epoch); c != 0 {
		return c
	}
	return cmp.Compare(s.Sequence, other.Sequence)
}

// Flags in a value's first byte. Bits 4 to 7 are set for long terms, subject first.
const (
	flagTombstone  = 1 << 0
	flagAnnotation = 1 << 1
	flagSecond     = 1 << 2 // a second stamp follows the first
	flagLong       = 0xF0
	flagKnown      = flagTombstone | flagSecond | flagLong
)

// Value is the value of a triple's row.
type Value struct {
	Stamp     Stamp
	Tombstone bool // the triple was deleted at Stamp
	// Deleted is the greatest known stamp of a delete before the row, as long as it matters; zero
	// if there is none. Annotations from before that delete are gone. A tombstone has none, because
	// its own stamp serves.
	Deleted Stamp
	// Long holds, by position, the whole encoded form of each long term. It is nil if the key holds
	// the whole term.
	Long [4][]byte
}

// AppendValue appends the encoded value of a row of t: flags, stamp, and the whole form of every
// long term.
func AppendValue(dst []byte, stamp Stamp, t Triple) []byte {
	v := Value{Stamp: stamp}
	for position := range v.Long {
		term := t.term(position)
		if len(term.value)+len(term.lang)+len(term.datatype) <= longBody/4 {
			continue // it cannot be long, even escaped and with its value bytes
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
	second := !v.Tombstone && v.Deleted != (Stamp{})
	if v.Tombstone {
		flags |= flagTombstone
	}
	if second {
		flags |= flagSecond
	}
	for position, whole := range v.Long {
		if whole != nil {
			flags |= 0x10 << position
		}
	}
	dst = v.Stamp.append(append(dst, flags))
	if second {
		dst = v.Deleted.append(dst)
	}
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
	// 1. Unknown flags must be rejected, because the rest cannot be understood then.
	flags := b[0]
	if flags&^byte(flagKnown) != 0 {
		return v, fmt.Errorf("%w: unknown flags 0x%02X in a value", ErrCorrupt, flags)
	}
	v.Tombstone = flags&flagTombstone != 0
	var rest []byte
	var ok bool
	if v.Stamp, v.Deleted, rest, ok = cutStamps(b); !ok || v.Tombstone && flags&flagSecond != 0 {
		return v, fmt.Errorf("%w: bad stamp in a value", ErrCorrupt)
	}
	// 2. The long terms follow by position; no length may exceed the rest.
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

// append appends the stamp: uvarint epoch, uvarint sequence.
func (s Stamp) append(dst []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, s.Epoch), s.Sequence)
}

// cutStamps cuts the stamps of a value: the first, and the second if the flags have it. The second
// must not be zero.
func cutStamps(b []byte) (first, second Stamp, rest []byte, ok bool) {
	rest = b[1:]
	if first, rest, ok = cutStamp(rest); !ok || b[0]&flagSecond == 0 {
		return first, second, rest, ok
	}
	second, rest, ok = cutStamp(rest)
	return first, second, rest, ok && second != Stamp{}
}

func cutStamp(b []byte) (s Stamp, rest []byte, ok bool) {
	for _, field := range []*uint64{&s.Epoch, &s.Sequence} {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return s, b, false
		}
		*field, b = n, b[size:]
	}
	return s, b, true
}

// IsAnnotation reports whether a row's value is an annotation.
func IsAnnotation(value []byte) bool { return len(value) > 0 && value[0]&flagAnnotation != 0 }

// IsTombstone reports whether a row's value is a tombstone, of a triple or of an annotation.
func IsTombstone(value []byte) bool { return len(value) > 0 && value[0]&flagTombstone != 0 }

// DeletedAt returns the greatest stamp of a delete in the value of a triple's row. It is the
// value's own stamp if it is a tombstone, else Value.Deleted, and zero if there is none. The value
// must be well-formed.
func DeletedAt(value []byte) Stamp {
	if len(value) == 0 || value[0]&(flagTombstone|flagSecond) == 0 {
		return Stamp{}
	}
	first, second, _, _ := cutStamps(value)
	if value[0]&flagTombstone != 0 {
		return first
	}
	return second
}

// Bare returns the value of a row without Value.Deleted, because that may differ between the
// machines of a row. If the value has none, Bare returns value itself.
func Bare(value []byte) []byte {
	if len(value) == 0 || IsAnnotation(value) || value[0]&flagSecond == 0 {
		return value
	}
	first, _, rest, ok := cutStamps(value)
	if !ok {
		return value
	}
	bare := first.append(append(make([]byte, 0, len(value)), value[0]&^flagSecond))
	return append(bare, rest...)
}

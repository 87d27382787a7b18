// Positions in the feed, and their text.

package feed

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Position is a point in the feed of one store. The zero Position lies before all changes.
// Positions are values: methods that change one return a new one.
type Position struct {
	// Source identifies the store: a lone store keeps it when it grows to a cluster.
	Source uint64
	// Epoch is the epoch of the marks. All changes of earlier epochs lie before the position.
	Epoch uint64
	// Marks ascend by sequencer. Changes of Epoch by a sequencer without a mark lie behind the
	// position.
	Marks []Mark
}

// Mark is the last sequence of a sequencer before a position.
type Mark struct {
	Sequencer trie.MachineID
	Sequence  uint64
}

// ErrPosition means that a text is not a position, or not one of this store.
var ErrPosition = errors.New("invalid position")

// IsZero reports whether p lies before all changes.
func (p Position) IsZero() bool { return p.Source == 0 && p.Epoch == 0 && len(p.Marks) == 0 }

// Sequence returns the last sequence of a sequencer before p, of changes of p.Epoch; 0 if none is.
func (p Position) Sequence(sequencer trie.MachineID) uint64 {
	at, ok := p.find(sequencer)
	if !ok {
		return 0
	}
	return p.Marks[at].Sequence
}

func (p Position) find(sequencer trie.MachineID) (int, bool) {
	return slices.BinarySearchFunc(p.Marks, sequencer, func(m Mark, s trie.MachineID) int {
		switch {
		case m.Sequencer < s:
			return -1
		case m.Sequencer > s:
			return 1
		}
		return 0
	})
}

// Covers reports whether a change lies at or before p.
func (p Position) Covers(sequencer trie.MachineID, stamp triple.Stamp) bool {
	return stamp.Epoch < p.Epoch || stamp.Epoch == p.Epoch && stamp.Sequence <= p.Sequence(sequencer)
}

// Reaches reports whether every change at or before other lies at or before p.
func (p Position) Reaches(other Position) bool {
	if p.Epoch != other.Epoch {
		return p.Epoch > other.Epoch
	}
	return !slices.ContainsFunc(other.Marks, func(m Mark) bool { return p.Sequence(m.Sequencer) < m.Sequence })
}

// Common returns the last position that both p and other reach. They are of one store.
func (p Position) Common(other Position) Position {
	if p.Epoch > other.Epoch {
		p, other = other, p
	}
	if p.Epoch < other.Epoch {
		return p.Clone()
	}
	marks := make([]Mark, 0, len(p.Marks))
	for _, m := range p.Marks {
		if m.Sequence = min(m.Sequence, other.Sequence(m.Sequencer)); m.Sequence > 0 {
			marks = append(marks, m)
		}
	}
	return Position{p.Source, p.Epoch, marks}
}

// Clone returns a copy that shares no memory with p.
func (p Position) Clone() Position {
	p.Marks = slices.Clone(p.Marks)
	return p
}

// Advance returns the position behind a change and everything before p. A change of a later epoch
// begins that epoch. p is unchanged.
func (p Position) Advance(sequencer trie.MachineID, stamp triple.Stamp) Position {
	if p.Covers(sequencer, stamp) {
		return p
	}
	if stamp.Epoch > p.Epoch {
		return Position{p.Source, stamp.Epoch, []Mark{{sequencer, stamp.Sequence}}}
	}
	at, ok := p.find(sequencer)
	marks := slices.Clone(p.Marks)
	if ok {
		marks[at].Sequence = stamp.Sequence
	} else {
		marks = slices.Insert(marks, at, Mark{sequencer, stamp.Sequence})
	}
	return Position{p.Source, p.Epoch, marks}
}

// Begin returns the position before all changes of an epoch and behind all of earlier ones.
func (p Position) Begin(epoch uint64) Position { return Position{Source: p.Source, Epoch: epoch} }

const (
	positionVersion = 1
	checksumBytes   = 4
	// maxMarks bounds a decoded position. No cluster has as many members.
	maxMarks = 1 << 16
)

// String returns the position as text of letters, digits, '-' and '_'. The zero Position is "0".
// The text is base64url of a version byte, the source in 8 bytes, uvarint epoch, uvarint n and n
// marks of 8 bytes and a uvarint, and 4 bytes of checksum.
func (p Position) String() string {
	if p.IsZero() {
		return "0"
	}
	b := binary.BigEndian.AppendUint64([]byte{positionVersion}, p.Source)
	b = binary.AppendUvarint(b, p.Epoch)
	b = binary.AppendUvarint(b, uint64(len(p.Marks)))
	for _, m := range p.Marks {
		b = binary.BigEndian.AppendUint64(b, uint64(m.Sequencer))
		b = binary.AppendUvarint(b, m.Sequence)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(xxhash.Sum64(b)))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParsePosition decodes the output of String. Its error is [ErrPosition].
func ParsePosition(text string) (Position, error) {
	if text == "0" {
		return Position{}, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 1+8+2+checksumBytes {
		return Position{}, fmt.Errorf("%w: it is not the text of one", ErrPosition)
	}
	// 1. The checksum tells typing mistakes and truncated texts from positions.
	body := b[:len(b)-checksumBytes]
	if binary.BigEndian.Uint32(b[len(body):]) != uint32(xxhash.Sum64(body)) {
		return Position{}, fmt.Errorf("%w: its checksum differs; it was cut or changed", ErrPosition)
	}
	if body[0] != positionVersion {
		return Position{}, fmt.Errorf("%w: version %d is of another release", ErrPosition, body[0])
	}
	// 2. Decode the fields. Marks must ascend, because look-ups bisect them.
	malformed := fmt.Errorf("%w: it is malformed", ErrPosition)
	p := Position{Source: binary.BigEndian.Uint64(body[1:])}
	rest := body[9:]
	next := func() (n uint64, ok bool) {
		n, size := binary.Uvarint(rest)
		if size <= 0 {
			return 0, false
		}
		rest = rest[size:]
		return n, true
	}
	epoch, ok := next()
	count, ok2 := next()
	if !ok || !ok2 || count > maxMarks || count > uint64(len(rest))/9 {
		return Position{}, malformed
	}
	p.Epoch = epoch
	for range count {
		if len(rest) < 9 {
			return Position{}, malformed
		}
		m := Mark{Sequencer: trie.MachineID(binary.BigEndian.Uint64(rest))}
		rest = rest[8:]
		if m.Sequence, ok = next(); !ok {
			return Position{}, malformed
		}
		if n := len(p.Marks); n > 0 && p.Marks[n-1].Sequencer >= m.Sequencer {
			return Position{}, malformed
		}
		p.Marks = append(p.Marks, m)
	}
	if len(rest) > 0 || p.String() != text {
		return Position{}, malformed
	}
	return p, nil
}

// GoneError means that the feed no longer reaches back to a position. A consumer must read all rows
// of its filter again, then follow the feed from Continue. It is wrapped by [ErrGone].
type GoneError struct {
	Reason   string   // for people: what removed the changes
	Continue Position // taken before the error was returned
}

// ErrGone matches every [GoneError].
var ErrGone = errors.New("the change feed no longer reaches back to this position")

// Error implements error.
func (e *GoneError) Error() string { return fmt.Sprintf("%v: %s", ErrGone, e.Reason) }

// Is makes errors.Is(err, ErrGone) true.
func (e *GoneError) Is(target error) bool { return target == ErrGone }

// Table: opening, and reads of single lists.

package lists

import (
	"fmt"

	"github.com/trefoildb/trefoil/links/ef"
)

// Table is an open table. It is immutable and safe for concurrent use.
//
// [Open] does not check the lists. A read returns an error if its list is damaged. Otherwise its
// targets ascend strictly and are in range: locals below Len, ghosts below GhostEnd. No read
// panics or leaves the table's bytes.
type Table struct {
	header
	coder     decoder
	layout    *layout // of StreamVByte
	codes     codes   // of Reference
	wide      codes   // of its wide segments
	positions ef.Parts
	data      []byte
	limit     uint64 // greatest position in data
}

// Open returns the table in b, which must be the whole of it. It keeps b, which must not change.
// It checks the header and the ends of the pieces, but not the lists. Errors wrap [ErrCorrupt]
// or [ErrVersion].
func Open(b []byte) (*Table, error) {
	t := new(Table)
	if err := t.header.parse(b); err != nil {
		return nil, err
	}
	// 1. Split the pieces. The header's check has bounded their lengths.
	t.coder = decoderOf(t.codec)
	if t.codec == StreamVByte {
		t.layout = layoutOf(t.lengths)
	}
	t.makeCodes()
	t.data = b[headerLen+t.positionBytes:]
	var err error
	var used int
	if t.positions, used, err = ef.OpenParts(b[headerLen : headerLen+t.positionBytes]); err != nil {
		return nil, fmt.Errorf("%w: positions: %w", ErrCorrupt, err)
	}
	// 2. Check the number of positions and the last one. ef.OpenParts has checked their order.
	if uint64(t.positions.Len()) != uint64(t.n)+1 || t.positionBytes-uint64(used) >= 8 {
		return nil, fmt.Errorf("%w: %d positions in %d bytes for %d keys",
			ErrCorrupt, t.positions.Len(), t.positionBytes, t.n)
	}
	var ok bool
	if t.limit, ok = t.coder.limit(t.data); !ok {
		return nil, fmt.Errorf("%w: no list ends in %d bytes", ErrCorrupt, len(t.data))
	}
	if end := t.positions.At(int(t.n)); end > t.limit {
		return nil, fmt.Errorf("%w: lists end at %d of %d", ErrCorrupt, end, t.limit)
	}
	return t, nil
}

// makeCodes sets the codes of numbers in Reference.
func (t *Table) makeCodes() {
	t.codes = codesOf(t.lengths)
	wide := t.lengths
	wide[3] = maxBits
	t.wide = codesOf(wide)
}

// Len returns the number of keys.
func (t *Table) Len() uint32 { return t.n }

// NumLocals returns the header's number of local targets of all lists.
func (t *Table) NumLocals() uint64 { return t.locals }

// NumGhosts returns the header's number of ghosts of all lists.
func (t *Table) NumGhosts() uint64 { return t.ghosts }

// MaxDegree returns the header's length of the longest list.
func (t *Table) MaxDegree() uint32 { return t.maxDegree }

// GhostEnd returns 1 + the greatest ghost: the least length of a dictionary.
func (t *Table) GhostEnd() uint32 { return t.ghostEnd }

// Codec returns the table's codec.
func (t *Table) Codec() Codec { return t.codec }

// Size returns the length of the table and of its positions, in bytes.
func (t *Table) Size() (whole, positions uint64) {
	return headerLen + t.positionBytes + t.dataBytes, t.positionBytes
}

// position returns the position of a key's list. key must be below n.
func (t *Table) position(key uint32) (uint64, bool) {
	pos := t.positions.At(int(key))
	return pos, pos < t.limit
}

// Degrees returns the numbers of local targets and ghosts of a key, without decoding them. It
// returns (0, 0) if the key is missing or the list is damaged.
func (t *Table) Degrees(key uint32) (locals, ghosts uint32) {
	if key >= t.n {
		return 0, 0
	}
	pos, ok := t.position(key)
	if !ok {
		return 0, 0
	}
	if locals, ghosts, ok = t.coder.degrees(t, pos); !ok {
		return 0, 0
	}
	return locals, ghosts
}

// Degree returns the number of targets of a key, like [Table.Degrees].
func (t *Table) Degree(key uint32) uint64 {
	l, g := t.Degrees(key)
	return uint64(l) + uint64(g)
}

// DecodeTogether decodes the list of a key into buf, local targets before ghosts, and returns
// both counts. It is for short lists, because it fails for others. ok is false, and buf
// undefined, in three cases: the codec is not StreamVByte, the list does not fit buf, rounded up
// to a multiple of four, or the list is damaged. Use [Table.Decode] then. It keeps nothing of
// buf, so buf may be on the stack.
func (t *Table) DecodeTogether(buf []uint32, key uint32) (locals, ghosts int, ok bool) {
	if t.codec != StreamVByte || key >= t.n {
		return 0, 0, false
	}
	pos, ok := t.position(key)
	if !ok {
		return 0, 0, false
	}
	var l svbList
	if !l.parse(t.data, pos, t.limit) {
		return 0, 0, false
	}
	room := (uint64(l.locals) + uint64(l.ghosts) + slack) &^ slack
	if room > uint64(len(buf)) {
		return 0, 0, false
	}
	_, ok = l.body(t, buf[:room], key)
	return int(l.locals), int(l.ghosts), ok
}

// Decode appends the targets of a key to locals and ghosts, and returns both. A missing key has
// none. It takes the memory of the list. If the table is damaged, that is at most 16 bytes for
// each byte of the table, or in Reference 8 for each key and each ghost. If a list may be too long for one slice, use [Table.Scan] from key to
// key+1. After an error, which wraps [ErrCorrupt], nothing is appended.
func (t *Table) Decode(key uint32, locals, ghosts []uint32) (l, g []uint32, err error) {
	if key >= t.n {
		return locals, ghosts, nil
	}
	pos, ok := t.position(key)
	if ok {
		l, g, ok = t.coder.decode(t, key, pos, locals, ghosts)
	}
	if !ok {
		return locals, ghosts, t.damaged(key)
	}
	return l, g, nil
}

func (t *Table) damaged(key uint32) error {
	return fmt.Errorf("%w: the list of key %d", ErrCorrupt, key)
}

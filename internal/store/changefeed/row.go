// The codec of rows.

package changefeed

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

const (
	rowFormat = 1

	flagContinued = 1 << 0 // of a row

	kindBits       = 0x07
	flagStamp      = 0x08
	flagLong       = 0x10
	flagRemoved    = 0x20
	flagDepth      = 0x40
	flagPredicates = 0x80

	clearAll     = 1 << 0
	clearDefault = 1 << 1
)

// Encoder makes the rows of a log. The zero value is ready for Begin.
type Encoder struct {
	buf      []byte
	key      []byte // the last key
	sequence uint64 // of the last change
	depth    uint8  // of the next changes
	changes  int
}

// Begin begins a row of a commit at a time.
func (e *Encoder) Begin(at time.Time) {
	e.buf = binary.AppendUvarint(append(e.buf[:0], rowFormat, 0), uint64(max(at.UnixMilli(), 0)))
	e.key, e.sequence, e.changes = e.key[:0], 0, 0
}

// SetDepth sets the depth of the next changes.
func (e *Encoder) SetDepth(depth uint8) { e.depth = depth }

// Bytes returns the row. It is valid until the next Begin. If continued is set, the next row has
// changes of the same position.
func (e *Encoder) Bytes(continued bool) []byte {
	if continued {
		e.buf[1] |= flagContinued
	}
	return e.buf
}

// kind appends the first byte of a change, its sequence if it is a new one, and its depth.
func (e *Encoder) kind(kind byte, sequence uint64) {
	e.changes++
	if e.depth > 0 {
		kind |= flagDepth
	}
	if sequence == e.sequence {
		e.buf = append(e.buf, kind)
	} else {
		e.buf = binary.AppendUvarint(append(e.buf, kind|flagStamp), sequence-e.sequence)
		e.sequence = sequence
	}
	if e.depth > 0 {
		e.buf = append(e.buf, e.depth)
	}
}

func (e *Encoder) sized(b []byte) {
	e.buf = append(binary.AppendUvarint(e.buf, uint64(len(b))), b...)
}

// triple appends the kind, the key and the long terms of a change.
func (e *Encoder) triple(kind byte, sequence uint64, key, long []byte) {
	if long != nil {
		kind |= flagLong
	}
	e.kind(kind, sequence)
	n := shared(e.key, key)
	e.buf = binary.AppendUvarint(e.buf, uint64(n))
	e.sized(key[n:])
	e.key = append(e.key[:n], key[n:]...)
	if long != nil {
		e.sized(long)
	}
}

// Triple appends an Add or a Delete. key is in SPO; long is nil or a value with stamp 0.
func (e *Encoder) Triple(kind feed.Kind, sequence uint64, key, long []byte) {
	e.triple(byte(kind), sequence, key, long)
}

// Annotate appends an Annotate.
func (e *Encoder) Annotate(sequence uint64, key, long []byte, a feed.Annotation) {
	kind := byte(feed.Annotate)
	if a.Removed {
		kind |= flagRemoved
	}
	e.triple(kind, sequence, key, long)
	e.buf = append(binary.AppendUvarint(e.buf, uint64(len(a.ApplicationID))), a.ApplicationID...)
	if !a.Removed {
		e.sized(a.Data)
	}
}

// Load appends a Load at a position. rows is the stamp of its rows.
func (e *Encoder) Load(sequence uint64, rows triple.Stamp, l feed.LoadInfo) {
	e.kind(byte(feed.Load)|predicatesFlag(l.Predicates), sequence)
	e.buf = binary.AppendUvarint(e.buf, rows.Epoch)
	e.buf = binary.AppendUvarint(e.buf, rows.Sequence)
	e.buf = append(binary.AppendUvarint(e.buf, uint64(len(l.ID))), l.ID...)
	e.buf = binary.AppendUvarint(e.buf, uint64(l.New+1))
	e.predicates(l.Predicates)
}

// predicatesFlag returns the flag of a change with these predicates.
func predicatesFlag(p feed.Predicates) byte {
	if p == nil {
		return 0
	}
	return flagPredicates
}

// predicates appends the predicates of a change, if they are known.
func (e *Encoder) predicates(p feed.Predicates) {
	if p == nil {
		return
	}
	e.buf = binary.AppendUvarint(e.buf, uint64(len(p)))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		e.buf = append(binary.AppendUvarint(e.buf, uint64(len(name))), name...)
		e.buf = binary.AppendUvarint(e.buf, uint64(p[name]))
	}
}

// Clear appends a Clear.
func (e *Encoder) Clear(sequence uint64, c feed.ClearInfo) {
	e.kind(byte(feed.Clear)|predicatesFlag(c.Predicates), sequence)
	flags := byte(0)
	if c.All {
		flags |= clearAll
	}
	if c.Default {
		flags |= clearDefault
	}
	e.buf = binary.AppendUvarint(append(e.buf, flags), uint64(len(c.Graphs)))
	for _, g := range c.Graphs {
		e.buf = append(e.buf, byte(g.Kind()))
		e.buf = append(binary.AppendUvarint(e.buf, uint64(len(g.Value()))), g.Value()...)
	}
	e.predicates(c.Predicates)
}

// shared returns the length of the longest common prefix.
func shared(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Row decodes a row.
type Row struct {
	Time      time.Time
	Continued bool // the next row has changes of the same position

	d        decoder
	key      []byte // the last key
	sequence uint64
}

// DecodeRow begins to decode a row, which must not change meanwhile.
func DecodeRow(b []byte) (r Row, err error) {
	r.d.rest = b
	format, flags := r.d.byte(), r.d.byte()
	r.Time = time.UnixMilli(int64(r.d.uvarint()))
	r.Continued = flags&flagContinued != 0
	switch {
	case r.d.failed:
		return r, errRow("its header is cut off")
	case format != rowFormat:
		return r, errRow("it has format %d, and this program reads format %d", format, rowFormat)
	case flags&^flagContinued != 0:
		return r, errRow("unknown flags 0x%02X", flags)
	}
	return r, nil
}

func errRow(format string, args ...any) error {
	return fmt.Errorf("%w: a row of the change feed: %w", fault.ErrCorrupt, fmt.Errorf(format, args...))
}

// Next decodes the next change. ok is false at the end. sequence is that of its position. Except for
// the key, the change shares memory with the row. Its key is appended to arena.
func (r *Row) Next(c *feed.Change, arena []byte) (sequence uint64, _ []byte, ok bool, err error) {
	if len(r.d.rest) == 0 {
		return 0, arena, false, nil
	}
	// 1. Decode the kind and the sequence.
	kind := r.d.byte()
	*c = feed.Change{Kind: feed.Kind(kind & kindBits)}
	if kind&flagStamp != 0 {
		r.sequence += r.d.uvarint()
	}
	if kind&flagDepth != 0 {
		c.Depth = r.d.byte()
	}
	if !c.Kind.Valid() || kind&flagPredicates != 0 && c.Kind < feed.Load ||
		kind&flagRemoved != 0 && c.Kind != feed.Annotate || kind&flagLong != 0 && c.Kind >= feed.Load {
		return 0, arena, false, errRow("a change of kind 0x%02X", kind)
	}
	// 2. Decode the key, which begins like the one before.
	if c.Kind < feed.Load {
		n, rest := r.d.uvarint(), r.d.sized()
		if n > uint64(len(r.key)) {
			return 0, arena, false, errRow("a key shares %d bytes with one of %d", n, len(r.key))
		}
		begin := len(arena)
		arena = append(append(arena, r.key[:n]...), rest...)
		c.Key = arena[begin:len(arena):len(arena)]
		r.key = c.Key
		if kind&flagLong != 0 {
			c.Long = r.d.sized()
		}
	}
	// 3. Decode the rest by kind.
	switch c.Kind {
	case feed.Annotate:
		a := &feed.Annotation{ApplicationID: string(r.d.sized()), Removed: kind&flagRemoved != 0}
		if !a.Removed {
			a.Data = r.d.sized()
		}
		c.Annotation = a
	case feed.Load:
		c.Stamp = triple.Stamp{Epoch: r.d.uvarint(), Sequence: r.d.uvarint()}
		c.Load = &feed.LoadInfo{ID: string(r.d.sized()), New: int64(r.d.uvarint()) - 1, Predicates: r.d.predicates(kind)}
	case feed.Clear:
		if c.Clear, err = r.d.clear(); err != nil {
			return 0, arena, false, err
		}
		c.Clear.Predicates = r.d.predicates(kind)
	}
	if r.d.failed {
		return 0, arena, false, errRow("a change is cut off")
	}
	return r.sequence, arena, true, nil
}

// CheckRow returns an error if the row of a log with a Pebble key does not decode.
func CheckRow(key, value []byte) error {
	last, err := parseStampKey(logPrefix, key, 4)
	if err != nil {
		return err
	}
	row, err := DecodeRow(value)
	if err != nil {
		return err
	}
	// Sequences must not descend, and the last one must be the key's.
	var arena []byte
	for before := uint64(0); ; {
		var c feed.Change
		sequence, _, ok, err := row.Next(&c, arena[:0])
		if err != nil {
			return err
		}
		if !ok && before == last.Sequence {
			return nil
		}
		if !ok || sequence < before {
			return errRow("sequence %d is followed by %d, in a row of %d", before, sequence, last.Sequence)
		}
		if before = sequence; c.Key != nil {
			if _, _, err := triple.SplitKey(c.Key); err != nil {
				return errRow("%w", err)
			}
			arena = c.Key
		}
	}
}

// clear decodes the rest of a Clear.
func (d *decoder) clear() (*feed.ClearInfo, error) {
	flags, n := d.byte(), d.uvarint()
	if flags&^(clearAll|clearDefault) != 0 || n > uint64(len(d.rest)) {
		return nil, errRow("a clear with flags 0x%02X of %d graphs", flags, n)
	}
	c := &feed.ClearInfo{All: flags&clearAll != 0, Default: flags&clearDefault != 0}
	for range n {
		kind, name := triple.Kind(d.byte()), string(d.sized())
		switch kind {
		case triple.IRI:
			c.Graphs = append(c.Graphs, triple.NewIRI(name))
		case triple.Blank:
			c.Graphs = append(c.Graphs, triple.NewBlank(name))
		default:
			return nil, errRow("a graph's name of kind %d", kind)
		}
	}
	return c, nil
}

// predicates decodes the predicates of a change; nil if the kind has no flag for them.
func (d *decoder) predicates(kind byte) feed.Predicates {
	if kind&flagPredicates == 0 {
		return nil
	}
	p := feed.Predicates{}
	for range d.uvarint() {
		name, rows := string(d.sized()), d.uvarint()
		if d.failed || rows > math.MaxInt64 {
			d.fail()
			return nil
		}
		p[name] = int64(rows)
	}
	return p
}

// decoder cuts fields from bytes. After a field that is cut off, failed is set and all fields are
// empty.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) fail() { d.rest, d.failed = nil, true }

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail()
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) sized() []byte {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.fail()
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

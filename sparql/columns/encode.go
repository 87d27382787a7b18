// Sets as bytes.

package columns

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// formatName begins an encoded set, with its version.
const formatName = "trefoil columns 1\n"

// errFormat means that bytes are not those of a set.
var errFormat = errors.New("columns: not an encoded set")

// Write encodes the set. There is no checksum: the caller must see to it that [Read] gets the same
// bytes. Numbers are little-endian:
//
//	set:     the name of the format, 1 byte: 1 if it is partial, terms u32, text, blocks (n u64, u32 each), predicates u32, column of each,
//	         torn predicates u32, text of each
//	text:    length u64, bytes
//	column:  text of the predicate's key form, 1 byte: 1 for long subjects and 2 for long objects,
//	         lists by subject, lists by object
//	lists:   array of the keys, of the ends, of the values
//	array:   1 byte with the width, n u64, words u64 each, none if n is 0
func (s *Set) Write(w io.Writer) error {
	e := &encoder{w: bufio.NewWriterSize(w, 1<<16)}
	// 1. The dictionary.
	e.bytes([]byte(formatName))
	e.bytes([]byte{flag(s.partial, 1)})
	d := &s.Dictionary
	e.u32(uint32(d.n))
	e.text(d.text)
	e.u64(uint64(len(d.blocks)))
	for _, block := range d.blocks {
		e.u32(block)
	}
	// 2. The columns.
	e.u32(uint32(len(s.predicates)))
	for _, predicate := range s.predicates {
		c := s.columns[predicate]
		e.text([]byte(predicate))
		e.bytes([]byte{flag(c.LongSubjects, 1) | flag(c.LongObjects, 2)})
		for _, l := range [...]*Lists{&c.BySubject, &c.ByObject} {
			for _, p := range [...]*packed{&l.keys, &l.ends, &l.values} {
				e.packed(p)
			}
		}
	}
	// 3. What is not known of them.
	e.u32(uint32(len(s.torn)))
	for _, predicate := range slices.Sorted(maps.Keys(s.torn)) {
		e.text([]byte(predicate))
	}
	return e.w.Flush() // with the first error
}

// flag returns b if set is, else 0.
func flag(set bool, b byte) byte {
	if set {
		return b
	}
	return 0
}

type encoder struct{ w *bufio.Writer }

func (e *encoder) bytes(b []byte) { _, _ = e.w.Write(b) } // Flush returns the error
func (e *encoder) u32(v uint32)   { e.bytes(binary.LittleEndian.AppendUint32(e.w.AvailableBuffer(), v)) }
func (e *encoder) u64(v uint64)   { e.bytes(binary.LittleEndian.AppendUint64(e.w.AvailableBuffer(), v)) }

func (e *encoder) text(b []byte) {
	e.u64(uint64(len(b)))
	e.bytes(b)
}

func (e *encoder) packed(p *packed) {
	e.bytes([]byte{byte(p.width)})
	e.u64(uint64(p.n))
	if p.n > 0 {
		for _, word := range p.words {
			e.u64(word)
		}
	}
}

// Read decodes the set that [Set.Write] has encoded, up to the end of r. If it would take more than limit
// bytes, the error is [ErrTooLarge].
func Read(r io.Reader, limit int64) (*Set, error) {
	d := &decoder{r: bufio.NewReaderSize(r, 1<<16), left: limit}
	set, err := d.set()
	if err == nil {
		if _, err = d.r.ReadByte(); err == nil {
			err = errFormat
		} else if err == io.EOF {
			return set, nil
		}
	}
	return nil, fmt.Errorf("read columns: %w", err)
}

type decoder struct {
	r    *bufio.Reader
	left int64 // of the limit
	err  error // the first one; what is read after it is empty
}

func (d *decoder) set() (*Set, error) {
	s := &Set{columns: map[string]*Column{}}
	if string(d.bytes(uint64(len(formatName)))) != formatName {
		d.fail(errFormat)
	}
	s.partial = d.fixed(1)[0] == 1
	t := &s.Dictionary
	t.n = int(d.u32())
	t.text = d.text()
	blocks := d.u64()
	if blocks != (uint64(t.n)+blockTerms-1)/blockTerms {
		d.fail(errFormat)
	}
	t.blocks = make([]uint32, 0, d.take(blocks, 4))
	for range cap(t.blocks) {
		t.blocks = append(t.blocks, d.u32())
	}
	// 1. The columns.
	for n := d.u32(); n > 0 && d.err == nil; n-- {
		c := &Column{}
		predicate := string(d.text())
		flags := d.bytes(1)
		if d.err != nil {
			break
		}
		c.LongSubjects, c.LongObjects = flags[0]&1 > 0, flags[0]&2 > 0
		c.BySubject, c.ByObject = d.lists(), d.lists()
		s.columns[predicate] = c
		s.rows += c.Rows()
		s.long = s.long || flags[0] > 0
		s.bytes += predicateBytes + int64(len(predicate)) + c.bytes()
		d.left -= predicateBytes
	}
	s.predicates = slices.Sorted(maps.Keys(s.columns))
	// 2. What is not known of them.
	for n := d.u32(); n > 0 && d.err == nil; n-- {
		if s.torn == nil {
			s.torn = map[string]struct{}{}
		}
		s.torn[string(d.text())] = struct{}{}
	}
	if d.err != nil {
		return nil, d.err
	}
	t.finish()
	s.bytes += t.bytes()
	return s, nil
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// take returns n if as many items of some bytes are within the limit, and 0 after an error.
func (d *decoder) take(n uint64, bytes int64) int {
	if d.err == nil && (n > math.MaxInt32*uint64(blockTerms) || int64(n)*bytes > d.left) {
		d.fail(ErrTooLarge)
	}
	if d.err != nil {
		return 0
	}
	d.left -= int64(n) * bytes
	return int(n)
}

func (d *decoder) bytes(n uint64) []byte {
	b := make([]byte, d.take(n, 1))
	if _, err := io.ReadFull(d.r, b); err != nil {
		d.fail(fmt.Errorf("%w: %w", errFormat, err))
	}
	return b
}

// fixed returns the next n bytes until the next read; zeros after an error.
func (d *decoder) fixed(n int) []byte {
	b, err := d.r.Peek(n)
	if err != nil || d.err != nil {
		d.fail(fmt.Errorf("%w: %w", errFormat, err))
		return make([]byte, n)
	}
	_, _ = d.r.Discard(n) // they are there
	return b
}

func (d *decoder) u32() uint32  { return binary.LittleEndian.Uint32(d.fixed(4)) }
func (d *decoder) u64() uint64  { return binary.LittleEndian.Uint64(d.fixed(8)) }
func (d *decoder) text() []byte { return d.bytes(d.u64()) }

func (d *decoder) packed() packed {
	p := packed{width: uint(d.fixed(1)[0])}
	n := d.u64()
	if p.width > 32 || n > math.MaxUint32 {
		d.fail(errFormat)
		return packed{}
	}
	if n == 0 {
		return packed{}
	}
	p.n, p.mask = int(n), 1<<p.width-1
	p.words = make([]uint64, d.take(packedWords(n, p.width), 8))
	for i := range p.words {
		p.words[i] = d.u64()
	}
	return p
}

func (d *decoder) lists() Lists {
	l := Lists{keys: d.packed(), ends: d.packed(), values: d.packed()}
	if d.err != nil {
		return Lists{}
	}
	if l.ends.n != l.keys.n && (l.ends.n > 0 || l.keys.n != l.values.n) {
		d.fail(errFormat)
		return Lists{}
	}
	l.measure()
	return l
}

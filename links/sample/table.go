// The encoded sketches of a cell.

package sample

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/uid"
)

// The errors of an encoding. Test with errors.Is.
var (
	// ErrCorrupt is wrapped by [Open] if the bytes are damaged.
	ErrCorrupt = errors.New("corrupt")
	// ErrVersion is wrapped instead if the encoding has another version.
	ErrVersion = errors.New("unknown format version")
	// ErrOrder is wrapped by [Builder.Add] if the keys do not ascend.
	ErrOrder = errors.New("keys are not ascending")
)

const (
	magic        = "tfSK"
	version      = 1
	headLen      = 16
	entryLen     = 40
	checksumLen  = 8
	classesAByte = 4
)

// Builder makes a [Table]. The zero value is ready for use, by one goroutine at a time.
type Builder struct {
	entries []byte
	mixes   []byte
	classes []byte
	members uint64
	last    uint32
	sums    uint64
}

// Add adds the sketch of the list of a key. Keys must ascend. It does not keep the sketch.
func (b *Builder) Add(key uint32, s *Sketch) error {
	if b.sums > 0 && key <= b.last {
		return fmt.Errorf("sample: add the sketch of list %d after that of %d: %w", key, b.last, ErrOrder)
	}
	if b.members+uint64(len(s.members)) > math.MaxUint32 {
		return fmt.Errorf("sample: add the sketch of list %d: a table has at most %d members", key, uint32(math.MaxUint32))
	}
	for _, m := range s.members {
		if b.members%classesAByte == 0 {
			b.classes = append(b.classes, 0)
		}
		b.classes[len(b.classes)-1] |= byte(m.class) << (2 * (b.members % classesAByte))
		b.mixes = binary.LittleEndian.AppendUint64(b.mixes, m.mix)
		b.members++
	}
	b.entries = binary.LittleEndian.AppendUint32(b.entries, key)
	b.entries = binary.LittleEndian.AppendUint32(b.entries, uint32(b.members))
	for _, bound := range s.bounds {
		b.entries = binary.LittleEndian.AppendUint64(b.entries, bound)
	}
	b.entries = binary.LittleEndian.AppendUint64(b.entries, 0)
	b.last = key
	b.sums++
	return nil
}

// AppendTo appends the table's encoding, a multiple of 8 bytes. The package comment draws it.
func (b *Builder) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, version, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.sums))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.members))
	dst = append(dst, b.entries...)
	dst = append(dst, b.mixes...)
	dst = append(dst, b.classes...)
	for (len(dst)-start)%8 != 0 {
		dst = append(dst, 0)
	}
	return binary.LittleEndian.AppendUint64(dst, xxhash.Sum64(dst[start:]))
}

// Table is the sketches of a cell's long lists, read in place. Several goroutines may read it at
// once.
type Table struct {
	entries []byte
	mixes   []byte
	classes []byte
}

// Open returns the table encoded by b. b must be exactly one encoding. Open keeps b, which must
// not change from then on. It copies nothing and needs O(len(b)). Errors wrap [ErrCorrupt] or
// [ErrVersion].
func Open(b []byte) (*Table, error) {
	t, err := open(b)
	if err != nil {
		return nil, fmt.Errorf("sample: open a table of sketches of %d bytes: %w", len(b), err)
	}
	return t, nil
}

func open(b []byte) (*Table, error) {
	if len(b) < headLen+checksumLen || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("byte 0: it is too short, or does not begin with %q: %w", magic, ErrCorrupt)
	}
	if b[len(magic)] != version {
		return nil, fmt.Errorf("byte %d: %w %d, this program knows %d", len(magic), ErrVersion, b[len(magic)], version)
	}
	body := b[:len(b)-checksumLen]
	if sum := xxhash.Sum64(body); sum != binary.LittleEndian.Uint64(b[len(body):]) {
		return nil, fmt.Errorf("byte %d: the checksum is not that of the bytes before it: %w", len(body), ErrCorrupt)
	}
	n := uint64(binary.LittleEndian.Uint32(b[8:]))
	m := uint64(binary.LittleEndian.Uint32(b[12:]))
	mixes := headLen + n*entryLen
	classes := mixes + 8*m
	end := classes + (m+classesAByte-1)/classesAByte
	if (end+7)/8*8 != uint64(len(body)) || b[5]|b[6]|b[7] != 0 {
		return nil, fmt.Errorf("byte 5: %d sketches of %d members take %d bytes: %w", n, m, (end+7)/8*8+checksumLen, ErrCorrupt)
	}
	t := &Table{entries: body[headLen:mixes], mixes: body[mixes:classes], classes: body[classes:]}
	return t, t.check(int(n), int(m))
}

// check checks the structure. Length and checksum must be right already.
func (t *Table) check(n, m int) error {
	corrupt := func(i int, what string) error {
		return fmt.Errorf("sketch %d of %d: %s: %w", i, n, what, ErrCorrupt)
	}
	// 1. Check each sketch. Members must ascend and be within their bounds, because Sample stops
	// at the first one beyond.
	first := 0
	for i := range n {
		entry := t.entries[i*entryLen:]
		v := t.view(i)
		switch {
		case i > 0 && t.key(i) <= t.key(i-1):
			return corrupt(i, "its key is not greater than the one before")
		case v.end < first || v.end > m:
			return corrupt(i, "its members end before they begin, or after the last")
		case v.bounds[All] > v.bounds[InterHost] || v.bounds[InterHost] > v.bounds[InterDomain]:
			return corrupt(i, "its bounds do not ascend")
		case binary.LittleEndian.Uint64(entry[32:]) != 0:
			return corrupt(i, "its last number is not 0")
		}
		last := uint64(0)
		for j := first; j < v.end; j++ {
			mix, class := t.member(j)
			if class >= numClasses || mix > v.bounds[class] || j > first && mix <= last {
				return corrupt(i, fmt.Sprintf("member %d is of no class, over its bound, or out of order", j-first))
			}
			last = mix
		}
		first = v.end
	}
	// 2. Check the end. Unused bits must be 0, because equal sketches have equal bytes.
	if first != m {
		return fmt.Errorf("the last sketch ends at member %d of %d: %w", first, m, ErrCorrupt)
	}
	for j := m; j < len(t.classes)*classesAByte; j++ {
		if t.classes[j/classesAByte]>>(2*(j%classesAByte))&3 != 0 {
			return fmt.Errorf("there is a class after that of the last member: %w", ErrCorrupt)
		}
	}
	return nil
}

// Len returns the number of lists with a sketch.
func (t *Table) Len() int { return len(t.entries) / entryLen }

func (t *Table) key(i int) uint32 { return binary.LittleEndian.Uint32(t.entries[i*entryLen:]) }

func (t *Table) end(i int) int { return int(binary.LittleEndian.Uint32(t.entries[i*entryLen+4:])) }

func (t *Table) member(j int) (mix uint64, class Class) {
	return binary.LittleEndian.Uint64(t.mixes[8*j:]), Class(t.classes[j/classesAByte] >> (2 * (j % classesAByte)) & 3)
}

func (t *Table) view(i int) View {
	v := View{table: t, end: t.end(i)}
	if i > 0 {
		v.first = t.end(i - 1)
	}
	for c := range v.bounds {
		v.bounds[c] = binary.LittleEndian.Uint64(t.entries[i*entryLen+8+8*c:])
	}
	return v
}

// Find returns the sketch of the list of a key. It reports false if the list has none.
func (t *Table) Find(key uint32) (View, bool) {
	i := sort.Search(t.Len(), func(i int) bool { return t.key(i) >= key })
	if i == t.Len() || t.key(i) != key {
		return View{}, false
	}
	return t.view(i), true
}

// View is a sketch in a table.
type View struct {
	table      *Table
	first, end int
	bounds     [numClasses]uint64
}

// Len returns the number of links in the sketch.
func (v View) Len() int { return v.end - v.first }

// Sample appends the consistent sample of n links of a class of the list after changes. If the
// sketch has too few members, Sample appends nothing and reports false. The list must be sampled
// then. It needs O(n + changes), with logarithms.
func (v View) Sample(dst []uid.UID, n int, class Class, c Changes) ([]uid.UID, bool) {
	d := newDrawing(dst, n, class, v.bounds[class], c)
	for j := v.first; j < v.end && d.offer(v.table.member(j)); j++ {
	}
	return d.appendLinks()
}

// Sketch returns a copy in memory that may be changed. It is cut to size members of each class,
// now and after each change.
func (v View) Sketch(size int) *Sketch {
	s := &Sketch{size: max(size, 1), bounds: v.bounds}
	for j := v.first; j < v.end; j++ {
		mix, class := v.table.member(j)
		s.members = append(s.members, member{mix, class})
	}
	s.cut()
	return s
}

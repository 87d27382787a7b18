// Fuzz tests: any bytes must be rejected or read without harm.

package lists

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
)

// readAll reads the whole table in all ways, and checks the contract for damaged tables. It
// reads at most some hundred keys.
func readAll(t *testing.T, table *Table) (failed bool) {
	t.Helper()
	check := func(key uint32, l, g []uint32) {
		t.Helper()
		if !ascends(l) || !ascends(g) || len(l) > 0 && l[len(l)-1] >= table.Len() || len(g) > 0 && g[len(g)-1] >= table.GhostEnd() {
			t.Fatalf("key %d: %v, %v of %d, %d", key, l, g, table.Len(), table.GhostEnd())
		}
	}
	var l, g []uint32
	keys := min(table.Len(), 300)
	s := new(Scanner)
	for key := range keys {
		var buf [64]uint32
		locals, ghosts, together := table.DecodeTogether(buf[:], key)
		var err error
		if l, g, err = table.Decode(key, l[:0], g[:0]); err != nil {
			if !errors.Is(err, ErrCorrupt) || len(l)+len(g) > 0 {
				t.Fatalf("key %d: %v, %v, %v", key, l, g, err)
			}
			failed = true
		} else {
			check(key, l, g)
		}
		if together && (err != nil || !slices.Equal(buf[:locals], l) || !slices.Equal(buf[locals:locals+ghosts], g)) {
			t.Fatalf("key %d: together %v, %d and %d; %v, %v, %v", key, buf, locals, ghosts, l, g, err)
		}
		if err != nil {
			continue
		}
		if table.Degree(key) != uint64(len(l)+len(g)) {
			t.Fatalf("key %d: degree %d, is %d", key, table.Degree(key), len(l)+len(g))
		}
		if key%7 == 0 {
			n := 0
			for s.Reset(table, key, key+1); s.Next(); {
				n += len(s.Locals()) + len(s.Ghosts())
			}
			if n != len(l)+len(g) || s.Err() != nil {
				t.Fatalf("key %d: %d scanned, %d decoded, %v", key, n, len(l)+len(g), s.Err())
			}
		}
	}
	for s.Reset(table, 0, keys); s.Next(); {
		check(s.Key(), s.Locals(), s.Ghosts())
	}
	if s.Err() != nil && !errors.Is(s.Err(), ErrCorrupt) {
		t.Fatal(s.Err())
	}
	return failed || s.Err() != nil
}

func FuzzOpen(f *testing.F) {
	graph := []links{{locals: []uint32{0, 2}, ghosts: []uint32{3, 9}}, {}, {locals: []uint32{2}}}
	for _, codec := range codecs {
		f.Add(build(f, Options{Codec: codec}, graph))
		f.Add(build(f, Options{Codec: codec, LocalOnly: true}, fivePages))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		table, err := Open(data)
		if err != nil {
			if table != nil || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("%v, %v", table, err)
			}
			return
		}
		readAll(t, table)
		if !bytes.Equal(data, before) {
			t.Fatal("reading changed the table")
		}
	})
}

// FuzzLists replaces the lists by arbitrary bytes, behind valid positions.
func FuzzLists(f *testing.F) {
	for _, codec := range codecs {
		table := open(f, build(f, Options{Codec: codec}, fivePages))
		f.Add(byte(codec), byte(1), uint16(5), uint16(40), uint16(0|1<<3|2<<6|5<<9), table.data)
	}
	f.Fuzz(func(t *testing.T, codec, stride byte, n, ghostEnd, bits uint16, data []byte) {
		localOnly := bits&(1<<8) != 0
		c := decoderOf(Codec(codec))
		if c == nil || stride == 0 || n == 0 || Codec(codec) == Reference && stride > 1 {
			return
		}
		table := &Table{header: header{codec: Codec(codec), n: uint32(n), stride: uint32(stride), localOnly: localOnly, ghostEnd: uint32(ghostEnd)}, coder: c, data: data}
		if Codec(codec) != Nybble {
			l := lengths{byte(bits & 7), byte(bits >> 3 & 7), byte(bits >> 6 & 7), byte(bits >> 9 & 7)}
			if !l.valid() {
				return
			}
			table.layout = newLayout(l)
		}
		var ok bool
		if table.limit, ok = c.limit(data); !ok {
			return
		}
		var positions []uint64
		for i := range (uint64(n)+uint64(stride)-1)/uint64(stride) + 1 {
			positions = append(positions, min(i*uint64(stride), table.limit))
		}
		table.positions = sequence(t, positions)
		readAll(t, table)
	})
}

// TestFlippedBits flips each bit of small tables. Open must reject it, or a read must fail, or
// the targets must be in order and range.
func TestFlippedBits(t *testing.T) {
	rng := random(t)
	for _, codec := range codecs {
		data := build(t, withStride(codec, 3), randomGraph(rng, 40, 30))
		refused, failed := 0, 0
		for bit := range len(data) * 8 {
			data[bit/8] ^= 1 << (bit % 8)
			if table, err := Open(data); err != nil {
				refused++
			} else if readAll(t, table) {
				failed++
			}
			data[bit/8] ^= 1 << (bit % 8)
		}
		t.Logf("%v: of %d flips %d are seen by Open and %d where a list is read", codec, len(data)*8, refused, failed)
		if refused == 0 || failed == 0 {
			t.Errorf("%v: %d and %d", codec, refused, failed)
		}
	}
}

// TestCutOff opens every prefix of a table.
func TestCutOff(t *testing.T) {
	for _, codec := range codecs {
		data := build(t, Options{Codec: codec}, fivePages)
		for end := range data {
			if _, err := Open(data[:end]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v: %d of %d bytes: %v", codec, end, len(data), err)
			}
		}
		if _, err := Open(append(data, make([]byte, 8)...)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%v: longer: %v", codec, err)
		}
		for at, want := range map[int]error{0: ErrCorrupt, 4: ErrVersion, 5: ErrVersion, 6: ErrCorrupt, 7: ErrCorrupt} {
			bad := bytes.Clone(data)
			bad[at] += 100
			if _, err := Open(bad); !errors.Is(err, want) {
				t.Fatalf("%v: byte %d: %v", codec, at, err)
			}
		}
	}
}

// TestHostileLengths reads lists with counts far above their data: the greatest count of each
// codec.
func TestHostileLengths(t *testing.T) {
	for _, codec := range codecs {
		table := open(t, build(t, Options{Codec: codec, LocalOnly: true}, make([]links, 64)))
		table.n = math.MaxUint32
		for i := range table.data {
			table.data[i] = 0xff
		}
		if codec == Nybble { // eight nybbles of f, then one for each number
			binary.LittleEndian.PutUint64(table.data, 0xffffffffffff_0_01f)
		}
		var err error
		n := allocated(func() { _, _, err = table.Decode(0, nil, nil) })
		if n > 1<<20 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: %d bytes allocated, %v", codec, n, err)
		}
		if s := table.Scan(0, 1); s.Next() && len(s.Locals()) > PieceLen {
			t.Errorf("%v: %d targets at once", codec, len(s.Locals()))
		}
	}
	counts := []byte{svbLocals | svbGhosts<<5}
	counts = binary.AppendUvarint(counts, math.MaxUint32<<1)
	counts = binary.AppendUvarint(counts, 0)
	for _, codec := range []Codec{StreamVByte, Reference} {
		table := open(t, build(t, Options{Codec: codec}, make([]links, 64)))
		copy(table.data, counts)
		var err error
		if n := allocated(func() { _, _, err = table.Decode(0, nil, nil) }); n > 1<<20 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: %d bytes allocated, %v", codec, n, err)
		}
	}
}

// TestCountsBeyond32Bits reads a count that 32 bits would truncate to 0.
func TestCountsBeyond32Bits(t *testing.T) {
	for _, codec := range []Codec{StreamVByte, Reference} {
		table := open(t, build(t, Options{Codec: codec}, make([]links, 64)))
		copy(table.data, binary.AppendUvarint([]byte{svbLocals}, 1<<32<<1))
		if l, _, err := table.Decode(0, nil, nil); !errors.Is(err, ErrCorrupt) || table.Degree(0) != 0 {
			t.Errorf("%v: %d, %v", codec, len(l), err)
		}
	}
}

// TestMaskBehindEnd reads a mask that extends beyond the table.
func TestMaskBehindEnd(t *testing.T) {
	list := links{locals: []uint32{0, 1, 2, 3}}
	table := open(t, build(t, Options{Codec: Reference}, []links{list, list, list, list}))
	pos := table.positions.At(3)
	table.data[pos+1] = 1 | refMask<<3
	table.data[pos+2] = 100
	if _, _, err := table.Decode(3, nil, nil); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// TestLengthOfLongList changes the length of a long list. Every read must report damage, because
// the next list would begin at a wrong position.
func TestLengthOfLongList(t *testing.T) {
	rng := random(t)
	graph := make([]links, 2)
	graph[0].ghosts = ascending(rng, 5000, 1<<20)
	for _, codec := range []Codec{StreamVByte, Reference} {
		table := open(t, build(t, Options{Codec: codec}, graph))
		compare(t, table, graph)
		table.data[3] ^= 1 // behind the counts, 7<<5 and the two bytes of 5000-7
		if _, _, err := table.Decode(0, nil, nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: decoded: %v", codec, err)
		}
		s := table.Scan(0, 1)
		for s.Next() {
		}
		if !errors.Is(s.Err(), ErrCorrupt) {
			t.Errorf("%v: scanned: %v", codec, s.Err())
		}
	}
}

// TestUnusedNybbles checks that no list lies in unused nybbles.
func TestUnusedNybbles(t *testing.T) {
	data := build(t, Options{Codec: Nybble, LocalOnly: true}, fivePages)
	at := len(data) - wordBytes + 1
	if data[at] != 0xb8 {
		t.Fatalf("the last word has %#x", data[at])
	}
	for unused := range byte(16) {
		data[at] = unused<<4 | 8
		if _, err := Open(data); errors.Is(err, ErrCorrupt) != (unused > 11) {
			t.Errorf("%d unused: %v", unused, err)
		}
	}
}

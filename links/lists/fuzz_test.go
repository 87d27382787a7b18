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
		f.Add(build(f, Options{Codec: codec}, fivePages))
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
		f.Add(byte(codec), uint16(5), uint16(40), uint16(0|1<<3|2<<6|5<<9), table.data)
	}
	f.Fuzz(func(t *testing.T, codec byte, n, ghostEnd, bits uint16, data []byte) {
		c := decoderOf(Codec(codec))
		if c == nil || n == 0 {
			return
		}
		table := &Table{header: header{codec: Codec(codec), n: uint32(n), ghostEnd: uint32(ghostEnd)}, coder: c, data: data}
		table.lengths = lengths{byte(bits & 7), byte(bits >> 3 & 7), byte(bits >> 6 & 7), byte(bits >> 9 & 7)}
		if !table.lengths.valid(Codec(codec)) {
			return
		}
		table.layout = newLayout(table.lengths)
		table.makeCodes()
		var ok bool
		if table.limit, ok = c.limit(data); !ok {
			return
		}
		var positions []uint64
		for i := range uint64(n) + 1 {
			positions = append(positions, min(i, table.limit))
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
		data := build(t, Options{Codec: codec}, randomGraph(rng, 40, 30))
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
		for at, want := range map[int]error{0: ErrCorrupt, 4: ErrVersion, 5: ErrVersion, 6: ErrCorrupt, 7: ErrCorrupt, 12: ErrCorrupt} {
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
		table := open(t, build(t, Options{Codec: codec}, make([]links, 64)))
		table.n = math.MaxUint32
		for i := range table.data {
			table.data[i] = 0xff
		}
		if codec == Reference { // behind the counts, a segment without copies and with a run
			var w bitWriter
			w.gamma(math.MaxUint32)
			w.gamma(0)
			w.put(3, 2)
			copy(table.data, w.buf)
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
	table := open(t, build(t, Options{Codec: StreamVByte}, make([]links, 64)))
	copy(table.data, counts)
	var err error
	if n := allocated(func() { _, _, err = table.Decode(0, nil, nil) }); n > 1<<20 || !errors.Is(err, ErrCorrupt) {
		t.Errorf("%d bytes allocated, %v", n, err)
	}
}

// TestCountsBeyond32Bits reads a count that 32 bits would truncate to 0.
func TestCountsBeyond32Bits(t *testing.T) {
	beyond := new(bitWriter) // of 2^32 + 1, gamma has 32 zeros, a one and 32 bits
	beyond.put(0, 32)
	beyond.put(3, 32)
	beyond.put(0, 8)
	for codec, count := range map[Codec][]byte{
		StreamVByte: binary.AppendUvarint([]byte{svbLocals}, 1<<32<<1),
		Reference:   beyond.buf,
	} {
		table := open(t, build(t, Options{Codec: codec}, make([]links, 64)))
		copy(table.data, count)
		if l, _, err := table.Decode(0, nil, nil); !errors.Is(err, ErrCorrupt) || table.Degree(0) != 0 {
			t.Errorf("%v: %d, %v", codec, len(l), err)
		}
	}
}

// TestDamagedSegments reads segments of Reference, each with one field out of bounds.
func TestDamagedSegments(t *testing.T) {
	// Lists 0 and 1 have the targets 0, 2, 4 and 6; list 1 copies them. List 2 is the damaged one.
	intact := func(w *bitWriter) {
		w.gamma(4)
		w.gamma(0)
		w.gamma(0)
		w.gamma(0)
		w.put(0, 3)
		w.numbers([]uint32{0, 1, 1, 1}, usualLengths)
	}
	for name, test := range map[string]struct {
		ok             bool
		locals, ghosts uint64
		rest           func(w *bitWriter)
	}{
		"copies all":                    {true, 4, 0, func(w *bitWriter) { w.gamma(2); w.gamma(0) }},
		"more copied than the list has": {false, 3, 0, func(w *bitWriter) { w.gamma(2); w.gamma(0) }},
		"a source before the first":     {false, 4, 0, func(w *bitWriter) { w.gamma(3); w.gamma(0) }},
		"a source that copies":          {false, 4, 0, func(w *bitWriter) { w.gamma(1); w.gamma(0) }},
		"too many blocks":               {false, 0, 1, func(w *bitWriter) { w.gamma(2); w.gamma(5) }},
		"a block behind the source":     {false, 0, 1, func(w *bitWriter) { w.gamma(2); w.gamma(1); w.gamma(5) }},
		"a mode that is none":           {false, 1, 0, func(w *bitWriter) { w.gamma(2 * refWide) }},
		"a target that is copied too": {false, 5, 0, func(w *bitWriter) {
			w.gamma(2)
			w.gamma(0)
			w.put(1, 1)
			w.numbers([]uint32{1}, usualLengths)
		}},
		"a run":                      {true, 4, 0, func(w *bitWriter) { w.gamma(0); w.gamma(1); w.distance(0); w.gamma(0) }},
		"a run behind the keys":      {false, 5, 0, func(w *bitWriter) { w.gamma(0); w.gamma(1); w.distance(10); w.gamma(1) }},
		"a run before the keys":      {false, 4, 0, func(w *bitWriter) { w.gamma(0); w.gamma(1); w.distance(5); w.gamma(0) }},
		"a run longer than a list":   {false, 4, 0, func(w *bitWriter) { w.gamma(0); w.gamma(1); w.distance(0); w.gamma(1) }},
		"two runs in four targets":   {false, 4, 0, func(w *bitWriter) { w.gamma(0); w.gamma(2) }},
		"more locals than keys":      {false, 9, 0, func(w *bitWriter) {}},
		"more ghosts than there are": {false, 0, 6, func(w *bitWriter) {}},
		"a local below 0":            {false, 1, 0, func(w *bitWriter) { w.gamma(0); w.put(1, 1); w.numbers([]uint32{2}, usualLengths) }},
		"a local behind the keys":    {false, 1, 0, func(w *bitWriter) { w.gamma(0); w.put(0, 1); w.numbers([]uint32{6}, usualLengths) }},
		"a ghost behind the last":    {false, 0, 1, func(w *bitWriter) { w.gamma(0); w.numbers([]uint32{5}, usualLengths) }},
		"three of two below":         {false, 2, 0, func(w *bitWriter) { w.gamma(0); w.put(3, 2); w.numbers([]uint32{0, 0}, usualLengths) }},
		"a number of 32 bits": {false, 1, 0, func(w *bitWriter) {
			w.gamma(refWide)
			w.put(0, 1)
			w.numbers([]uint32{math.MaxUint32}, lengths{2, 6, 12, maxBits})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var w bitWriter
			var positions []uint64
			intact(&w)
			positions = append(positions, 0, w.bits())
			w.gamma(4)
			w.gamma(0)
			w.gamma(1)
			w.gamma(0)
			positions = append(positions, w.bits())
			w.gamma(test.locals)
			w.gamma(test.ghosts)
			test.rest(&w)
			table := &Table{coder: reference{}, data: append(w.buf, byte(w.acc))}
			table.header = header{codec: Reference, lengths: usualLengths, n: 8, ghostEnd: 5}
			table.makeCodes()
			table.data = append(table.data, make([]byte, refSlack)...)
			table.limit, _ = table.coder.limit(table.data)
			for range 6 {
				positions = append(positions, w.bits())
			}
			table.positions = sequence(t, positions)
			for key := range uint32(2) {
				if l, _, err := table.Decode(key, nil, nil); err != nil || !slices.Equal(l, []uint32{0, 2, 4, 6}) {
					t.Fatalf("list %d is %v, %v", key, l, err)
				}
			}
			_, _, err := table.Decode(2, nil, nil)
			s := table.Scan(0, 3)
			for s.Next() {
			}
			for _, err := range []error{err, s.Err()} {
				if test.ok != (err == nil) || err != nil && !errors.Is(err, ErrCorrupt) {
					t.Errorf("%v, ok is %t", err, test.ok)
				}
			}
		})
	}
}

// TestLengthOfLongList changes the length of a long list. Every read must report damage, because
// the next list would begin at a wrong position.
func TestLengthOfLongList(t *testing.T) {
	rng := random(t)
	graph := make([]links, 2)
	graph[0].ghosts = ascending(rng, 5000, 1<<20)
	table := open(t, build(t, Options{Codec: StreamVByte}, graph))
	compare(t, table, graph)
	table.data[3] ^= 1 // behind the counts, 7<<5 and the two bytes of 5000-7
	if _, _, err := table.Decode(0, nil, nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("decoded: %v", err)
	}
	s := table.Scan(0, 1)
	for s.Next() {
	}
	if !errors.Is(s.Err(), ErrCorrupt) {
		t.Errorf("scanned: %v", s.Err())
	}
}

// Golden file of the format, and tests for damage to it.

package cell

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/ef"
	"github.com/trefoildb/trefoil/links/uid"
)

// letters returns the five pages of the paper's figure 3, with labels, a ghost, sketches and
// metadata.
func letters() (*graph, Options) {
	g := newGraph(uid.Slots{First: 4, Last: 5}.Range())
	u := make([]uid.UID, 5)
	for i, name := range []string{"", "alep", "aleph", "alif", "alpha"} {
		u[i] = uid.Make(4, 1, uint32(i))
		g.pages[u[i]] = "http://www.letters.org/" + name
	}
	for i, targets := range [][]int{{1}, {0}, {1, 0}, {1, 0}, {0, 2}} {
		for _, target := range targets {
			g.links[Edge{u[i], u[target]}] = NoLabel
		}
	}
	g.links[Edge{u[4], u[0]}] = Label{Weight: 2, Anchor: "letters"}
	g.links[Edge{u[4], uid.Make(9, 1, 7)}] = NoLabel
	return g, Options{Epoch: 8, Meta: []byte("crawl"), Sketches: func(*Cell) ([]byte, error) { return []byte("sketch"), nil }}
}

// dump writes a cell as hexadecimal, 16 bytes a line, a heading before each section.
func dump(tb testing.TB, data []byte) string {
	tb.Helper()
	var out strings.Builder
	lines := func(heading string, b []byte) {
		fmt.Fprintf(&out, "# %s\n", heading)
		for piece := range slices.Chunk(b, 16) {
			fmt.Fprintf(&out, "%x\n", piece)
		}
	}
	lines("header", data[:sectionTable])
	lines("table of sections", data[sectionTable:lengthAt])
	lines("length and checksum", data[lengthAt:headerLen])
	at := int(binary.LittleEndian.Uint64(data[sectionTable:]))
	lines("metadata", data[headerLen:at])
	for i, name := range sectionNames {
		length := roundUp8(int(binary.LittleEndian.Uint64(data[sectionTable+sectionEntry*i+8:])))
		lines(name, data[at:at+length])
		at += length
	}
	return out.String()
}

func TestGolden(t *testing.T) {
	const path = "testdata/letters.hex"
	g, o := letters()
	data := g.bytes(t, o, nil)
	got := dump(t, data)
	goldenfile.Check(t, path, got)
	c, err := Open(golden(t))
	require.NoError(t, err)
	g.check(t, c)
	if c.Epoch() != 8 || string(c.Meta()) != "crawl" || string(c.Sketches()) != "sketch" {
		t.Errorf("epoch %d, metadata %q, sketches %q", c.Epoch(), c.Meta(), c.Sketches())
	}
}

// golden returns the bytes of the golden file.
func golden(tb testing.TB) []byte {
	tb.Helper()
	text, err := os.ReadFile("testdata/letters.hex")
	require.NoError(tb, err)
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			digits.WriteString(strings.TrimSpace(line))
		}
	}
	data, err := hex.DecodeString(digits.String())
	require.NoError(tb, err)
	return data
}

// TestFlippedBits flips every bit, truncates the cell at every byte, and makes it longer.
func TestFlippedBits(t *testing.T) {
	data := golden(t)
	for i := range 8 * len(data) {
		data[i/8] ^= 1 << (i % 8)
		if _, err := Open(data); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i/8, err)
		}
		data[i/8] ^= 1 << (i % 8)
	}
	for n := range len(data) {
		if _, err := Open(data[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
	}
	for _, more := range []int{1, 8, 16} {
		if _, err := Open(append(slices.Clone(data), make([]byte, more)...)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%d bytes more: %v", more, err)
		}
	}
	if _, err := Open(data); err != nil {
		t.Fatal(err)
	}
}

// TestDamageInMemory flips bits of an open cell. Verify must report each.
func TestDamageInMemory(t *testing.T) {
	r := random(t)
	data := randomGraph(r, 300, 3000).bytes(t, Options{}, nil)
	for range 300 {
		copied := slices.Clone(data)
		c, err := Open(copied)
		require.NoError(t, err)
		copied[r.IntN(len(copied))] ^= 1 << r.IntN(8)
		if err := c.Verify(); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
			t.Fatalf("Verify: %v", err)
		}
	}
}

// readAll calls every method on every page and on some ordinals beyond.
func readAll(c *Cell) {
	for i := range uint32(min(c.Len()+2, 1000)) {
		u := c.UID(i)
		c.Ordinal(u)
		c.Find(string(c.AppendURL(nil, i)))
		for d := range Backward + 1 {
			c.Degree(d, i)
			c.AppendLinks(nil, d, i)
			for range c.Links(d, i) {
			}
			c.Ghosts(d).Index(c.Ghosts(d).UID(i))
		}
		c.AppendLabels(nil, i)
	}
	_ = c.Err()
}

// reseal recomputes every checksum of data if it has a header and its sections are within it.
func reseal(data []byte) {
	if len(data) < headerLen {
		return
	}
	le := binary.LittleEndian
	copy(data, magic)
	le.PutUint64(data[lengthAt:], uint64(len(data)))
	at := headerLen + roundUp8(int(le.Uint32(data[36:])))
	if at > len(data) {
		return
	}
	start := at
	for i := range numSections {
		entry := data[sectionTable+sectionEntry*i:]
		length := le.Uint64(entry[8:])
		if length > uint64(len(data)-at) || roundUp8(int(length)) > len(data)-at {
			break
		}
		end := at + roundUp8(int(length))
		le.PutUint64(entry, uint64(at))
		le.PutUint64(entry[16:], xxhash.Sum64(data[at:end]))
		at = end
	}
	le.PutUint64(data[checksumAt:], headerChecksum(data, start))
}

// TestManyPages opens a cell of some hundred bytes with four thousand million pages in its
// header. Open must fail before it allocates memory for them.
func TestManyPages(t *testing.T) {
	const pages = 1<<32 - 1
	h := header{codec: codecsOf(1), pages: pages, keys: uid.Slots{First: 4, Last: 4}.Range()}
	data := make([]byte, headerLen)
	data = packing{4, uid.HostBits, uid.PageBits}.appendTo(data)
	data = ef.Append(data, []uint64{1 << uid.PageBits})
	data = ef.Append(data, []uint64{0, pages})
	var ends, lengths [numSections]int
	for i := range ends {
		ends[i] = len(data)
	}
	lengths[sectionPages] = len(data) - headerLen
	h.seal(data, ends, lengths)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Open(data); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
		t.Errorf("%d bytes of memory", taken)
	}
}

func FuzzOpen(f *testing.F) {
	data := golden(f)
	f.Add(data)
	// Some seeds must pass the checksums: one byte of each eight changed.
	for i := 0; i < len(data); i += 8 {
		changed := slices.Clone(data)
		changed[i] ^= 0x41
		f.Add(changed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for range 2 {
			before := bytes.Clone(data)
			c, err := Open(data)
			if err == nil {
				readAll(c)
				if err := c.Verify(); err != nil && !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
			} else if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatal(err)
			}
			if !bytes.Equal(data, before) {
				t.Fatal("reading changed the cell")
			}
			reseal(data)
		}
	})
}

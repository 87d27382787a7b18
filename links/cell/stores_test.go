// Tests of dropping stores and loading them again.

package cell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/uid"
)

// storedCell returns a random cell, and its file.
func storedCell(t *testing.T) (*graph, *Cell, string) {
	t.Helper()
	r := random(t)
	g := randomGraph(r, 300, 2000)
	for len(g.own()) == 0 || len(g.links) == 0 {
		g = randomGraph(r, 300, 2000)
	}
	c := g.build(t, Options{}, nil)
	path := filepath.Join(t.TempDir(), "1.cell")
	require.NoError(t, WriteFile(path, c.Bytes()))
	return g, c, path
}

// TestStores drops and loads random stores. What is in memory must be right, and the size must be
// that of what is in memory.
func TestStores(t *testing.T) {
	g, whole, path := storedCell(t)
	r, c := random(t), whole
	for range 60 {
		var err error
		if some := Stores(r.IntN(int(AllStores) + 1)); r.IntN(2) == 0 {
			c, err = c.DropStores(some, path)
		} else {
			c, err = c.Load(some)
		}
		require.NoError(t, err)
		want := len(whole.head)
		for i, section := range whole.header.sections {
			if c.Stores().Has(sectionStores[i]) {
				want += len(section)
			}
		}
		if all := c.Stores() == AllStores; all && (c.Size() != len(whole.Bytes()) || !slices.Equal(c.Bytes(), whole.Bytes())) {
			t.Fatalf("%d bytes with all stores, want %d", c.Size(), len(whole.Bytes()))
		} else if !all && (c.Size() != want || c.Bytes() != nil) {
			t.Fatalf("%d bytes with %s, want %d", c.Size(), c.Stores(), want)
		}
		compareStores(t, g, whole, c)
	}
}

// compareStores compares the stores of c in memory with a whole cell.
func compareStores(t *testing.T, g *graph, whole, c *Cell) {
	t.Helper()
	if c.Sum() != whole.Sum() || c.Len() != whole.Len() || c.FileSize() != len(whole.Bytes()) || c.HasLabels() != whole.HasLabels() ||
		!slices.Equal(c.Sketches(), whole.Sketches()) {
		t.Fatalf("another cell: %x, %d pages", c.Sum(), c.Len())
	}
	for ord := range uint32(whole.Len()) {
		u := whole.UID(ord)
		if found, ok := c.Ordinal(u); !ok || found != ord {
			t.Fatalf("page %s has ordinal %d", u, found)
		}
		if c.Stores().Has(URLStore) {
			if url := string(c.AppendURL(nil, ord)); url != g.pages[u] {
				t.Fatalf("page %s has the URL %q, want %q", u, url, g.pages[u])
			}
			if found, ok := c.Find(g.pages[u]); !ok || found != ord {
				t.Fatalf("%q is page %d, want %d", g.pages[u], found, ord)
			}
		}
		for _, d := range [2]Direction{Forward, Backward} {
			if c.Stores().Has(StoreOf(d)) && !slices.Equal(c.AppendLinks(nil, d, ord), whole.AppendLinks(nil, d, ord)) {
				t.Fatalf("%s links of %s differ", d, u)
			}
		}
		if c.Stores().Has(ForwardStore) && !slices.Equal(c.AppendLabels(nil, ord), whole.AppendLabels(nil, ord)) {
			t.Fatalf("labels of %s differ", u)
		}
	}
}

// TestMissingStore checks that no read of a store that is not in memory returns an empty answer.
func TestMissingStore(t *testing.T) {
	_, whole, path := storedCell(t)
	read := func(d Direction) func(c *Cell) {
		return func(c *Cell) {
			var b Batch
			b.Read(d, []*Cell{c}, []uid.UID{c.UID(0)})
		}
	}
	for name, one := range map[string]struct {
		store Stores
		read  func(c *Cell)
	}{
		"URL":      {URLStore, func(c *Cell) { c.AppendURL(nil, 0) }},
		"Find":     {URLStore, func(c *Cell) { c.Find("http://a/") }},
		"URLs":     {URLStore, func(c *Cell) { new(Batch).ReadURLs([]*Cell{c}, []uid.UID{c.UID(0)}) }},
		"FindURLs": {URLStore, func(c *Cell) { new(Batch).FindURLs([]*Cell{c}, []string{"http://a/"}, []uint64{HostHash("http://a/")}) }},
		"forward":  {ForwardStore, func(c *Cell) { c.AppendLinks(nil, Forward, 0) }},
		"degree":   {BackwardStore, func(c *Cell) { c.Degree(Backward, 0) }},
		"labels":   {ForwardStore, func(c *Cell) { c.AppendLabels(nil, 0) }},
		"weights":  {ForwardStore, func(c *Cell) { c.AppendWeights(nil, 0) }},
		"label":    {ForwardStore, func(c *Cell) { c.EachLabel(0, []uid.UID{c.UID(0)}, func(int, Label) {}) }},
		"batch":    {ForwardStore, read(Forward)},
		"backward": {BackwardStore, read(Backward)},
		"targets":  {BackwardStore, func(c *Cell) { new(Batch).ReadTargets(Backward, []*Cell{c}, []uint32{0}) }},
		"lists":    {ForwardStore, func(c *Cell) { c.Lists(Forward) }},
	} {
		c, err := whole.DropStores(one.store, path)
		require.NoError(t, err)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a read without the store %s has an answer", name, one.store)
				}
			}()
			one.read(c)
		}()
		one.read(whole)
	}
}

// TestLoadDamaged loads stores from files that are damaged, cut off, of another cell or missing.
func TestLoadDamaged(t *testing.T) {
	g, whole, path := storedCell(t)
	data, other := whole.Bytes(), g.build(t, Options{Epoch: 1}, nil)
	for _, kept := range []Stores{0, AllStores &^ URLStore, AllStores &^ ForwardStore, AllStores &^ BackwardStore} {
		c, err := whole.DropStores(AllStores&^kept, path)
		require.NoError(t, err)
		// 1. Any flipped bit of a section that is read must be found.
		for i, of := range sectionStores {
			at := c.section(i)
			for _, wanted := range []Stores{URLStore, ForwardStore, BackwardStore} {
				if kept&wanted != 0 || at.length == 0 {
					continue
				}
				damaged := slices.Clone(data)
				damaged[at.start+at.length/2] ^= 4
				overwrite(t, path, damaged)
				_, err := c.Load(wanted)
				if all := kept|wanted == AllStores; errors.Is(err, ErrCorrupt) != (all || of == wanted) {
					t.Errorf("%s is damaged, %s is loaded beside %s: %v", sectionNames[i], wanted, kept, err)
				}
			}
		}
		// 2. Files that are no file of the cell.
		for _, wrong := range [][]byte{nil, data[:len(data)/3], other.Bytes()} {
			overwrite(t, path, wrong)
			if _, err := c.Load(AllStores); !errors.Is(err, ErrCorrupt) {
				t.Errorf("a file of %d bytes: %v", len(wrong), err)
			}
		}
		require.NoError(t, os.Remove(path))
		if _, err := c.Load(AllStores); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no file: %v", err)
		}
		// 3. The right file.
		overwrite(t, path, data)
		if _, err = c.Load(AllStores); err != nil {
			t.Error(err)
		}
	}
}

func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// TestStoreNames reads and writes sets of stores.
func TestStoreNames(t *testing.T) {
	for s := range AllStores + 1 {
		text, err := s.MarshalJSON()
		var again Stores
		if err := errors.Join(err, again.UnmarshalJSON(text)); err != nil || again != s {
			t.Errorf("%s: %s, %v", s, again, err)
		}
	}
	var s Stores
	if err := s.UnmarshalJSON([]byte(`["forward","sideward"]`)); err == nil {
		t.Error("sideward is a store")
	}
}

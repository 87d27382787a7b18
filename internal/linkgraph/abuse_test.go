// Abuse of the graph: odd URLs, and files with flipped bits. All answers are compared with a
// plain map of the same links.

package linkgraph

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/triple"
)

// fullAbuse reports whether the long tests run: TREFOIL_ABUSE must be set.
func fullAbuse() bool { return os.Getenv("TREFOIL_ABUSE") != "" }

// settle builds all cells with changes again.
func (w *world) settle() {
	w.t.Helper()
	require.NoError(w.t, w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { _, err := k.RebuildAll(); return err }))
}

// fromStore builds all cells from the triples, and writes them.
func (w *world) fromStore() {
	w.t.Helper()
	require.NoError(w.t, w.graph.placer.Make(ctx, machine.AllPartitions))
}

// anywhere compares the graph with the map: as it is, with its changes in its cells, built from
// the store, and read from its files.
func (w *world) anywhere() {
	w.t.Helper()
	w.compare()
	w.settle()
	w.compare()
	w.fromStore()
	w.compare()
	w.reopen()
	w.compare()
}

// oddLinks returns links between odd pages: of each one to itself and to some others.
func oddLinks(rng *rand.Rand, urls []string, most int) (changes []links.Change) {
	for i, url := range urls {
		c := links.Change{Source: url, Targets: []string{url, urls[(i+1)%len(urls)]}}
		for range rng.IntN(most) {
			c.Targets = append(c.Targets, urls[rng.IntN(len(urls))])
		}
		changes = append(changes, c)
	}
	return changes
}

// TestAbuseURLs adds and deletes odd URLs, self-links, duplicates and links in several named
// graphs, by Update and by other endpoints.
func TestAbuseURLs(t *testing.T) {
	seed.Long(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	rng := random(t)
	w := newWorld(t, machine.Options{CellPages: 20, BuildBytes: 1 << 10})
	urls := linkstest.OddURLs()
	changes := oddLinks(rng, urls, 3)
	own, others := changes[:len(changes)/2], changes[len(changes)/2:]
	w.update(append(slices.Clone(own), own[:10]...)...) // some twice in one call
	var added []triple.Triple
	for _, c := range others {
		for _, dst := range c.Targets {
			link := links.Link(links.DefaultPredicate, c.Source, dst)
			for _, graph := range []string{"", "urn:g:1", "urn:g:2"} {
				if graph != "" {
					link.Graph = triple.NewIRI(graph)
				}
				if graph == "" || rng.IntN(2) == 0 {
					added = append(added, link)
				}
			}
			w.set(c.Source, dst, cell.NoLabel)
		}
	}
	rng.Shuffle(len(added), func(i, j int) { added[i], added[j] = added[j], added[i] })
	if _, err := store.Add(ctx, w.store, added); err != nil {
		t.Fatal(err)
	}
	w.anywhere()

	// Links of the default graph go. If a named graph has a link as well, it stays.
	named := map[[2]string]bool{}
	var gone []triple.Triple
	for _, link := range added {
		if link.Graph.IsZero() {
			gone = append(gone, link)
		} else {
			named[[2]string{link.Subject.Value(), link.Object.Value()}] = true
		}
	}
	if _, err := store.Delete(ctx, w.store, gone); err != nil {
		t.Fatal(err)
	}
	for _, c := range others {
		for _, dst := range c.Targets {
			if !named[[2]string{c.Source, dst}] {
				w.unset(c.Source, dst)
			}
		}
	}
	for i := range own {
		own[i] = links.Change{Kind: links.ReplaceLinks, Source: own[i].Source, Targets: []string{own[i].Source, own[i].Source}}
	}
	w.update(own...)
	w.reopen()
	w.compare()
	if _, err := store.Apply(ctx, w.store, store.Steps{ClearAll: true}); err != nil {
		t.Fatal(err)
	}
	clear(w.links)
	clear(w.uids) // these were triples as well
	w.compare()
}

// damagedWorld returns a closed graph of several cells whose files have everything possible:
// labels, ghosts, sketches, and changes above them.
func damagedWorld(t *testing.T, rng *rand.Rand) *world {
	t.Helper()
	w := newWorld(t, machine.Options{CellPages: 400})
	hub := links.Change{Source: pageURL(0, 0)}
	for i := range 1100 {
		hub.Targets = append(hub.Targets, pageURL(i%5, i))
		hub.Labels = append(hub.Labels, links.Label{Weight: float64(i), Anchor: "an anchor"})
	}
	w.update(hub)
	w.fromStore()
	for range 30 {
		w.update(links.Change{Source: pageURL(rng.IntN(5), rng.IntN(50)), Targets: []string{pageURL(rng.IntN(9), rng.IntN(50))}})
	}
	require.NoError(t, w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { return k.Save() }))
	w.compare()
	w.close()
	return w
}

// regions returns the starts of the parts of a file, and its end. Of a cell these are its
// header's fields, its metadata and its sections, of other files many places.
func regions(name string, data []byte) (at []int) {
	if !strings.HasSuffix(name, ".cell") {
		for i := range 32 {
			at = append(at, i*len(data)/32)
		}
		return append(at, len(data))
	}
	for field := range 34 { // of 8 bytes
		at = append(at, 8*field)
	}
	for section := range 8 {
		entry := data[64+24*section:]
		at = append(at, int(binary.LittleEndian.Uint64(entry)))
	}
	return append(at, len(data))
}

// TestAbuseFlippedBits flips a bit in every region of every file of the graph. The read must
// find it. For some of each region, the graph must be built from the store and be right.
func TestAbuseFlippedBits(t *testing.T) {
	seed.Long(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	rng := random(t)
	w := damagedWorld(t, rng)
	defer w.open() // for the cleanup
	entries, err := os.ReadDir(filepath.Join(w.dir, "links"))
	require.NoError(t, err)
	flips, reopened, sections := 0, 0, map[int]bool{}
	whole := map[string][]byte{}
	for _, e := range entries {
		if whole[e.Name()], err = os.ReadFile(filepath.Join(w.dir, "links", e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	restore := func() {
		require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "links")))
		require.NoError(t, os.Mkdir(filepath.Join(w.dir, "links"), 0o755))
		for name, data := range whole {
			require.NoError(t, os.WriteFile(filepath.Join(w.dir, "links", name), data, 0o644))
		}
	}
	listed, err := w.graph.files.ReadListing()
	require.NoError(t, err)
	for name, data := range whole {
		at := slices.IndexFunc(listed.Cells, func(c keep.ListingCell) bool { return c.File == name || c.Rows == name })
		if at < 0 {
			continue // the listing itself
		}
		part := listed.Cells[at]
		path := filepath.Join(w.dir, "links", name)
		read := func(data []byte) error {
			require.NoError(t, os.WriteFile(path, data, 0o644))
			_, err := w.graph.files.ReadPart(part)
			return err
		}
		if err := read(data); err != nil {
			t.Fatalf("%s as it was: %v", name, err)
		}
		ends := regions(name, data)
		for i, from := range ends[:len(ends)-1] {
			to := ends[i+1]
			if to > from && strings.HasSuffix(name, ".cell") {
				sections[i] = true
			}
			for range min(seed.Rounds(2, 4), to-from) {
				place, bit := from+rng.IntN(to-from), byte(1)<<rng.IntN(8)
				damaged := bytes.Clone(data)
				damaged[place] ^= bit
				if err := read(damaged); err == nil {
					t.Fatalf("%s: bit %#x of byte %d of %d is flipped, and nobody sees it", name, bit, place, len(data))
				}
				flips++
			}
		}
		for range reopensOf(len(whole)) {
			damaged := bytes.Clone(data)
			damaged[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
			restore()
			require.NoError(t, os.WriteFile(path, damaged, 0o644))
			w.open()
			w.compare()
			w.close()
			reopened++
		}
		restore()
	}
	if len(sections) != 34+8 {
		t.Errorf("cells have %d regions with bytes, want 42: %v", len(sections), sections)
	}
	t.Logf("%d bits in %d files; %d times the graph was opened so", flips, len(whole), reopened)
}

// reopensOf returns the number of times that the graph is opened with a damage in each of n
// files.
func reopensOf(n int) int {
	if fullAbuse() {
		return 20
	}
	return max(1, 6/n)
}

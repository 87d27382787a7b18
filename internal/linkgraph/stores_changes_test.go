// Tests of changes, sizes, queries and lost files while stores are relinquished.

package linkgraph

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// TestChangeRelinquished makes each kind of change that needs a store while no store is in memory.
func TestChangeRelinquished(t *testing.T) {
	w := newWeb(t, machine.Options{CellPages: 100})
	a, b, c := pageURL(1, 1), pageURL(2, 1), pageURL(900, 1)
	label := links.Label{Weight: 7, Anchor: "kept"}
	w.update(links.Change{Source: a, Targets: []string{b}, Labels: []links.Label{label}})
	w.settled()
	// 1. An add of links of which one exists.
	w.relinquish(links.AllStores)
	result, err := w.graph.Update(ctx, []links.Change{{Source: a, Targets: []string{b, c}}})
	if err != nil || result.Added != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	w.set(a, c, cell.NoLabel)
	// 2. A link with a label is added again, in another graph.
	w.relinquish(links.AllStores)
	again := links.Link(links.DefaultPredicate, a, b)
	again.Graph = triple.NewIRI("http://example.org/graph")
	if _, err := store.Add(ctx, w.store, []triple.Triple{again}); err != nil {
		t.Fatal(err)
	}
	w.compare()
	// 3. A page has a UID that is known, and is in no cell.
	page := pageURL(901, 1)
	uids, _, err := w.graph.assigner.Assign(ctx, []string{page})
	require.NoError(t, err)
	w.graph.assigner.Known.Load().Add([]string{page}, uids, []int{0})
	w.relinquish(links.AllStores)
	if _, err := store.Add(ctx, w.store, []triple.Triple{links.Link(links.DefaultPredicate, page, a)}); err != nil {
		t.Fatal(err)
	}
	w.set(page, a, cell.NoLabel)
	w.compare()
	// 4. A cell that is built leaves out a page without links, which gets a link meanwhile.
	lonely := links.Change{Source: pageURL(902, 1), Targets: []string{pageURL(903, 1)}}
	w.update(lonely)
	w.settled()
	lonely.Kind = links.DeleteLinks
	w.update(lonely)
	if _, err := w.graph.Board.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	u, p := w.uidOf(lonely.Source), (*state.Part)(nil)
	w.relinquish(links.AllStores)
	var built keep.Rebuilt
	if err := w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error {
		s := k.Board.State.Load()
		p = s.Parts[s.Find(u)]
		k.Finish()
		k.Rebuild(p)
		built = <-k.Rebuilt
		return built.Err
	}); err != nil {
		t.Fatal(err)
	}
	if built.Collected != 1 {
		t.Errorf("%d pages are left out", built.Collected)
	}
	lonely.Kind = links.AddLinks
	if _, err := store.Add(ctx, w.store, []triple.Triple{links.Link(links.DefaultPredicate, lonely.Source, lonely.Targets[0])}); err != nil {
		t.Fatal(err)
	}
	w.set(lonely.Source, lonely.Targets[0], cell.NoLabel)
	if _, err := w.graph.Board.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { k.TakeRebuilt(built); return nil }))
	w.unloaded(links.AllStores)
	w.compare()
}

// uidOf returns the UID of a page.
func (w *world) uidOf(url string) uid.UID {
	w.t.Helper()
	uids, err := w.graph.UIDs(ctx, []string{url})
	if err != nil {
		w.t.Fatal(err)
	}
	return uids[0]
}

// TestSizesRelinquished checks that sizes, pages and a ranking's preparation need no file while cells have
// no changes, and that changes do not pass the bound of memory by what they load.
func TestSizesRelinquished(t *testing.T) {
	seed.Slow(t)
	w := newWeb(t, machine.Options{CellPages: 100})
	long := func(i int) string { return fmt.Sprint(pageURL(i, 1), strings.Repeat(fmt.Sprint("/long", i), 300)) }
	for i := range 40 {
		w.update(links.Change{Source: long(i), Targets: []string{pageURL(i, 1)}})
	}
	before, err := w.graph.Stats(ctx)
	require.NoError(t, err)
	w.settled()
	w.relinquish(links.AllStores &^ links.ForwardStore)
	files := w.graph.Options.Dir
	require.NoError(t, os.Rename(files, files+".away"))
	stats, err := w.graph.Stats(ctx)
	if err != nil || stats.Pages != before.Pages || stats.Links != before.Links || stats.MaxIn != before.MaxIn || stats.MinUID != before.MinUID || stats.MaxUID != before.MaxUID {
		t.Errorf("%+v, %v; before %+v", stats, err, before)
	}
	if pages, err := w.graph.Pages(ctx, 0, 100_000); err != nil || int64(len(pages)) == 0 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	w.settled()
	require.NoError(t, os.Rename(files+".away", files))
	// A change loads the URLs of cells for itself.
	w.relinquish(links.AllStores)
	w.graph.Options.MemoryBytes = w.graph.Board.Memory() + 20_000
	var more []triple.Triple
	for i := range 40 {
		more = append(more, links.Link(links.DefaultPredicate, long(i), pageURL((i+1)%40, 1)))
		w.set(long(i), pageURL((i+1)%40, 1), cell.NoLabel)
	}
	w.graph.assigner.Known.Store(assign.NewKnown())
	if _, err := store.Add(ctx, w.store, more); err != nil {
		t.Fatal(err)
	}
	if _, err := w.graph.Board.CaughtUp(ctx); err != nil {
		t.Errorf("cells were dropped: %v", err)
	}
	w.graph.Options.MemoryBytes = 0
	w.compare()
}

// TestPinnedRelinquished checks that a query's state loads stores, and fails when its cells were built
// again and their files are gone: a later state must not answer.
func TestPinnedRelinquished(t *testing.T) {
	w := newWeb(t, machine.Options{CellPages: 100})
	w.compare()
	pages := w.known()
	s := w.graph.Board.State.Load().Pin()
	want, err := s.Links(ctx, links.Forward, pages, 1<<20)
	require.NoError(t, err)
	w.relinquish(links.AllStores)
	s = w.graph.Board.State.Load().Pin()
	if got, err := s.Links(ctx, links.Forward, pages, 1<<20); err != nil || !slices.Equal(got.Items, want.Items) {
		t.Errorf("%d links, %v; want %d", len(got.Items), err, len(want.Items))
	}
	for src := range w.links {
		w.update(links.Change{Source: src, Targets: []string{pageURL(950, 1)}})
	}
	w.settled()
	if _, err := s.Links(ctx, links.Backward, pages, 1<<20); !errors.Is(err, state.ErrMixed) {
		t.Errorf("a state whose files are gone: %v", err)
	}
	w.compare()
}

// TestLostFile damages or removes files of cells whose stores are relinquished. Reads and changes must
// give an error or the right answer, and all is right again when the cells were built again.
func TestLostFile(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	w := newWeb(t, machine.Options{CellPages: 100})
	w.compare()
	remove := func(path string, _ []byte) error { return os.Remove(path) }
	read := func() error { _, err := w.graph.Links(ctx, links.Backward, w.known()); return err }
	for name, test := range map[string]struct {
		harm func(path string, data []byte) error
		use  func() error
	}{
		"removed":     {remove, read},
		"damaged":     {func(path string, data []byte) error { data[len(data)/2] ^= 1; return os.WriteFile(path, data, 0o600) }, read},
		"cut off":     {func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)/2], 0o600) }, read},
		"no cell":     {func(path string, _ []byte) error { return os.WriteFile(path, []byte("no cell"), 0o600) }, read},
		"a directory": {func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }, read},
		"change":      {remove, w.change},
		"settle": {remove, func() error {
			return w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { _, err := k.RebuildAll(); return err })
		}},
		"stats": {remove, func() error { _, err := w.graph.Stats(ctx); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.update(links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 1), "http://" + strings.ReplaceAll(name, " ", "") + ".example/"}}) // it is counted
			w.compare()
			w.relinquish(links.AllStores)
			files, err := filepath.Glob(filepath.Join(w.graph.Options.Dir, "*.cell"))
			if err != nil || len(files) < 5 {
				t.Fatal(files, err)
			}
			for i, path := range files {
				if i%8 > 0 && name != "change" { // a change reads two files
					continue
				}
				data, err := os.ReadFile(path)
				if err == nil {
					err = test.harm(path, data)
				}
				require.NoError(t, err)
			}
			// A partition is lost at a time, because its file is read then.
			for _, use := range []func() error{test.use, func() error { return w.graph.Request(ctx, links.AllStores) }} {
				for tries := 0; ; tries++ {
					err := use()
					if err == nil {
						break
					}
					if !errors.Is(err, links.ErrLoading) || tries > 3*len(files) {
						t.Fatalf("after %d tries of %d files: %v", tries, len(files), err)
					}
					if err := w.graph.AwaitCells(ctx); err != nil && !errors.Is(err, links.ErrLoading) {
						t.Fatal(err)
					}
				}
			}
			w.compare()
		})
	}
	w.t = t
}

// known returns the UIDs of all pages that had one.
func (w *world) known() (pages []uid.UID) {
	for _, u := range w.uids {
		pages = append(pages, u)
	}
	slices.Sort(pages)
	return pages
}

// change adds a link between new pages, and waits until readers see it.
func (w *world) change() error {
	w.set(pageURL(500, 1), pageURL(501, 1), cell.NoLabel)
	_, err := w.graph.Update(ctx, []links.Change{{Source: pageURL(500, 1), Targets: []string{pageURL(501, 1)}}})
	if err == nil {
		_, err = w.graph.Board.CaughtUp(ctx)
	}
	return err
}

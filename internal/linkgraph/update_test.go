// Tests of concurrent updates and of saved files.

package linkgraph

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
)

// TestUpdatesAtOnce checks that concurrent updates of all kinds count correctly and lose
// nothing. Each goroutine changes the lists of its own pages.
func TestUpdatesAtOnce(t *testing.T) {
	w := newWorld(t, machine.Options{})
	seed := random(t).Uint64()
	const goroutines, pages = 4, 12
	owned := make([]map[string]map[string]bool, goroutines)
	var group sync.WaitGroup
	for g := range goroutines {
		owned[g] = map[string]map[string]bool{}
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(g)))
			for range 40 {
				var changes []links.Change
				for range 1 + rng.IntN(4) {
					src := pageURL(g, rng.IntN(3))
					c := links.Change{Kind: links.ChangeKind(rng.IntN(3)), Source: src}
					if rng.IntN(3) > 0 {
						c.Kind = links.AddLinks
					}
					for range rng.IntN(20) {
						c.Targets = append(c.Targets, pageURL(rng.IntN(goroutines), rng.IntN(pages)))
					}
					changes = append(changes, c)
				}
				before := map[string]map[string]bool{}
				for _, c := range changes {
					if before[c.Source] == nil {
						before[c.Source] = map[string]bool{}
						for dst := range owned[g][c.Source] {
							before[c.Source][dst] = true
						}
					}
					list := owned[g][c.Source]
					if list == nil || c.Kind == links.ReplaceLinks {
						list = map[string]bool{}
						owned[g][c.Source] = list
					}
					for _, dst := range c.Targets {
						if list[dst] = true; c.Kind == links.DeleteLinks {
							delete(list, dst)
						}
					}
				}
				grown := int64(0)
				for src, list := range before {
					grown += int64(len(owned[g][src]) - len(list))
				}
				got, err := w.graph.Update(ctx, changes)
				if err != nil || got.Added-got.Deleted != grown {
					t.Errorf("%+v, %v; %d more links, in fact", got, err, grown)
					return
				}
				// It must be visible at once.
				src := changes[0].Source
				uids, err := w.graph.UIDs(ctx, []string{src})
				if err != nil {
					t.Error(err)
					return
				}
				lists, err := w.graph.Links(ctx, links.Forward, uids)
				if err != nil || len(lists.At(0)) != len(owned[g][src]) {
					t.Errorf("%s has %d links, %v; want %d", src, len(lists.At(0)), err, len(owned[g][src]))
					return
				}
			}
		})
	}
	group.Wait()
	for _, lists := range owned {
		for src, list := range lists {
			for dst := range list {
				w.set(src, dst, cell.NoLabel)
			}
		}
	}
	w.compare()
}

// TestUIDsAfterClear checks that a page gets a UID in the store if its UID was deleted with
// everything else.
func TestUIDsAfterClear(t *testing.T) {
	w := newWorld(t, machine.Options{})
	a, b := pageURL(1, 1), pageURL(2, 2)
	for round := range 3 {
		w.update(links.Change{Source: a, Targets: []string{b}})
		w.compare()
		found, err := pagerows.FindUIDs(ctx, w.graph.Node, []string{a, b})
		if err != nil || found[0] != w.uids[a] || found[1] != w.uids[b] {
			t.Errorf("round %d: the UIDs are %s, %v, in the store, and %s and %s in the graph", round, found, err, w.uids[a], w.uids[b])
		}
		if _, err := store.Apply(ctx, w.store, store.Steps{ClearAll: true}); err != nil {
			t.Fatal(err)
		}
		clear(w.links)
		clear(w.uids)
		w.compare()
	}
}

// TestSavedBeforeFeedIsFull checks that files are written before the feed exceeds its limit,
// even if the changes are small beside their entries.
func TestSavedBeforeFeedIsFull(t *testing.T) {
	if testing.Short() {
		t.Skip("many links, of one goroutine at a time")
	}
	w := newWorld(t, machine.Options{})
	page := func(i int) string { return pageURL(1, i) + "/" + strings.Repeat("long/", 180) + fmt.Sprint(i) }
	var all []string
	for i := range 130 {
		all = append(all, page(i))
	}
	idle := func() { // the keeper has nothing to do except this
		require.NoError(t, w.graph.keeper.InKeeper(ctx, func(*keep.Keeper) error { return nil }))
	}
	idle()
	first, err := w.graph.files.ReadListing()
	require.NoError(t, err)
	for from := 0; from < len(all); from += 10 {
		var changes []links.Change
		for _, src := range all[from : from+10] {
			changes = append(changes, links.Change{Source: src, Targets: all})
		}
		w.update(changes...)
	}
	idle()
	last, err := w.graph.files.ReadListing()
	if err != nil || last.Position == first.Position {
		t.Errorf("the files are of position %s, %v, still", last.Position, err)
	}
}

// Tests of replacements of long lists: one at a time, and locks that end.

package linkgraph

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/update"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
)

// longList returns a list that goes in parts: most links of all lists are the same.
func longList(name string) (targets []string) {
	for i := range update.ChangedLinks {
		targets = append(targets, pageURL(i%100, i/100))
	}
	for i := range 50 {
		targets = append(targets, fmt.Sprintf("http://%s.example.org/%d", name, i))
	}
	slices.Sort(targets)
	return targets
}

// TestLongReplacedAtOnce checks that a list is one that it was replaced by, if long and short
// replacements of it come at the same time.
func TestLongReplacedAtOnce(t *testing.T) {
	seed.Long(t)
	w := newWorld(t, machine.Options{})
	page := pageURL(1, 1)
	lists := [][]string{longList("a"), longList("b"), {pageURL(7, 7)}}
	for range 3 {
		var group sync.WaitGroup
		for _, targets := range lists {
			group.Go(func() {
				if _, err := w.graph.Update(ctx, []links.Change{{Kind: links.ReplaceLinks, Source: page, Targets: targets}}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		uids, err := w.graph.UIDs(ctx, []string{page})
		require.NoError(t, err)
		l, err := w.graph.Links(ctx, links.Forward, uids)
		require.NoError(t, err)
		list, err := w.graph.URLs(ctx, l.Items)
		require.NoError(t, err)
		slices.Sort(list)
		if !slices.ContainsFunc(lists, func(one []string) bool { return slices.Equal(one, list) }) {
			t.Errorf("the list has %d links, and is none that it was replaced by", len(list))
		}
	}
}

// TestHoldEnds checks that the lock of a long replacement ends if its next step does not come, and
// that a later step is refused.
func TestHoldEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newTalker(t)
		for i := range g.Replacer.Replacing {
			g.Replacer.Replacing[i] = derived.NewLock()
		}
		changes := []links.Change{{Source: pageURL(1, 1)}}
		var done links.UpdateResult
		require.NoError(t, g.Replacer.HoldHere(t.Context(), update.Hold{Token: 7, Step: update.HoldBegin}, changes, &done))
		// 1. Another replacement waits until the lock ends.
		begun := time.Now()
		unlock, err := g.Replacer.LockReplacing(t.Context(), update.SourcesOf(changes))
		if err != nil || time.Since(begun) != update.HoldTimeout {
			t.Errorf("the lock was free after %s: %v", time.Since(begun), err)
		}
		// 2. The first one has lost it, and its end does not give back the lock of the other one.
		if err := g.Replacer.HoldHere(t.Context(), update.Hold{Token: 7, Step: update.HoldPart}, changes, &done); !machine.MayPass(err) {
			t.Errorf("a part without the lock: %v", err)
		}
		if err := g.Replacer.HoldHere(t.Context(), update.Hold{Token: 7, Step: update.HoldEnd}, changes, &done); err != nil {
			t.Error(err)
		}
		if len(g.Replacer.Replacing[machine.PartitionOfURL(changes[0].Source)].Token) != 1 {
			t.Error("the lock of another replacement was given back")
		}
		unlock()
	})
}

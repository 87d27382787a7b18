// Tests of reading many pages at once.

package linkgraph

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// TestManyPages reads random pages of several cells, changed and unchanged, and invalid UIDs,
// in calls of all lengths.
func TestManyPages(t *testing.T) {
	r := random(t)
	w := newWorld(t, machine.Options{})
	change := func() (c links.Change) {
		c.Source = pageURL(r.IntN(60), r.IntN(10))
		for range r.IntN(1 << r.IntN(8)) {
			c.Targets = append(c.Targets, pageURL(r.IntN(60), r.IntN(10)))
		}
		slices.Sort(c.Targets)
		c.Targets = slices.Compact(c.Targets)
		return c
	}
	var changes []links.Change
	for range 500 {
		changes = append(changes, change())
	}
	w.update(changes...)
	w.o = machine.Options{CellPages: 50, Dir: t.TempDir()}
	w.reopen() // builds several cells
	w.update(change(), change(), change())
	s, err := w.graph.Board.CaughtUp(ctx)
	if err != nil || len(s.Views) < 4 {
		t.Fatal(len(s.Views), err)
	}
	all, err := w.graph.Pages(ctx, 0, 1000)
	require.NoError(t, err)
	for range 200 {
		pages := make([]uid.UID, r.IntN(1<<r.IntN(10)))
		for i := range pages {
			if pages[i] = all[r.IntN(len(all))]; r.IntN(10) == 0 {
				pages[i] = uid.UID(r.Uint64())
			}
		}
		d := links.Direction(r.IntN(2))
		var want links.Lists
		for _, u := range pages {
			want.Items = s.View(u).AppendLinks(want.Items, d, u)
			want.End()
		}
		got, err := w.graph.Links(ctx, d, pages)
		if err != nil || !slices.Equal(got.Ends, want.Ends) || !slices.Equal(got.Items, want.Items) {
			t.Fatalf("%d lists, %v, want %d", got.Len(), err, want.Len())
		}
		most := r.IntN(1 << r.IntN(14))
		n, _ := slices.BinarySearchFunc(want.Ends, most, func(end, most int) int { // the first that ends behind
			if end <= most {
				return -1
			}
			return 1
		})
		got, err = w.graph.LinksPrefix(ctx, d, pages, most)
		if err != nil || !slices.Equal(got.Ends, want.Ends[:n]) || n > 0 && !slices.Equal(got.Items, want.Items[:want.Ends[n-1]]) {
			t.Fatalf("up to %d links: %d lists, %v, want %d of %d", most, got.Len(), err, n, len(pages))
		}
	}
	names, err := w.graph.URLs(ctx, append(all, 7))
	require.NoError(t, err)
	uids, err := w.graph.UIDs(ctx, append(names, "http://nobody.example/"))
	if err != nil || !slices.Equal(uids, append(slices.Clone(all), 0, 0)) {
		t.Errorf("%d pages, %d URLs, and back %d pages, %v", len(all), len(names), len(uids), err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := w.graph.Links(ended, links.Forward, all); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// Tests of UIDs that an earlier release wrote into the default graph.

package linkgraph

import (
	"maps"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// earlierStore makes w a closed store as an earlier release left it.
func (w *world) earlierStore() {
	w.t.Helper()
	if err := w.graph.Close(); err != nil {
		w.t.Fatal(err)
	}
	r, err := w.store.Reader()
	if err != nil {
		w.t.Fatal(err)
	}
	f := pagerows.Form{Earlier: true}
	changes := store.Steps{}
	var add, remove []triple.Triple
	notes := map[triple.Triple][]store.Annotation{}
	for row, err := range r.Match(ctx, triple.Pattern{Graph: pagerows.SystemGraph}, store.ReadOptions{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		t, err := row.Triple()
		if err != nil {
			w.t.Fatal(err)
		}
		remove = append(remove, t)
		for url, u := range w.uids {
			var earlier triple.Triple
			switch t {
			case links.UIDTriple(url, u):
				earlier = f.UIDTriple(url, u)
			case links.HostTriple(u.Extent(), weburl.HostKey(url)):
				earlier = f.HostTriple(u.Extent(), weburl.HostKey(url))
			default:
				continue
			}
			if !slices.Contains(add, earlier) {
				add = append(add, earlier)
			}
			for a, err := range r.Annotations(ctx, t) {
				if err != nil {
					w.t.Fatal(err)
				}
				notes[earlier] = append(notes[earlier], a)
			}
		}
	}
	r.Close()
	changes.Add, changes.Delete = slices.Values(add), slices.Values(remove)
	if _, err := store.Apply(ctx, w.store, changes); err != nil {
		w.t.Fatal(err)
	}
	for t, all := range notes {
		for _, a := range all {
			if err := store.Annotate(ctx, w.store, t, a.ApplicationID, a.Data); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// count counts the triples of a pattern.
func (w *world) count(p triple.Pattern) int64 {
	w.t.Helper()
	r, err := w.store.Reader()
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	n, err := r.Count(ctx, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// TestMove: the UIDs, the hosts and the labels of an earlier release are in the system graph when the graph is open, with
// and without the cells' files. Triples of the same form that come later are an application's own.
func TestMove(t *testing.T) {
	defer func(n int) { pagerows.MovedAtOnce = n }(pagerows.MovedAtOnce)
	pagerows.MovedAtOnce = 3
	w := newWorld(t, machine.Options{})
	w.update(links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 1), pageURL(1, 2), pageURL(3, 1)}},
		links.Change{Kind: links.LabelPage, Source: pageURL(1, 1), Labels: []links.Label{{Weight: 3}}})
	w.compare()
	label := func() links.Label {
		t.Helper()
		got, err := w.graph.PageLabels(ctx, []uid.UID{w.uids[pageURL(1, 1)]})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		return got[0]
	}
	want := label()
	if want.Weight != 3 {
		t.Fatalf("the page has the label %+v", want)
	}
	w.earlierStore()
	earlier := []triple.Pattern{{Predicate: triple.NewIRI(pagerows.EarlierUID)}, {Predicate: triple.NewIRI(pagerows.EarlierHost)}}
	for _, p := range earlier {
		if w.count(p) == 0 {
			t.Fatalf("the test has made no triples of %s", p.Predicate)
		}
	}
	var err error
	if w.graph, err = Open(w.store, w.o); err != nil {
		t.Fatal(err)
	}
	w.compare()
	for _, p := range earlier {
		if n := w.count(p); n != 0 {
			t.Errorf("%d triples of %s are left", n, p.Predicate)
		}
	}
	if n := w.count(triple.Pattern{Predicate: triple.NewIRI(links.UIDPredicate), Graph: pagerows.SystemGraph}); n != int64(len(w.uids)) {
		t.Errorf("%d UIDs were moved, want %d", n, len(w.uids))
	}
	if got := label(); got != want {
		t.Errorf("the label was %+v and is %+v", want, got)
	}
	if n := w.count(triple.Exact(systemgraph.PrefixRow)); n != 1 {
		t.Errorf("the mark is there %d times", n)
	}
	// A client's triple of the earlier form names no page, whatever happens to it.
	stolen := pagerows.Form{Earlier: true}.UIDTriple(pageURL(1, 9), w.uids[pageURL(1, 1)])
	if _, err := store.Add(ctx, w.store, []triple.Triple{stolen}); err != nil {
		t.Fatal(err)
	}
	w.reopen()
	w.update(links.Change{Source: pageURL(1, 9), Targets: []string{pageURL(1, 1)}})
	w.compare()
	if _, err := store.Delete(ctx, w.store, []triple.Triple{stolen}); err != nil {
		t.Fatal(err)
	}
	w.compare()
}

// TestMoveRestored: UIDs of an earlier release that come into an open store without UIDs, as from a backup, are moved.
func TestMoveRestored(t *testing.T) {
	w := newWorld(t, machine.Options{})
	a, b := pageURL(1, 1), pageURL(2, 1)
	f := pagerows.Form{Earlier: true}
	var all []triple.Triple
	for _, url := range []string{a, b} {
		u := uid.Make(uid.SlotOf(pagerows.HostKey(url)), 1, 7)
		w.uids[url] = u
		all = append(all, f.UIDTriple(url, u), f.HostTriple(u.Extent(), pagerows.HostKey(url)))
	}
	w.load(append(all, links.Link(links.DefaultPredicate, a, b)))
	w.set(a, b, cell.NoLabel)
	want := maps.Clone(w.uids)
	w.compare()
	got, err := w.graph.UIDs(ctx, []string{a, b})
	if err != nil || got[0] != want[a] || got[1] != want[b] {
		t.Errorf("the pages had the UIDs %v and have %v, %v", want, got, err)
	}
	if n := w.count(triple.Pattern{Predicate: triple.NewIRI(pagerows.EarlierUID)}); n != 0 {
		t.Errorf("%d triples are left in the default graph", n)
	}
}

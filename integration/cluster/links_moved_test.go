// UIDs that an earlier release wrote, in a cluster.

package cluster

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// TestLinksMoved: a cluster of three whose triples have UIDs of an earlier release keeps them, in the system graph. All
// machines read them, and each moves them at the same time as the others.
func TestLinksMoved(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		a, b := "http://www1.example.org/a", "http://www2.example.org/b"
		want := map[string]uid.UID{}
		all := []triple.Triple{links.Link(links.DefaultPredicate, a, b)}
		for _, url := range []string{a, b} {
			want[url] = uid.Make(uid.SlotOf(weburl.HostKey(url)), 1, 9)
			all = append(all, triple.Triple{Subject: triple.NewIRI(url), Predicate: triple.NewIRI("urn:trefoil:uid"),
				Object: triple.NewTyped(want[url].String(), "http://www.w3.org/2001/XMLSchema#unsignedLong")})
		}
		if _, err := store.Add(t.Context(), w.any().node, all); err != nil {
			t.Fatal(err)
		}
		web.open()
		defer func() { web.end() }()
		for _, m := range w.up() {
			got, err := web.graphs[m].UIDs(t.Context(), []string{a, b})
			if err != nil || got[0] != want[a] || got[1] != want[b] {
				t.Errorf("the UIDs were %v and are %v, %v", want, got, err)
			}
		}
		r, err := w.any().node.Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for of, want := range map[triple.Pattern]int64{
			{Predicate: triple.NewIRI("urn:trefoil:uid")}:                            0,
			{Predicate: triple.NewIRI(links.UIDPredicate), Graph: systemgraph.Graph}: 2,
		} {
			if n, err := r.Count(t.Context(), of); err != nil || n != want {
				t.Errorf("%v: %d triples, want %d, %v", of, n, want, err)
			}
		}
		if a, err := r.Annotation(t.Context(), systemgraph.PrefixRow, systemgraph.Links); err != nil || a == nil {
			t.Errorf("the mark is %v, %v", a, err)
		}
	})
}

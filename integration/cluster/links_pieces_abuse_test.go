// Links of one page with millions of them, over machines.

package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/rdfload/input"
)

// abuseLinks is the number of links in each direction of TestAbuseManyLinks: that in TREFOIL_ABUSE_LINKS,
// or two million.
func abuseLinks(t *testing.T) int {
	if os.Getenv("TREFOIL_ABUSE") == "" {
		t.Skip("some GiB of memory and some minutes: set TREFOIL_ABUSE")
	}
	text := os.Getenv("TREFOIL_ABUSE_LINKS")
	if text == "" {
		return 2_000_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// TestAbuseManyLinks has one page with millions of links from it and to it, on three machines of which
// each has two thirds of the cells. All machines read the lists, degrees and samples, also with one
// machine killed, and a short list replaces the long one.
func TestAbuseManyLinks(t *testing.T) {
	n := abuseLinks(t)
	simulate(t, 3, func(t *testing.T, w *world) {
		web := newWeb(w)
		web.copies, web.messageBytes = 1, 1<<20 // 131,072 links a message
		w.form()
		hub := "http://hub.example.org/"
		page := func(i int) string { return fmt.Sprintf("http://www%d.example.org/%d", i%1000, i) }
		// 1. Load the links as triples. The cells are built of them.
		begun := time.Now()
		real := func(what string) {
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			t.Logf("%s: %d MiB in use, %d MiB of the system", what, memory.HeapAlloc>>20, memory.Sys>>20)
		}
		path := filepath.Join(t.TempDir(), "links.nt")
		file, err := os.Create(path)
		require.NoError(t, err)
		text := bufio.NewWriter(file)
		for i := range n {
			fmt.Fprintf(text, "<%s> <%s> <%s> .\n<%s> <%s> <%s> .\n", hub, links.DefaultPredicate, page(i), page(i), links.DefaultPredicate, hub)
		}
		require.NoError(t, errors.Join(text.Flush(), file.Close()))
		sources, _, err := input.List([]string{path}, input.RDF)
		require.NoError(t, err)
		if s, err := w.any().load(t.Context(), sources[0], false); err != nil || s.New != int64(2*n) {
			t.Fatalf("%+v, %v", s, err)
		}
		real("loaded")
		w.settle()
		web.open()
		defer web.end()
		web.copied()
		real("cells are built")

		// 2. Read by all machines.
		uids, err := web.some().UIDs(t.Context(), []string{hub, page(0), page(n - 1)})
		if err != nil || slices.Contains(uids, 0) {
			t.Fatal(uids, err)
		}
		read := func(g *linkgraph.Graph, want int) {
			for _, d := range []links.Direction{links.Forward, links.Backward} {
				degrees, err := g.Degrees(t.Context(), d, uids)
				if err != nil || !slices.Equal(degrees, []int{want, 1, 1}) {
					t.Fatalf("degrees %v, %v", degrees, err)
				}
				samples, err := g.SampleLinks(t.Context(), d, uids, sample.Spec{N: 10, Mode: sample.ModeConsistent})
				if err != nil || len(samples.At(0)) != 10 {
					t.Fatalf("a sample of %d links, %v", len(samples.At(0)), err)
				}
				lists, err := g.Links(t.Context(), d, uids)
				if err != nil || len(lists.At(0)) != want || len(lists.At(2)) != 1 || !slices.IsSorted(lists.At(0)) {
					t.Fatalf("%v links: %d, %v", d, len(lists.At(0)), err)
				}
				last := uid.UID(0)
				for _, u := range lists.At(0) {
					if u == last {
						t.Fatalf("%s is there twice", u)
					}
					last = u
				}
			}
		}
		for _, m := range w.up() {
			read(web.graphs[m], n)
		}
		real("read by all machines")

		// 3. Lose a machine.
		m := w.any()
		web.end(m)
		m.kill()
		for _, m := range w.up() {
			read(web.graphs[m], n)
		}
		w.settle()
		real("read without one machine")

		// 4. A short list replaces the long one.
		c := links.Change{Kind: links.ReplaceLinks, Source: hub, Targets: []string{page(0), page(n - 1)}}
		done, err := web.some().Update(t.Context(), []links.Change{c})
		if err != nil || done.Deleted != int64(n-2) || done.Added != 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		degrees, err := web.some().Degrees(t.Context(), links.Forward, uids)
		if err != nil || !slices.Equal(degrees, []int{2, 1, 1}) {
			t.Fatalf("degrees %v, %v", degrees, err)
		}
		real(fmt.Sprintf("replaced, after %s of virtual time", time.Since(begun)))
	})
}

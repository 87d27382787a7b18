// Paths over links in queries of a cluster.

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/triple"
)

// askPath returns the terms that a machine finds at the end of a path over links, sorted, and whether it read
// cells.
func (w *web) askPath(m *machine, start, repeated string) (ends []string, cells bool, err error) {
	e, err := engine.New(m.node, engine.Options{LinkEdges: w.graphs[m].Edges, LinkPredicate: links.DefaultPredicate, Timeout: 10 * time.Second})
	if err != nil {
		return nil, false, err
	}
	ctx := w.t.Context()
	q, err := e.Prepare(ctx, fmt.Sprintf("SELECT ?b { <%s> %s ?b }", start, strings.ReplaceAll(repeated, "L", "<"+links.DefaultPredicate+">")), engine.Params{})
	if err != nil {
		return nil, false, err
	}
	answer, err := q.Run(ctx)
	if err != nil {
		return nil, false, err
	}
	defer answer.Close()
	for row, err := range answer.Rows() {
		if err != nil {
			return nil, false, err
		}
		ends = append(ends, row[0].String())
	}
	slices.Sort(ends)
	return ends, strings.Contains(answer.Plan().Text(false), path.CellsName), nil
}

// reached returns what a start reaches by L+ and by ^L+.
func (w *web) reached(start string, backward bool) (ends []string) {
	neighbours := map[string][]string{}
	for source, of := range w.links {
		for target := range of {
			from, to := source, target
			if backward {
				from, to = to, from
			}
			neighbours[from] = append(neighbours[from], to)
		}
	}
	seen, next := map[string]bool{}, []string{start}
	for len(next) > 0 {
		from := next[0]
		next = next[1:]
		for _, to := range neighbours[from] {
			if !seen[to] {
				seen[to] = true
				next, ends = append(next, to), append(ends, triple.NewIRI(to).String())
			}
		}
	}
	slices.Sort(ends)
	return ends
}

// checkPaths compares paths from some pages at a machine, and reports whether all of them read cells.
func (w *web) checkPaths(m *machine) (cells bool, err error) {
	cells = true
	for _, start := range []string{w.url(), w.url(), "http://nowhere.example/"} {
		for repeated, backward := range map[string]bool{"L+": false, "^L+": true} {
			got, read, err := w.askPath(m, start, repeated)
			if err != nil {
				return false, err
			}
			want := w.reached(start, backward)
			if !slices.Equal(got, want) {
				w.t.Errorf("%s: %s %s (cells %t): %v, want %v", m.name, start, repeated, read, got, want)
			}
			cells = cells && read
		}
	}
	return cells, nil
}

// TestLinkPaths: every machine answers paths over links as the links are, from cells. It holds them all, or requests
// some of them. If cells are not the triples, and after a loss, rows are read or cells of others.
func TestLinkPaths(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{3, 5}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				web := newWeb(w)
				w.form()
				web.open()
				defer func() { web.end() }()
				var cells bool
				check := func(m *machine) bool {
					var err error
					if cells, err = web.checkPaths(m); err != nil {
						t.Log(m.name, err)
					}
					return err == nil
				}
				// 1. Links change by all ways, and each machine has them at once.
				for range 12 {
					web.change()
					web.byOtherDoors()
					for _, m := range w.up() {
						w.until("a machine answers from cells", func() bool { return check(m) && cells })
					}
				}
				// 2. A dead machine is no matter, soon.
				victim := w.any()
				closed := web.graphs[victim].Close
				defer func() { _ = closed() }()
				delete(web.graphs, victim)
				victim.kill()
				for _, m := range w.up() {
					w.until("a machine answers from cells after a loss", func() bool { return check(m) && cells })
				}
				// 3. A link to a text, and one in a named graph, are in no cell.
				web.mixed()
			})
		})
	}
}

// mixed adds triples of the predicate that are no links, and checks that paths see them at once, and read rows. So
// does a machine that copies its cells afterwards.
func (w *web) mixed() {
	w.t.Helper()
	const start = "http://mixed.example/"
	text := links.Link(links.DefaultPredicate, start, "http://mixed.example/1")
	named := text
	text.Object, named.Graph = triple.NewString("no page"), triple.NewIRI("http://mixed.example/graph")
	check := func(m *machine, want ...string) {
		w.t.Helper()
		var ends []string
		var cells bool
		w.until("a machine answers", func() bool {
			var err error
			ends, cells, err = w.askPath(m, start, "L+")
			return err == nil
		})
		if cells || !slices.Equal(ends, want) {
			w.t.Errorf("%s: %v (cells %t), want %v", m.name, ends, cells, want)
		}
	}
	for i, one := range []triple.Triple{named, text} {
		if _, err := store.Add(w.t.Context(), w.any().node, []triple.Triple{one}); err != nil {
			w.t.Fatal(err)
		}
		for _, m := range w.up() {
			check(m, []string{`"no page"`}[:i]...)
		}
	}
	m := w.any()
	w.end(m)
	m.stop()
	if err := os.RemoveAll(filepath.Join(w.dir, m.name)); err != nil {
		w.t.Fatal(err)
	}
	m.run()
	w.open()
	w.until("the cells are copied", func() bool { return w.graphs[m].AwaitCells(w.t.Context()) == nil })
	check(m, `"no page"`)
}

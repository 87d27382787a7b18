// The steps of loads of links: repeated pages, labels, and loads that were stopped.

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
)

// The search for pages that come twice is right however small its filter is.
func TestFindLast(t *testing.T) {
	r := newRand(t)
	for _, words := range []uint64{0, 8, 64, 1 << 20} {
		const lines = 400
		texts := randomPages(r, 3, lines, map[edge]links.Label{})
		type at struct{ source, line int }
		last := make(map[string]at)
		var sources []input.Source
		for i, text := range texts {
			for j, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
				last[strings.Split(line, "\t")[0]] = at{i, j}
			}
			sources = append(sources, input.Document("f", strings.NewReader(text), int64(len(text)), 0))
		}
		watched := int64(0)
		watch := func(p rdfload.Progress) { watched = p.Bytes }
		if words == 0 {
			if _, err := findLast(t.Context(), sources, linkfile.Options{}, 1<<10, watch); !errors.Is(err, errManyTwice) {
				t.Errorf("more pages come twice than memory holds: %v", err)
			}
			continue
		}
		found, err := newLastFinder(linkfile.Options{}, words, lines, watch).find(t.Context(), sources)
		if err != nil || watched != int64(len(strings.Join(texts, ""))) {
			t.Fatalf("%v, %d bytes read", err, watched)
		}
		for i, text := range texts {
			rd, err := linkfile.NewReader(strings.NewReader(text), linkfile.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for j := range lines {
				begin := rd.Position().Offset
				if !rd.Scan() {
					t.Fatal(rd.Err())
				}
				page := rd.Page().Source
				if got, want := found.superseded(i, begin, page), last[string(page)] != (at{i, j}); got != want {
					t.Fatalf("file %d, list %d of %s: %t, want %t", i, j, page, got, want)
				}
			}
		}
	}
	if found, err := findLast(t.Context(), []input.Source{input.Document("f.pages", strings.NewReader("x:a\nx:b\n"), -1, 0)}, linkfile.Options{}, 1<<20, func(rdfload.Progress) {}); found != nil || err != nil {
		t.Errorf("%v %v", found, err)
	}
}

// Of a link that comes many times in a batch, the label counts that came last, however
// many are written at a time, and whatever part of them a load that stopped had noted.
func TestLastLabelCounts(t *testing.T) {
	const edges, times = 16, 40
	for _, kind := range []links.ChangeKind{links.AddLinks, links.ReplaceLinks} {
		data := filepath.Join(t.TempDir(), "store")
		db, err := store.Open(data, store.Options{MinFreeBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		to := &localLinks{db, links.DefaultPredicate}
		want := make(map[edge]links.Label)
		var batch []links.Change
		for i := range edges { // within a page's links
			c := links.Change{Kind: kind, Source: fmt.Sprintf("x:s%d", i)}
			for j := range times {
				label := links.Label{Weight: float64(2 + j)}
				if j == times-1 { // adds the link once more, and says nothing of it
					label = cell.NoLabel
				} else {
					want[edge{c.Source, "x:t"}] = label
				}
				c.Targets, c.Labels = append(c.Targets, "x:t"), append(c.Labels, label)
			}
			batch = append(batch, c)
		}
		for j := range times { // from change to change
			batch = append(batch, links.Change{Source: fmt.Sprintf("x:s%d", j%2), Targets: []string{"x:t"}, Labels: []links.Label{{Weight: float64(100 + j)}}})
			want[edge{fmt.Sprintf("x:s%d", j%2), "x:t"}] = links.Label{Weight: float64(100 + j)}
		}
		if _, err := to.Update(t.Context(), batch[:edges]); err != nil { // what a load did that stopped
			t.Fatal(err)
		}
		if err := to.label(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		sameLinks(t, storedLinks(t, data, links.DefaultPredicate), want)
	}
}

// If a link was deleted, its label is left out. Every other failure of a label is an error.
func TestLabelErrors(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	to := &localLinks{db, links.DefaultPredicate}
	batch := []links.Change{{Source: "x:a", Targets: []string{"x:gone"}, Labels: []links.Label{{Weight: 2}}}}
	if err := to.label(t.Context(), batch); err != nil {
		t.Errorf("a link that is not there: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := to.label(t.Context(), batch); err == nil {
		t.Error("a label is noted in a store that is closed")
	}
}

// stopAt is an updater, or a note of labels, that fails after so many batches.
type stopAt struct {
	to    *localLinks
	n     int
	calls int
}

func (s *stopAt) Update(ctx context.Context, changes []links.Change) (links.UpdateResult, error) {
	if s.calls++; s.n == 0 {
		return links.UpdateResult{}, errStop
	}
	s.n--
	return s.to.Update(ctx, changes)
}

// Updates that stop go on where they were, with --resume, and make the same graph;
// what was done is not done again.
func TestLoadLinksResume(t *testing.T) {
	r := newRand(t)
	pages, edges := 300, 600 // several batches
	if testing.Short() {
		pages, edges = 100, 250
	}
	for _, updating := range []bool{true, false} {
		dir := t.TempDir()
		data := filepath.Join(dir, "store")
		graph := make(map[edge]links.Label)
		var file string
		if updating {
			loadLinks(t, exitDone, "x:p1\tx:old\n", data, "--format", "edges", "-")
			var all []string
			for range 3 {
				all = append(all, randomPages(r, 1, pages, graph)...)
			}
			file = newFile(t, dir, "w.pages", strings.Join(all, ""))
			delete(graph, edge{"x:p1", "x:old"})
		} else {
			var b strings.Builder
			for i := range edges {
				e := edge{fmt.Sprintf("x:%d", i/7), fmt.Sprintf("x:%d", r.IntN(1000))}
				fmt.Fprintf(&b, "%s\t%s\t%d\n", e.src, e.dst, i+2)
				graph[e] = links.Label{Weight: float64(i + 2)}
			}
			file = newFile(t, dir, "w.edges", b.String())
		}
		stopped := stopLinks(t, data, file, updating, 1)
		stdout, _ := loadLinks(t, exitDone, "", data, "--resume", "--json", file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Count(string(text), "\t") // links
		want := fmt.Sprintf(`"read":%d,`, all)
		if !updating { // an edge has two tabs
			want = fmt.Sprintf(`"labels":%d}`, all/2)
		}
		if !strings.Contains(stdout, `"resumed":true`) || !strings.Contains(stdout, want) {
			t.Errorf("%s: want %s, nothing twice", stdout, want)
		}
		got := storedLinks(t, data, links.DefaultPredicate)
		if updating {
			delete(got, edge{"x:p1", "x:old"}) // of a page that may have no list
		}
		sameLinks(t, got, graph)
		if stopped < 2 {
			t.Errorf("stopped after %d batches", stopped)
		}
		if _, err := os.Stat(filepath.Join(data, "loads", "links.json")); !os.IsNotExist(err) {
			t.Errorf("a state is left: %v", err)
		}
	}
}

// stopLinks begins a load that stops after so many batches, and returns how many it
// came to.
func stopLinks(t *testing.T, data, file string, updating bool, batches int) int {
	t.Helper()
	db, err := store.Open(data, store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	listed, _, err := input.List([]string{file}, input.RDF)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{ctx: t.Context(), stderr: &bytes.Buffer{}}
	c := &loadCmd{}
	c.MaxLine = 64 << 20
	l := &linkLoad{loadCmd: c, e: e, sources: toLoad(e, listed), predicate: links.DefaultPredicate, batch: 100, display: newProgress(e.stderr)}
	if l.reading, err = c.reading(l.predicate, c.MaxLine); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(db.Sink().Dir(), linkStateName)
	state, to := l.state(), &localLinks{db, l.predicate}
	state.Updating = updating
	noted := func(until linkPlace) error {
		state.Place, state.Done = until, l.done
		return state.save(path)
	}
	stop := &stopAt{to: to, n: batches}
	if updating {
		err = l.update(stop, linkPlace{}, noted)
	} else {
		if err := l.bulk(db.Sink()); err != nil {
			t.Fatal(err)
		}
		err = l.label(func(batch []links.Change) error {
			_, err := stop.Update(t.Context(), batch)
			return err
		}, linkPlace{}, noted)
	}
	if !errors.Is(err, errStop) {
		t.Fatalf("%v, want the stop", err)
	}
	return stop.calls
}

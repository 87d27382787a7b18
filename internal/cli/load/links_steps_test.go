// The steps of loads of links: repeated pages, labels, and loads that were stopped.

package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/clitest"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
)

// The search for pages that come twice is right however small its filter is.
func TestFindLast(t *testing.T) {
	r := seed.Rand(t)
	for _, words := range []uint64{0, 8, 64, 1 << 20} {
		const lines = 400
		texts := randomPages(r, 3, lines, map[clitest.Edge]links.Label{})
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
// many are written at a time, and whatever part of them a load that stopped had record.
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
		want := make(map[clitest.Edge]links.Label)
		var batch []links.Change
		for i := range edges { // within a page's links
			c := links.Change{Kind: kind, Source: fmt.Sprintf("x:s%d", i)}
			for j := range times {
				label := links.Label{Weight: float64(2 + j)}
				if j == times-1 { // adds the link once more, and says nothing of it
					label = cell.NoLabel
				} else {
					want[clitest.Edge{c.Source, "x:t"}] = label
				}
				c.Targets, c.Labels = append(c.Targets, "x:t"), append(c.Labels, label)
			}
			batch = append(batch, c)
		}
		for j := range times { // from change to change
			batch = append(batch, links.Change{Source: fmt.Sprintf("x:s%d", j%2), Targets: []string{"x:t"}, Labels: []links.Label{{Weight: float64(100 + j)}}})
			want[clitest.Edge{fmt.Sprintf("x:s%d", j%2), "x:t"}] = links.Label{Weight: float64(100 + j)}
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
		clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
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
		t.Error("a label is record in a store that is closed")
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
	r := seed.Rand(t)
	pages, edges := 300, 600 // several batches
	if testing.Short() {
		pages, edges = 100, 250
	}
	for _, updating := range []bool{true, false} {
		dir := t.TempDir()
		data := filepath.Join(dir, "store")
		graph := make(map[clitest.Edge]links.Label)
		var file string
		if updating {
			loadLinks(t, data, newFile(t, dir, "old.edges", "x:p1\tx:old\n"), false)
			var all []string
			for range 3 {
				all = append(all, randomPages(r, 1, pages, graph)...)
			}
			file = newFile(t, dir, "w.pages", strings.Join(all, ""))
			delete(graph, clitest.Edge{"x:p1", "x:old"})
		} else {
			var b strings.Builder
			for i := range edges {
				e := clitest.Edge{fmt.Sprintf("x:%d", i/7), fmt.Sprintf("x:%d", r.IntN(1000))}
				fmt.Fprintf(&b, "%s\t%s\t%d\n", e[0], e[1], i+2)
				graph[e] = links.Label{Weight: float64(i + 2)}
			}
			file = newFile(t, dir, "w.edges", b.String())
		}
		stopped := stopLinks(t, data, file, updating, 1)
		stdout := loadLinks(t, data, file, true)
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
		got := clitest.StoredLinks(t, data, links.DefaultPredicate)
		if updating {
			delete(got, clitest.Edge{"x:p1", "x:old"}) // of a page that may have no list
		}
		clitest.SameLinks(t, got, graph)
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
	e := &console.Env{Ctx: t.Context(), Stderr: &bytes.Buffer{}}
	c := &Cmd{}
	c.MaxLine = 64 << 20
	l := &linkLoad{Cmd: c, e: e, sources: toLoad(e, listed), predicate: links.DefaultPredicate, batch: 100, display: console.NewProgress(e.Stderr)}
	if l.reading, err = c.reading(l.predicate, c.MaxLine); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(db.Sink().Dir(), linkStateName)
	state, to := l.state(), &localLinks{db, l.predicate}
	state.Updating = updating
	record := func(until linkPlace) error {
		state.Place, state.Done = until, l.done
		return state.save(path)
	}
	stop := &stopAt{to: to, n: batches}
	if updating {
		err = l.update(stop, linkPlace{}, record)
	} else {
		if err := l.bulk(db.Sink()); err != nil {
			t.Fatal(err)
		}
		err = l.label(func(batch []links.Change) error {
			_, err := stop.Update(t.Context(), batch)
			return err
		}, linkPlace{}, record)
	}
	if !errors.Is(err, errStop) {
		t.Fatalf("%v, want the stop", err)
	}
	return stop.calls
}

// randomPages writes files of whole pages, and returns what they make one after the
// other of a graph.
func randomPages(r *rand.Rand, files, lines int, graph map[clitest.Edge]links.Label) []string {
	texts := make([]string, files)
	for i := range texts {
		var b strings.Builder
		b.WriteString("# links: pages\n")
		for range lines {
			src := fmt.Sprintf("x:p%d", r.IntN(lines))
			b.WriteString(src)
			maps.DeleteFunc(graph, func(e clitest.Edge, _ links.Label) bool { return e[0] == src })
			for range r.IntN(4) {
				dst := fmt.Sprintf("x:p%d", r.IntN(lines))
				b.WriteString("\t" + dst)
				graph[clitest.Edge{src, dst}] = cell.NoLabel
			}
			b.WriteByte('\n')
		}
		texts[i] = b.String()
	}
	return texts
}

var errStop = fmt.Errorf("stopped by the test")

func newFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// loadLinks runs trefoil load --links --json, and returns its output.
func loadLinks(t *testing.T, data, file string, resume bool) string {
	t.Helper()
	var out bytes.Buffer
	c := &Cmd{Resume: resume, JSON: true}
	c.Data, c.Files, c.MaxLine = data, []string{file}, 64<<20
	c.Links, c.LinkPredicate = true, links.DefaultPredicate
	if err := c.Run(&console.Env{Ctx: t.Context(), Stdout: &out, Stderr: io.Discard}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

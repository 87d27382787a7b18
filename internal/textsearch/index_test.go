// Tests of the index of a lone store: changes, loads, restarts, damage.

package textsearch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const label = "http://www.w3.org/2000/01/rdf-schema#label"

// fixture is a store with its index.
type fixture struct {
	*testing.T
	db    *store.Store
	index *Index
	dir   string
	o     Options
}

func newFixture(t *testing.T, o Options) *fixture {
	f := &fixture{T: t, dir: t.TempDir(), o: o}
	f.o.Dir = filepath.Join(f.dir, "text")
	if testing.Verbose() {
		f.o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	f.open()
	t.Cleanup(f.close)
	return f
}

func (f *fixture) open() {
	var err error
	if f.db, err = store.Open(filepath.Join(f.dir, "db"), store.Options{}); err != nil {
		f.Fatal(err)
	}
	if f.index, err = Open(f.db, f.o); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) close() {
	if err := errors.Join(f.index.Close(), f.db.Close()); err != nil {
		f.Error(err)
	}
}

func (f *fixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	f.Cleanup(cancel)
	return ctx
}

func (f *fixture) await() {
	f.Helper()
	require.NoError(f, f.index.Await(f.ctx()))
}

func literal(text string) triple.Term {
	if text, tag, ok := strings.Cut(text, "@"); ok {
		return triple.NewLang(text, tag)
	}
	return triple.NewString(text)
}

func labelled(subject, text string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI("x:" + subject), Predicate: triple.NewIRI(label), Object: literal(text)}
}

func (f *fixture) add(triples ...triple.Triple) {
	f.Helper()
	if _, err := store.Add(f.ctx(), f.db, triples); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) delete(triples ...triple.Triple) {
	f.Helper()
	if _, err := store.Delete(f.ctx(), f.db, triples); err != nil {
		f.Fatal(err)
	}
}

// find returns the literals that a query finds, sorted.
func (f *fixture) find(query string) []string {
	f.Helper()
	s, err := f.index.Search(f.ctx(), Request{Query: query})
	require.NoError(f, err)
	list := []string{}
	for {
		hits, err := s.Next(f.ctx(), 3)
		require.NoError(f, err)
		if len(hits) == 0 {
			slices.Sort(list)
			return list
		}
		for _, h := range hits {
			list = append(list, h.Literal.Value())
		}
	}
}

func (f *fixture) expect(query string, want ...string) {
	f.Helper()
	if got := f.find(query); !slices.Equal(got, want) && len(got)+len(want) > 0 {
		f.Errorf("%s finds %q, want %q", query, got, want)
	}
}

// TestChanges: a search sees each change that was acknowledged before it.
func TestChanges(t *testing.T) {
	f := newFixture(t, Options{})
	f.add(labelled("a", "graph store"), labelled("b", "graphs of stores@en"))
	if _, err := f.index.Search(f.ctx(), Request{Query: "graph"}); !errors.Is(err, ErrNotIndexed) {
		t.Fatal(err)
	}
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.await()
	f.expect("graph", "graph store", "graphs of stores")
	f.add(labelled("c", "another graph"), labelled("d", "another graph"))
	f.expect("graph", "another graph", "graph store", "graphs of stores")
	// One of two triples goes, then the other one.
	f.delete(labelled("c", "another graph"))
	f.expect("another", "another graph")
	f.delete(labelled("d", "another graph"))
	f.expect("another")
	f.add(labelled("d", "another graph"))
	f.expect("another", "another graph")
	// Other predicates and other literals are left out.
	f.add(triple.Triple{Subject: triple.NewIRI("x:a"), Predicate: triple.NewIRI("x:p"), Object: literal("graph of p")},
		triple.Triple{Subject: triple.NewIRI("x:a"), Predicate: triple.NewIRI(label), Object: triple.NewTyped("7", "http://www.w3.org/2001/XMLSchema#integer")})
	f.expect("p")
	f.expect("7")
	// A second predicate has the same literal: one hit.
	require.NoError(t, f.index.Add(f.ctx(), "x:p"))
	f.await()
	f.expect("p", "graph of p")
	f.add(labelled("z", "graph of p"))
	f.expect("p", "graph of p")
	require.NoError(t, f.index.Remove(f.ctx(), label))
	f.expect("graph", "graph of p")
	if err := f.index.Remove(f.ctx(), label); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a predicate is removed twice: %v", err)
	}
	if err := f.index.Add(f.ctx(), "no IRI"); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// TestRandomChanges compares searches with the rows after random changes, with restarts in between.
func TestRandomChanges(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	f := newFixture(t, Options{BuildMemory: 1 << 20})
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.await()
	live := map[triple.Triple]bool{}
	words := strings.Fields("graph store data base triple node edge link page word")
	for range 300 {
		one := labelled(fmt.Sprint("s", r.IntN(3)), words[r.IntN(10)]+" "+words[r.IntN(10)]+" "+fmt.Sprint(r.IntN(3)))
		if long := r.IntN(10) == 0; long {
			one.Object = literal(one.Object.Value() + strings.Repeat(" long", 300))
		}
		switch {
		case r.IntN(5) < 3:
			f.add(one)
			live[one] = true
		case r.IntN(2) == 0:
			f.delete(one)
			delete(live, one)
		default:
			for gone := range live {
				f.delete(gone)
				delete(live, gone)
				break
			}
		}
		if r.IntN(60) == 0 {
			f.close()
			f.open()
			f.await()
		}
		word := words[r.IntN(10)]
		seen := map[string]bool{}
		for one := range live {
			if slices.Contains(strings.Fields(one.Object.Value()), word) {
				seen[one.Object.Value()] = true
			}
		}
		want := []string{}
		for text := range seen {
			want = append(want, text)
		}
		slices.Sort(want)
		if got := f.find(word); !slices.Equal(got, want) {
			t.Fatalf("%s finds %q, want %q", word, got, want)
		}
	}
	// The scores are those of an index that was never changed.
	s, err := f.index.Search(f.ctx(), Request{Query: "graph OR st* OR long"})
	require.NoError(t, err)
	changed, err := s.Next(f.ctx(), 1000)
	require.NoError(t, err)
	scan := &Search{index: f.index, request: s.request}
	require.NoError(t, scan.scan(f.ctx()))
	fresh, err := scan.Next(f.ctx(), 1000)
	require.NoError(t, err)
	if fmt.Sprint(changed) != fmt.Sprint(fresh) {
		t.Errorf("after changes\n%v\nand anew\n%v", changed, fresh)
	}
}

// TestLoads: the rows of a bulk load are found, and those of a cleared graph are not.
func TestLoads(t *testing.T) {
	f := newFixture(t, Options{})
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.add(labelled("a", "graph one"))
	f.await()
	builds := f.index.builds.Load()
	load := func(text string) {
		source := input.Document("x.nq", strings.NewReader(text), -1, syntax.NQuads)
		if _, err := rdfload.Load(f.ctx(), f.db.Sink(), []input.Source{source}, rdfload.Options{Memory: rdfload.MinMemory}); err != nil {
			t.Fatal(err)
		}
	}
	load("<x:b> <" + label + "> \"graph two\" .\n<x:c> <" + label + "> \"graph three\" <x:g> .\n")
	f.expect("graph", "graph one", "graph three", "graph two")
	// Several loads before a search: the same literal in graphs and in two loads, what is no literal, and a delete.
	load("<x:d> <" + label + "> \"graph four\" .\n<x:d> <" + label + "> \"graph four\" <x:g> .\n<x:d> <" + label + "> <x:graph> .\n<x:d> <" + label + "> \"graph ten\" .\n")
	load("<x:e> <" + label + "> \"graph four\" .\n<x:e> <" + label + "> \"7\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n<x:e> <" + label + "> \"a graph\" .\n<x:e> <" + label + "> \"zoo graph\"@en .\n<x:d> <" + label + "> \"graph ten\" .\n")
	f.delete(labelled("d", "graph ten"), labelled("c", "graph three"))
	f.expect("graph", "a graph", "graph four", "graph one", "graph three", "graph two", "zoo graph")
	if n := f.index.builds.Load(); n != builds {
		t.Errorf("a small load made %d builds", n-builds)
	}
	// A search must not wait for the literals of a large load.
	var large strings.Builder
	for i := range 90 {
		fmt.Fprintf(&large, "<x:l%d> <%s> \"graph %s %d\" .\n", i, label, strings.Repeat("word ", 10_000), i)
	}
	load(large.String())
	if _, err := f.index.Search(f.ctx(), Request{Query: "graph"}); !errors.Is(err, ErrBuilding) {
		t.Errorf("a search after a large load: %v", err)
	}
	f.await()
	if n := len(f.find("graph")); n != 96 {
		t.Errorf("%d literals", n)
	}
	if n := f.index.builds.Load(); n != builds+1 {
		t.Errorf("a large load made %d builds", n-builds)
	}
}

// TestClear: after a graph was cleared, only predicates that it had, and that other graphs have still, are built again.
func TestClear(t *testing.T) {
	f := newFixture(t, Options{TendEvery: time.Hour})
	for _, p := range []string{label, "x:other"} {
		require.NoError(t, f.index.Add(f.ctx(), p))
	}
	f.await()
	graph := triple.NewIRI("x:g")
	other := func(text string) triple.Triple {
		return triple.Triple{Subject: triple.NewIRI("x:o"), Predicate: triple.NewIRI("x:other"), Object: literal(text), Graph: graph}
	}
	var all []triple.Triple
	for i := range 300 {
		all = append(all, labelled(fmt.Sprint(i), fmt.Sprint("graph ", i)))
	}
	f.add(append(all, other("other graph"))...)
	if n := len(f.find("graph")); n != 301 {
		t.Fatalf("%d literals", n)
	}
	clear := func(changes store.Steps) {
		t.Helper()
		if _, err := store.Apply(f.ctx(), f.db, changes); err != nil {
			t.Fatal(err)
		}
	}
	// 1. The predicate is empty, and the other one is as it was. What was added just before is gone, too.
	builds := f.index.builds.Load()
	f.add(labelled("late", "late graph"))
	clear(store.Steps{ClearDefault: true})
	f.expect("graph", "other graph")
	f.add(labelled("new", "new graph"))
	f.expect("graph", "new graph", "other graph")
	if n := f.index.builds.Load(); n != builds {
		t.Errorf("%d builds", n-builds)
	}
	// 2. A predicate that another graph has is built again, because of the search.
	one := all[7]
	one.Graph = graph
	f.add(append(all, one)...)
	clear(store.Steps{ClearDefault: true})
	ctx, refused := f.ctx(), 0
	for {
		moved := f.index.moved.Next()
		_, err := f.index.Search(ctx, Request{Query: "graph"})
		if err == nil {
			break
		}
		if refused++; !errors.Is(err, ErrBuilding) {
			t.Fatalf("a search after a graph was cleared: %v", err)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			t.Fatal("it is not built")
		}
	}
	if refused == 0 {
		t.Error("a search right after a graph was cleared is answered")
	}
	f.expect("graph", "graph 7", "other graph")
	if n := f.index.builds.Load(); n != builds+1 {
		t.Errorf("%d builds", n-builds)
	}
}

// TestRestart: the next start reads the files, and reads the changes since.
func TestRestart(t *testing.T) {
	f := newFixture(t, Options{})
	require.NoError(t, f.index.Add(f.ctx(), label))
	for i := range 100 {
		f.add(labelled(fmt.Sprint(i), fmt.Sprintf("graph %d", i%50)))
	}
	f.await()
	f.delete(labelled("1", "graph 1"), labelled("51", "graph 1"))
	f.expect("1")
	f.close()
	f.open()
	f.await()
	if n := f.index.builds.Load(); n != 0 {
		t.Errorf("%d builds after a restart", n)
	}
	f.expect("1")
	if n := len(f.find("graph")); n != 49 {
		t.Errorf("%d literals", n)
	}
	// Changes while there is no index.
	require.NoError(t, f.index.Close())
	f.add(labelled("x", "meanwhile"))
	f.delete(labelled("2", "graph 2"), labelled("52", "graph 2"))
	var err error
	if f.index, err = Open(f.db, f.o); err != nil {
		t.Fatal(err)
	}
	f.await()
	f.expect("meanwhile", "meanwhile")
	f.expect("2")
}

// TestDamagedFiles: if any file is damaged or missing, the index is built again.
func TestDamagedFiles(t *testing.T) {
	for _, damage := range []string{"body", "documents", "missing", "listing", "cut"} {
		t.Run(damage, func(t *testing.T) {
			f := newFixture(t, Options{})
			require.NoError(t, f.index.Add(f.ctx(), label))
			f.add(labelled("a", "graph store"), labelled("b", "other"))
			f.await()
			f.expect("graph", "graph store")
			f.close()
			// 1. Damage a file.
			files, err := filepath.Glob(filepath.Join(f.o.Dir, "*.text"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, path := range files {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				switch damage {
				case "body":
					data[100] ^= 1
				case "documents":
					data[len(data)-5] ^= 1
				case "cut":
					data = data[:60]
				}
				require.NoError(t, os.WriteFile(path, data, 0o644))
				if damage == "missing" {
					require.NoError(t, os.Remove(path))
				}
			}
			if damage == "listing" {
				path := filepath.Join(f.o.Dir, listingFile)
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), `"format": 1`, `"format": 7`, 1)), 0o644))
			}
			// 2. A search is right, or an error until the index is built.
			f.open()
			f.await()
			if damage == "documents" {
				_, err := func() ([]Hit, error) {
					s, err := f.index.Search(f.ctx(), Request{Query: "graph"})
					if err != nil {
						return nil, err
					}
					return s.Next(f.ctx(), 10)
				}()
				if !errors.Is(err, ErrBuilding) || !strings.Contains(err.Error(), "damaged") {
					t.Fatal(err)
				}
				for f.index.builds.Load() == 0 {
					f.await()
				}
				f.await()
			}
			f.expect("graph", "graph store")
			if n := f.index.builds.Load(); n != 1 {
				t.Errorf("%d builds", n)
			}
		})
	}
}

// TestMemory: an index that does not fit is refused with the option to change.
func TestMemory(t *testing.T) {
	f := newFixture(t, Options{Memory: 100})
	f.add(labelled("a", "graph store"))
	require.NoError(t, f.index.Add(f.ctx(), label))
	if err := f.index.Await(f.ctx()); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "more than the 100 bytes of memory that --text-memory allows. Start the node with a greater --text-memory, or make the index smaller: trefoil text list") {
		t.Fatal(err)
	}
	if _, err := f.index.Search(f.ctx(), Request{Query: "graph"}); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	// A build that failed leaves no files, and is not tried again and again.
	if files, err := filepath.Glob(filepath.Join(f.o.Dir, "*.text")); err != nil || len(files) > 0 {
		t.Errorf("%q are left, %v", files, err)
	}
	// A scan needs no index.
	s, err := f.index.Search(f.ctx(), Request{Query: "graph", Scan: true})
	require.NoError(t, err)
	if hits, err := s.Next(f.ctx(), 10); err != nil || len(hits) != 1 {
		t.Errorf("a scan finds %v, %v", hits, err)
	}
}

// TestOneTooLarge: a predicate whose index does not fit keeps no other one from being built and saved.
func TestOneTooLarge(t *testing.T) {
	f := newFixture(t, Options{Memory: 4 << 10, TendEvery: time.Millisecond})
	for i := range 200 {
		f.add(triple.Triple{Subject: triple.NewIRI("x:s"), Predicate: triple.NewIRI("x:a"), Object: triple.NewString(fmt.Sprint("many words ", i))})
	}
	f.add(labelled("a", "graph store"))
	for _, p := range []string{"x:a", label} { // in the order of builds
		require.NoError(t, f.index.Add(f.ctx(), p))
	}
	saved := filepath.Join(f.o.Dir, listingFile)
	for ctx := f.ctx(); ; {
		_, err := f.index.Search(ctx, Request{Query: "graph", Predicates: []string{label}})
		_, large := f.index.Search(ctx, Request{Query: "many", Predicates: []string{"x:a"}})
		if _, missing := os.Stat(saved); err == nil && errors.Is(large, ErrTooLarge) && missing == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("a search of the other predicate: %v; of the large one: %v", err, large)
		}
	}
}

// TestPageBytes: a page of hits ends when its literals take some MiB, and the next one goes on behind it.
func TestPageBytes(t *testing.T) {
	f := newFixture(t, Options{})
	for i := range 20 {
		f.add(labelled("a", fmt.Sprint("graph ", i, strings.Repeat(" padding", 1<<17))))
	}
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.await()
	s, err := f.index.Search(f.ctx(), Request{Query: "graph"})
	require.NoError(t, err)
	seen := map[triple.Term]bool{}
	for pages := 0; ; pages++ {
		hits, err := s.Next(f.ctx(), 1000)
		require.NoError(t, err)
		if len(hits) == 0 {
			if pages < 3 {
				t.Errorf("all hits are on %d pages", pages)
			}
			break
		}
		for _, h := range hits {
			if len(hits) > 8 || seen[h.Literal] {
				t.Fatalf("a page of %d hits; %.20s was on an earlier one: %t", len(hits), h.Literal.Value(), seen[h.Literal])
			}
			seen[h.Literal] = true
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d literals are found", len(seen))
	}
}

// unreadable is a node whose rows cannot be read.
type unreadable struct{ derived.Node }

func (unreadable) Reader() (store.Reader, error) { return nil, store.ErrUnavailable }

// TestAwaitOfFailure: Await of an index that fails at once, again and again, ends with its context. If each failure
// woke Await, and Await the next attempt, the time of the bubble would never pass.
func TestAwaitOfFailure(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		db, err := store.Open(t.TempDir(), store.Options{})
		require.NoError(t, err)
		x, err := OpenNode(unreadable{derived.Lone{Store: db}}, Options{Dir: t.TempDir()})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := x.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Await returned %v", err)
		}
		if err := errors.Join(x.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestScan: a search without an index has the answers of an index, and says what it needs.
func TestScan(t *testing.T) {
	f := newFixture(t, Options{})
	f.add(labelled("a", "graph store"), labelled("b", "graph graph@en"), labelled("c", "other"))
	if _, err := f.index.Search(f.ctx(), Request{Query: "graph", Scan: true}); !errors.Is(err, ErrNotIndexed) || !strings.Contains(err.Error(), "needs the predicates") {
		t.Fatal(err)
	}
	next := func() string {
		s, err := f.index.Search(f.ctx(), Request{Query: "graph", Scan: true, Predicates: []string{label}})
		require.NoError(t, err)
		hits, err := s.Next(f.ctx(), 10)
		require.NoError(t, err)
		return fmt.Sprint(hits)
	}
	scanned := next()
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.await()
	if indexed := next(); indexed != scanned || !strings.Contains(indexed, "graph store") {
		t.Errorf("a scan finds %s, an index %s", scanned, indexed)
	}
}

// TestLimits: queries of any kind are bounded.
func TestLimits(t *testing.T) {
	f := newFixture(t, Options{})
	require.NoError(t, f.index.Add(f.ctx(), label))
	f.await()
	for _, query := range []string{"*", "-a", strings.Repeat("word ", 10_000), "(((((", "a~2"} {
		if _, err := f.index.Search(f.ctx(), Request{Query: query}); !errors.Is(err, textindex.ErrQuery) {
			t.Errorf("%.20s: %v", query, err)
		}
	}
}

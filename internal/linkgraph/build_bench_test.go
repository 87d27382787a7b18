// Benchmarks of builds.

package linkgraph

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// builtPages is the number of pages of the benchmarks.
const builtPages = 200_000

func openStore(t testing.TB, dir string) *store.Store {
	t.Helper()
	db, err := store.Open(dir, store.Options{MinFreeBytes: -1, Watched: []string{links.DefaultPredicate}})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// openLoaded opens a store and its graph.
func openLoaded(b *testing.B, dir string, o machine.Options) (*store.Store, *Graph) {
	b.Helper()
	db := openStore(b, dir)
	graph, err := Open(db, o)
	if err != nil {
		b.Fatal(err)
	}
	if err := graph.AwaitCells(ctx); err != nil {
		b.Fatal(err)
	}
	return db, graph
}

// loadWorld loads the links of a generated web in bulk, and returns their number.
func loadWorld(b testing.TB, dir string, pages uint32) int64 {
	b.Helper()
	store := openStore(b, dir)
	g, err := linkgen.New(linkgen.Options{Pages: pages})
	if err != nil {
		b.Fatal(err)
	}
	in, out := io.Pipe()
	go func() {
		_, err := g.Write(ctx, out, linkgen.WriteOptions{})
		out.CloseWithError(err)
	}()
	source := input.Document("web.edges", in, -1, syntax.Syntax(0))
	summary, err := rdfload.Load(ctx, store.Sink(), []input.Source{source}, rdfload.Options{Links: &rdfload.Links{}})
	if err := errors.Join(err, store.Close()); err != nil {
		b.Fatal(err)
	}
	return summary.New
}

// BenchmarkBuild builds cells from the store's scans: of pages with UIDs, and of pages that get
// them.
func BenchmarkBuild(b *testing.B) {
	loaded := filepath.Join(b.TempDir(), "loaded")
	n := loadWorld(b, loaded, builtPages)
	report := func(b *testing.B) {
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "links/s")
	}
	b.Run("first", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			b.StopTimer()
			dir := filepath.Join(b.TempDir(), "data")
			if err := os.CopyFS(dir, os.DirFS(loaded)); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			store, graph := openLoaded(b, dir, machine.Options{})
			b.StopTimer()
			if err := errors.Join(graph.Close(), store.Close(), os.RemoveAll(dir)); err != nil {
				b.Fatal(err)
			}
		}
		report(b)
	})
	b.Run("again", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(loaded)); err != nil {
			b.Fatal(err)
		}
		store, graph := openLoaded(b, dir, machine.Options{})
		defer func() {
			if err := errors.Join(graph.Close(), store.Close()); err != nil {
				b.Error(err)
			}
		}()
		for b.Loop() {
			if err := graph.placer.Make(ctx, machine.AllPartitions); err != nil {
				b.Fatal(err)
			}
		}
		report(b)
	})
}

// Tests of files that are removed under a running node.

package textsearch

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestRemovedFiles: files that somebody removes are written again, without a build, and predicates are still built.
func TestRemovedFiles(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"directory": func(dir string) error { // at once, because the node writes meanwhile
			other, err := os.MkdirTemp(filepath.Dir(dir), "removed")
			if err != nil {
				return err
			}
			return os.Rename(dir, filepath.Join(other, "text"))
		},
		"listing": func(dir string) error { return os.Remove(filepath.Join(dir, listingFile)) },
		"segments": func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "*"+fileSuffix))
			for _, path := range files {
				if err == nil {
					err = os.Remove(path)
				}
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{TendEvery: time.Millisecond})
			f.add(labelled("a", "graph store"), labelled("b", "other"))
			require.NoError(t, f.index.Add(f.ctx(), label))
			f.await()
			listed := func() bool {
				files, err := filepath.Glob(filepath.Join(f.o.Dir, "*"+fileSuffix))
				_, missing := os.Lstat(filepath.Join(f.o.Dir, listingFile))
				return err == nil && missing == nil && len(files) > 0
			}
			until := func(what string) {
				t.Helper()
				for ctx := f.ctx(); !listed(); runtime.Gosched() {
					if ctx.Err() != nil {
						t.Fatalf("the files are not %s", what)
					}
				}
			}
			until("written")
			// 1. Remove them. They come back, with all documents.
			require.NoError(t, remove(f.o.Dir))
			until("written again")
			f.expect("graph", "graph store")
			if n := f.index.builds.Load(); n != 1 {
				t.Errorf("%d builds", n)
			}
			f.close()
			f.open()
			f.await()
			f.expect("graph", "graph store")
			if n := f.index.builds.Load(); n != 0 {
				t.Errorf("%d builds after a restart", n)
			}
			// 2. A predicate is built although its directory has gone.
			require.NoError(t, remove(f.o.Dir))
			require.NoError(t, f.index.Add(f.ctx(), "x:other"))
			f.await()
			f.expect("graph", "graph store")
		})
	}
}

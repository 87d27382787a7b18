// Tests of subscriptions that come and go as rows, not by the registry.

package subscriptions

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// TestLoaded: subscriptions of a bulk load are delivered at once, also if there was none before. What
// is cleared gets nothing.
func TestLoaded(t *testing.T) {
	w := newWorldOn(t, t.TempDir(), vfs.Default)
	ctx := systemgraph.WithOperator(t.Context())
	// 1. The dump of two subscriptions, which are deleted then.
	w.put("sub", map[string]string{"p": "p"})
	w.put("other", map[string]string{"p": "q"})
	reader, err := w.store.Reader()
	require.NoError(t, err)
	defer reader.Close()
	text := []byte(triple.AnnotationsHeader + "\n")
	for row, err := range reader.Match(ctx, triple.Pattern{}, store.ReadOptions{Annotations: true}) {
		require.NoError(t, err)
		entry, err := row.Triple()
		require.NoError(t, err)
		text = triple.AppendAnnotated(text, triple.AppendNQuad(nil, entry), row.Annotations)
	}
	for _, name := range []string{"sub", "other"} {
		require.NoError(t, w.registry.Delete(ctx, Caller{}, name))
	}
	// 2. They are loaded beside a manager.
	m := w.start(Options{})
	w.add(number("p", 0))
	path := filepath.Join(t.TempDir(), "dump.nq")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	sources, _, err := input.List([]string{path}, input.RDF)
	require.NoError(t, err)
	if _, err := rdfload.Load(ctx, w.store.Sink(), sources, rdfload.Options{Memory: rdfload.MinMemory, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	w.until("the change from before the load", func() bool { return slices.Contains(w.receiver.of("sub"), "add 0") })
	w.add(number("p", 1))
	w.until("the change", func() bool { return slices.Contains(w.receiver.of("sub"), "add 1") })
	// 3. The graph is cleared.
	if _, err := store.Apply(ctx, w.store, store.Steps{ClearGraphs: []triple.Term{systemgraph.Graph}}); err != nil {
		t.Fatal(err)
	}
	w.until("none is left", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.names) == 0
	})
}

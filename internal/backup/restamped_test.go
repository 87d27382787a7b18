// Bulk loads of a cluster whose rows were stamped again before they were read.

package backup

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// sequencer is a machine of a cluster.
const sequencer = 9

// clusterChange returns a change that a cluster has stamped.
func clusterChange(kind feed.Kind, n int, sequence uint64) feed.Change {
	c := change(kind, n, sequence)
	if kind != feed.Load {
		c.Sequencer = sequencer
	}
	return c
}

// clusterAt is the position behind a stamp of the cluster.
func clusterAt(sequence uint64) feed.Position {
	return at(0).Advance(sequencer, triple.Stamp{Epoch: 1, Sequence: sequence})
}

// A load made sample 1. An annotation of it, and an add that changed nothing, follow. The add gave the row
// another stamp, so the archive does not have it as a row of the load.
func TestRestampedRow(t *testing.T) {
	empty, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer empty.Close()
	s := scripted{Store: empty}
	for i, kinds := range [][]feed.Kind{{feed.Load}, {feed.Annotate}, {feed.Add}} {
		b := feed.Batch{Time: time.UnixMilli(int64(1000 * (i + 1))), Position: clusterAt(uint64(i + 1))}
		for _, k := range kinds {
			b.Changes = append(b.Changes, clusterChange(k, 1, uint64(i+1)))
		}
		s.batches = append(s.batches, b)
	}
	var archive bytes.Buffer
	require.NoError(t, Full(t.Context(), s, "test", &archive))
	// 1. At the end the triple has its annotation.
	restored := restoreTo(t, Until{}, archive.Bytes())
	if got := restored[string(triple.AppendNQuad(nil, sample(1)))]; got != "data" {
		t.Errorf("the annotation is %q", got)
	}
	// 2. It has it, too, if what came before the add was applied already.
	target, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer target.Close()
	p := pending{to: target, loaded: true}
	for _, kind := range []feed.Kind{feed.Annotate, feed.Add} {
		c := clusterChange(kind, 1, 2)
		require.NoError(t, errors.Join(p.add(t.Context(), &c), p.flush(t.Context())))
	}
	if got := annotated(t, target); got[string(triple.AppendNQuad(nil, sample(1)))] != "data" {
		t.Errorf("applied one by one: %q", got)
	}
}

// A delete between the annotation and an add ends the annotation.
func TestEarlyAnnotationEnds(t *testing.T) {
	target, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer target.Close()
	p := pending{to: target, loaded: true}
	for _, kind := range []feed.Kind{feed.Annotate, feed.Delete, feed.Add} {
		c := clusterChange(kind, 1, 2)
		require.NoError(t, errors.Join(p.add(t.Context(), &c), p.flush(t.Context())))
	}
	if got := annotated(t, target)[string(triple.AppendNQuad(nil, sample(1)))]; got != "" {
		t.Errorf("the annotation is %q", got)
	}
}

// A lone store that clears a graph behind a load ends the annotations of its triples, too.
func TestClearEndsEarlyAnnotations(t *testing.T) {
	empty, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer empty.Close()
	s := scripted{Store: empty}
	for i, kind := range []feed.Kind{feed.Load, feed.Annotate, feed.Clear, feed.Add} { // of sample 1, in the cleared graph
		s.batches = append(s.batches, feed.Batch{Time: time.UnixMilli(int64(1000 * (i + 1))), Position: at(uint64(i + 1)),
			Changes: []feed.Change{change(kind, 1, uint64(i+1))}})
	}
	var archive bytes.Buffer
	require.NoError(t, Full(t.Context(), s, "test", &archive))
	if got, ok := restoreTo(t, Until{}, archive.Bytes())[string(triple.AppendNQuad(nil, sample(1)))]; !ok || got != "" {
		t.Errorf("there: %t, with the annotation %q", ok, got)
	}
}

// Annotations that wait are counted once, however often changes of their triple come.
func TestEarlyBytes(t *testing.T) {
	target, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer target.Close()
	p := pending{to: target, loaded: true}
	c := clusterChange(feed.Annotate, 1, 2)
	for range 3 {
		require.NoError(t, errors.Join(p.add(t.Context(), &c), p.flush(t.Context())))
		if want := earlySize(string(c.Key), c.Annotation); p.earlyBytes != want {
			t.Errorf("%d bytes, not %d", p.earlyBytes, want)
		}
	}
}

// A point between a load of a cluster and the end of the backup with it is rejected, because the archive
// does not have the rows of the load as of there.
func TestUntilBehindClusterLoad(t *testing.T) {
	s := newScripted(t)
	s.batches, s.begin = nil, 0
	for i, kind := range []feed.Kind{feed.Add, feed.Load, feed.Add, feed.Add} {
		s.batches = append(s.batches, feed.Batch{Time: time.UnixMilli(int64(1000 * (i + 1))), Position: clusterAt(uint64(i + 1)),
			Changes: []feed.Change{clusterChange(kind, i, uint64(i+1))}})
	}
	whole := s.batches
	var full, increment bytes.Buffer
	s.batches = whole[:1]
	require.NoError(t, Full(t.Context(), s, "test", &full))
	s.batches = whole
	require.NoError(t, Increment(t.Context(), s, clusterAt(1), "test", &increment))
	_, err := Restore(t.Context(), filepath.Join(t.TempDir(), "r"), archives(full.Bytes(), increment.Bytes()), Options{Until: Until{Position: clusterAt(3)}})
	if !errors.Is(err, ErrUntil) {
		t.Errorf("a point behind the load: %v", err)
	}
	restoreTo(t, Until{Position: clusterAt(4)}, full.Bytes(), increment.Bytes())
}

// restoreTo restores a chain, and returns the annotation of "app" of each triple as N-Quads.
func restoreTo(t *testing.T, until Until, chain ...[]byte) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(t.Context(), dir, archives(chain...), Options{Until: until}); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir, store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer s.Close()
	return annotated(t, s)
}

func annotated(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	r, err := s.Reader()
	require.NoError(t, err)
	defer r.Close()
	all := map[string]string{}
	for row, err := range r.Range(context.Background(), triple.Bounds{Order: triple.SPO}, store.ReadOptions{Annotations: true}) {
		require.NoError(t, err)
		of, err := row.Triple()
		require.NoError(t, err)
		line := string(triple.AppendNQuad(nil, of))
		all[line] = ""
		for _, a := range row.Annotations {
			all[line] = string(a.Data)
		}
	}
	return all
}

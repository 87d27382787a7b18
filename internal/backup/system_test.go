// The system graph in a restore.

package backup

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// watched is a store that remembers in which order it got changes: u of users, s of the system graph.
type watched struct {
	*store.Store
	order []byte
}

func (w *watched) note(triples ...triple.Triple) {
	for _, t := range triples {
		if systemgraph.Contains(t) {
			w.order = append(w.order, 's')
		} else {
			w.order = append(w.order, 'u')
		}
	}
}

func (w *watched) Sink() rdfload.Sink {
	w.order = append(w.order, 'u')
	return w.Store.Sink()
}

func (w *watched) Write(ctx context.Context, c store.Change) (store.Result, error) {
	switch c.Kind {
	case store.KindAdd:
		w.note(c.Triples...)
	case store.KindApply:
		w.order = append(w.order, 'u')
	}
	return w.Store.Write(ctx, c)
}

// TestSystemGraphLast restores a chain in which the system graph changes first, between other changes
// and in a load. The target must get it behind everything else, because its functions run then.
func TestSystemGraphLast(t *testing.T) {
	// 1. A store with functions old, that is deleted, and new, and triples of users.
	s, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer s.Close()
	system := func(name string) triple.Triple {
		return triple.Triple{Subject: triple.NewIRI("urn:trefoil:" + name), Predicate: triple.NewIRI("urn:trefoil:p"), Object: triple.NewString("o"), Graph: systemgraph.Graph}
	}
	add := func(triples ...triple.Triple) {
		t.Helper()
		_, err := store.Add(t.Context(), s, triples)
		require.NoError(t, err)
	}
	var full, increment bytes.Buffer
	add(system("old"), sample(0), sample(1))
	require.NoError(t, store.Annotate(t.Context(), s, system("old"), systemgraph.State, []byte("1")))
	require.NoError(t, Full(t.Context(), s, "test", &full))
	end, err := s.Feed().Position(t.Context())
	require.NoError(t, err)
	_, err = store.Delete(t.Context(), s, []triple.Triple{system("old")})
	require.NoError(t, err)
	add(system("new"))
	require.NoError(t, store.Annotate(t.Context(), s, system("new"), systemgraph.State, []byte("2")))
	add(sample(2), sample(3))
	require.NoError(t, Increment(t.Context(), s, end, "test", &increment))
	// 2. Restore it into a store that runs.
	to, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer to.Close()
	target := &watched{Store: to}
	counts, err := RestoreInto(t.Context(), target, bytes.NewReader(slices.Concat(full.Bytes(), increment.Bytes())), Options{})
	require.NoError(t, err)
	if want := (Counts{Triples: 3, Annotations: 1, Changes: 5}); counts != want {
		t.Errorf("%+v, want %+v", counts, want)
	}
	if i := bytes.IndexByte(target.order, 's'); i < 0 || bytes.IndexByte(target.order[i:], 'u') >= 0 {
		t.Errorf("order %s, want those of the system graph last", target.order)
	}
	// 3. It has the state at the end.
	r, err := to.Snapshot()
	require.NoError(t, err)
	defer r.Close()
	for _, want := range []struct {
		triple.Triple
		has bool
	}{{system("old"), false}, {system("new"), true}, {sample(0), true}, {sample(3), true}} {
		if has, err := r.Has(t.Context(), want.Triple); err != nil || has != want.has {
			t.Errorf("%v: %v, %v", want.Triple, has, err)
		}
	}
	for a, err := range r.Annotations(t.Context(), system("new")) {
		require.NoError(t, err)
		if a.ApplicationID != systemgraph.State || string(a.Data) != "2" {
			t.Errorf("annotation %+v", a)
		}
		return
	}
	t.Error("no annotation")
}

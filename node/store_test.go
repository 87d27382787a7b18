// Tests of the embedded store.

package node

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var example = triple.Triple{
	Subject: triple.NewIRI("http://example.org/s"), Predicate: triple.NewIRI("http://example.org/p"), Object: triple.NewString("o"),
}

func mustOpen(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	o.MinFreeBytes = -1
	s, err := Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestErrors(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := mustOpen(t, dir, Options{NoLinks: true})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("open twice: %v", err)
	}
	if _, err := s.Links(ctx); !errors.Is(err, ErrNoLinks) {
		t.Errorf("no links: %v", err)
	}
	if _, err := s.Annotations.Set(ctx, example, client.Annotation{ApplicationID: "urn:a"}, client.AnnotationCondition{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("annotate: %v", err)
	}
	var bad *triple.SyntaxError
	if _, err := s.Ask(ctx, "ASK {", QueryOptions{}); !errors.As(err, &bad) || bad.Line != 1 {
		t.Errorf("a malformed query: %v", err)
	}
	if _, err := s.Ask(ctx, "SELECT * {}", QueryOptions{}); err == nil || !strings.Contains(err.Error(), "Query") {
		t.Errorf("a SELECT for Ask: %v", err)
	}
	for _, err := range s.Query(ctx, "SELECT * { ?s ?p ?o }", QueryOptions{Bind: map[string]triple.Term{"x": example.Object}}) {
		if err == nil || !strings.Contains(err.Error(), "?x") {
			t.Errorf("a binding of no variable: %v", err)
		}
	}
	require.NoError(t, s.Close())
	if _, err := s.Add(ctx, []triple.Triple{example}); !errors.Is(err, ErrClosed) {
		t.Errorf("add after Close: %v", err)
	}
	for _, err := range s.Match(ctx, triple.Pattern{}) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("match after Close: %v", err)
		}
	}
	if _, err := Open(dir, Options{MaxQueries: -1}); err == nil {
		t.Error("an invalid option is accepted")
	}
	if _, err := Open(filepath.Join(dir, "missing"), Options{ReadOnly: true}); err == nil {
		t.Error("a missing store is open")
	}
}

// A backup is a store with the same triples and annotations.
func TestBackup(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "copy")
	s := mustOpen(t, t.TempDir(), Options{Memory: 1 << 30})
	if _, err := s.LoadReader(ctx, "a.nt", strings.NewReader(example.String()+"\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Annotations.Set(ctx, example, client.Annotation{ApplicationID: "urn:a", Content: []byte("x")}, client.AnnotationCondition{}); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	require.NoError(t, s.Backup(ctx, &archive))
	require.NoError(t, Restore(ctx, dir, &archive))
	restored := mustOpen(t, dir, Options{ReadOnly: true})
	if _, err := restored.Add(ctx, []triple.Triple{example}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("add to a read-only store: %v", err)
	}
	if _, err := restored.Update(ctx, "CLEAR ALL", QueryOptions{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("update of a read-only store: %v", err)
	}
	sn, err := restored.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	if has, err := sn.Has(ctx, example); err != nil || !has {
		t.Errorf("has %v, %v", has, err)
	}
	for a, err := range sn.Annotations(ctx, example) {
		if _, content := triple.CutMedia(a.Data); err != nil || a.ApplicationID != "urn:a" || string(content) != "x" {
			t.Errorf("annotation %+v, %v", a, err)
		}
	}
}

// Serve ends with its context also before it is ready, and returns what keeps it from
// serving.
func TestServeErrors(t *testing.T) {
	dir := t.TempDir()
	var bad *OptionError
	if err := Serve(t.Context(), dir, ServeOptions{Listen: "0.0.0.0:0"}); !errors.As(err, &bad) {
		t.Errorf("beyond loopback without a token: %v", err)
	}
	mustOpen(t, dir, Options{})
	if err := Serve(t.Context(), dir, ServeOptions{Listen: "127.0.0.1:0"}); !errors.Is(err, ErrLocked) {
		t.Errorf("an open directory: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Serve(ctx, t.TempDir(), ServeOptions{Listen: "127.0.0.1:0"}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

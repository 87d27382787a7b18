// JSON-LD contexts of a store in a program.

package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload/jsonld"
)

// TestContexts: loads of a program have the contexts of the options' directory.
func TestContexts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"contexts.json": `{"https://schema.org/":"schema.jsonld"}`, "schema.jsonld": `{"@context":{"name":"http://schema.org/name"}}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	s, err := Open(t.TempDir(), Options{MinFreeBytes: -1, JSONLDContexts: dir})
	require.NoError(t, err)
	defer s.Close()
	summary, err := s.LoadReader(t.Context(), "a.jsonld", strings.NewReader(`{"@context":"https://schema.org","@id":"http://e/s","name":"x"}`))
	if err != nil || summary.New != 1 {
		t.Errorf("%+v, %v", summary, err)
	}
	_, err = s.LoadReader(t.Context(), "a.jsonld", strings.NewReader(`{"@context":"https://example.org","@id":"http://e/s","name":"x"}`))
	if !errors.Is(err, jsonld.ErrRemoteContext) {
		t.Error(err)
	}
	var bad *OptionError
	if _, err := Open(t.TempDir(), Options{MinFreeBytes: -1, JSONLDContexts: t.TempDir()}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "JSONLDContexts") {
		t.Error(err)
	}
}

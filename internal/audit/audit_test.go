// Tests of the file of records.

package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestReopen: records are appended to what is there, and to a new file after a rename.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	for range 2 {
		l, err := Open(path)
		require.NoError(t, err)
		require.NoError(t, l.Write(Record{User: "a\nb"}))
		require.NoError(t, l.Close())
		if err := l.Write(Record{}); err == nil {
			t.Error("a record is lost without an error")
		}
	}
	l, err := Open(path)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Rename(path, path+".1"))
	require.NoError(t, l.Reopen())
	require.NoError(t, l.Write(Record{User: "c"}))
	for name, want := range map[string]int{path: 1, path + ".1": 2} {
		text, err := os.ReadFile(name)
		if info, statErr := os.Stat(name); err != nil || statErr != nil || strings.Count(string(text), "\n") != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %s, %v", name, text, err)
		}
	}
}

// Tests of the scheduler of compactions.

package store

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// A damaged table of level 0 must not be compacted again and again without a pause.
func TestCompactionsRestAfterDamage(t *testing.T) {
	race.Skip(t)
	bubble.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		s, err := Open("data", Options{FS: fs})
		require.NoError(t, err)
		add(t, s, students(0, 500)...)
		require.NoError(t, s.db.Flush())
		require.NoError(t, s.Close())
		tables := storeFiles(t, fs, func(name string) bool { return strings.HasSuffix(name, ".sst") })
		for _, table := range tables {
			data := readFile(t, fs, "data/store/"+table)
			data[len(data)/3] ^= 1
			require.NoError(t, directory.WriteFile(fs, "data/store/"+table, data))
		}
		if s, err = Open("data", Options{FS: fs}); err != nil {
			t.Fatal(err)
		}
		for range 6 { // the tables span all keys, and are enough for a compaction
			for _, key := range [][]byte{{0}, {0xff}} {
				if err := s.db.Set(key, nil, pebble.Sync); err != nil {
					t.Error(err)
				}
			}
			if err := s.db.Flush(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(20 * time.Second) // of virtual time, which stands still if a goroutine is busy
		if n := s.Status().Corruptions; n < 2 || n > 25 {
			t.Errorf("the damaged table was met %d times in 20 s", n)
		}
		require.NoError(t, s.Close())
	})
}

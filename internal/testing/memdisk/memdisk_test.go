// Clones amid writes that reuse files.

package memdisk

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCloneBesideReuse takes clones while another goroutine renames a log for reuse, as Pebble
// does. A plain MemFS does not end.
func TestCloneBesideReuse(t *testing.T) {
	fs := New()
	f, err := fs.Create("a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	const rounds = 20_000
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range rounds {
			names := [2]string{"a", "b"}
			f, err := fs.ReuseForWrite(names[i%2], names[(i+1)%2], vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Error(err)
				return
			}
			f.Close()
		}
	})
	for range rounds {
		fs.CrashClone(vfs.CrashCloneCfg{})
	}
	writer.Wait()
	if names, err := fs.List(""); err != nil || len(names) != 1 {
		t.Errorf("files %q, %v", names, err)
	}
}

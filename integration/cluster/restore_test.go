// A machine starts with a part of its data directory as it was earlier.

package cluster

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A machine whose directory was restored in part refuses to start, or is excluded, or
// has what the others have: in no case are acknowledged triples missing.
func TestPartlyRestored(t *testing.T) {
	for _, dir := range []string{"/store", "/raft"} {
		t.Run(dir[1:], func(t *testing.T) {
			simulate(t, 3, func(t *testing.T, w *world) {
				w.form()
				first := numbered(0, 60)
				w.mustAdd(w.any(), first...)
				w.settle()
				m := w.any()
				before := m.disk.CrashClone(vfs.CrashCloneCfg{})
				more := numbered(60, 120)
				w.mustAdd(w.any(), more...)
				w.mustDelete(w.any(), first[:10]...)
				w.settle()
				others := w.others(m)
				m.kill()
				if err := m.disk.RemoveAll(dataDir + dir); err != nil {
					t.Fatal(err)
				}
				if ok, err := vfs.Clone(before, m.disk, dataDir+dir, dataDir+dir, vfs.CloneSync); err != nil || !ok {
					t.Fatalf("%t, %v", ok, err)
				}
				if err := m.tryRun(t.Context(), others...); err != nil {
					t.Logf("it refuses: %v", err)
				} else if time.Sleep(time.Minute); m.node.Err() != nil { // of virtual time
					t.Logf("it ends: %v", m.node.Err())
					m.stop()
				}
				w.settle()
				if found := w.mustScrub(); found != (scrubbed{}) {
					t.Errorf("a scrub finds differences: %+v", found)
				}
				w.mustHave(setOf(first[10:], more))
			})
		})
	}
}

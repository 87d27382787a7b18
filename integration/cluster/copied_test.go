// A copied data directory, started while its original runs.

package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster"
)

// A data directory is copied and started elsewhere while the first process runs. The
// cluster goes on with the copy, and the first process ends and says why. So it is with
// the leader's.
func TestCopiedDirectory(t *testing.T) {
	for _, leads := range []bool{false, true} {
		t.Run(map[bool]string{false: "a member's", true: "the leader's"}[leads], func(t *testing.T) {
			simulate(t, 3, func(t *testing.T, w *world) {
				w.form()
				all := w.spread()
				old := w.leader()
				if !leads {
					old = w.others(old)[0]
				}
				disk := old.disk.CrashClone(vfs.CrashCloneCfg{})
				copied := w.add()
				copied.disk = disk
				copied.run()
				select {
				case <-old.node.Failed():
				case <-time.After(time.Minute):
					t.Fatalf("in vain: the first process ends; %+v", old.node.Status())
				}
				if err := old.node.Err(); !errors.Is(err, cluster.ErrSuperseded) || !strings.Contains(err.Error(), copied.address()) {
					t.Errorf("it has ended with %v", err)
				}
				old.stop()
				w.settle()
				if m := w.any().node.View().Find(copied.node.MachineID()); m == nil || m.Address != copied.address() {
					t.Errorf("the member is %+v", m)
				}
				w.mustHave(setOf(all))
			})
		})
	}
}

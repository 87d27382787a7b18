// This file tests what a cluster does in quiet times.

package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/triple"
)

// segments returns how many segments the cluster has.
func (w *world) segments() int { return w.any().node.View().Base.Trie.Len() }

// tableBytes returns the bytes of tables on all machines.
func (w *world) tableBytes() (bytes int64) {
	for _, m := range w.up() {
		bytes += m.store.Status().Bytes
	}
	return bytes
}

// TestQuietTimes: after most triples were deleted, a quiet cluster merges the segments that
// shrank and gives back the space on all disks; each triple stays where its slots are, in
// as many copies as before, also where a machine dies meanwhile. More rows split the
// segments again.
func TestQuietTimes(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		// The change feed would keep what was deleted.
		w.adjust = func(o *store.Options, _ *replica.Options, _ *cluster.Config) {
			o.FeedRetention = changefeed.Retention{Bytes: 64 << 10, Age: time.Minute}
		}
		w.form()
		all := numbered(0, 6000)
		for i := range all {
			all[i].Object = triple.NewString(fmt.Sprintf("%d %x", i, w.random.Uint64()))
		}
		w.mustAdd(w.any(), all...)
		w.until("segments are split", func() bool { return w.segments() > 40 })
		w.settle()
		many, full := w.segments(), w.tableBytes()
		// Segments of more than 1 KiB are not merged: what is kept has about 15 KB of rows.
		kept := all[:60]
		w.mustDelete(w.any(), all[60:]...)
		w.purge()
		for range 40 {
			time.Sleep(time.Minute) // of virtual time
			if w.segments() < many/4 && w.tableBytes() < full/4 {
				break
			}
		}
		w.settle()
		t.Logf("%d segments, then %d; %d bytes of tables, then %d", many, w.segments(), full, w.tableBytes())
		if w.segments() >= many/4 || w.tableBytes() >= full/4 {
			t.Errorf("%d segments of %d and %d bytes of %d are left", w.segments(), many, w.tableBytes(), full)
		}
		w.mustHave(setOf(kept))
		w.checkDisks()
		w.machines[3].kill()
		w.settle()
		w.mustHave(setOf(kept))
		w.checkDisks()
		w.mustAdd(w.any(), all...)
		w.until("segments are split again", func() bool { return w.segments() > 20 })
		w.settle()
		w.mustHave(setOf(all))
		w.checkDisks()
	})
}

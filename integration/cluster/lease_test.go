// Changes of the length of leases.

package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
)

// A leader grants long leases, dies, and is followed by one that was started anew with
// short ones. Who is cut off with a long lease is excluded only when that is over.
func TestShortLeasesAfterLong(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		for _, m := range w.machines {
			m.lease = 20 * time.Second
		}
		w.form()
		all := w.spread()
		leader := w.leader()
		tr, o := w.owned(all, func(o owners) bool { return o.spo != leader })
		for _, m := range w.others(leader) {
			if m == o.spo {
				continue
			}
			m.stop()
			m.lease = 600 * time.Millisecond
			m.run()
			w.settle()
		}
		if w.leader() != leader || w.ownersOf(tr).spo != o.spo {
			w.notATest("another machine leads, or owns the triple")
		}
		w.answersAfter(o.spo, tr, func() {
			w.net.Isolate(o.spo.name)
			leader.kill()
			o.spo.lease = 600 * time.Millisecond // with which it will join again
		})
		left := setOf(all)
		delete(left, tr.String())
		w.mustHave(left)
	})
}

// Members are started anew with another length of leases, one by one: longer, then
// shorter. Meanwhile all goes on, and the status says who differs. The cluster's length
// is the new one when all have it, and who joins must have it, too.
func TestLeaseChangesOneByOne(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		joiner := w.machines[3]
		w.machines = w.machines[:3]
		w.form()
		all := numbered(0, 300)
		w.mustAdd(w.any(), all...)
		before := 2 * time.Second
		for _, lease := range []time.Duration{20 * time.Second, 600 * time.Millisecond} {
			for i, m := range w.machines {
				if got := w.any().node.View().Lease; got != before {
					t.Errorf("before %d of 3 have %s: %s", i+1, lease, got)
				}
				m.stop()
				m.lease = lease
				m.run()
				w.settle()
				if i < 2 {
					w.until("the status says who differs", func() bool {
						return strings.Contains(w.leader().node.Status().Waiting, "one --failure-timeout")
					})
					time.Sleep(time.Minute) // of virtual time
					w.settle()
				}
				w.mustHave(setOf(all))
			}
			w.until("the length is the new one", func() bool { return w.any().node.View().Lease == lease })
			w.settle()
			if s := w.leader().node.Status(); s.Waiting != "" {
				t.Errorf("waiting for %q", s.Waiting)
			}
			before = lease
		}
		joiner.lease = 2 * time.Second
		if err := joiner.tryRun(t.Context(), w.any()); !errors.Is(err, cluster.ErrWrongCluster) || !strings.Contains(err.Error(), "900ms, not 3s") {
			t.Errorf("a machine with the first length joins: %v", err)
		}
		joiner.lease = before
		w.machines = append(w.machines, joiner)
		joiner.run(w.machines[0])
		w.settle()
		w.mustHave(setOf(all))
	})
}

// Changes of the length of leases.

package cluster

import (
	"testing"
	"time"
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

// Interleavings of identities: old disks and other clusters.

package cluster

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The interleavings of machines that are taken for what they are not.

// The disk is as it was before the process that is a member began. The process that
// starts on it counts one start more, as that one did.
func diskComesBackFromBeforeARestart(t *testing.T, w *world) {
	w.form()
	all, more := w.spread(), fresh()[:100]
	m := w.up()[w.random.IntN(3)]
	before := m.disk.CrashClone(vfs.CrashCloneCfg{})
	m.kill()
	m.run()
	w.settle()
	w.mustAdd(w.any(), more...)
	m.kill()
	m.disk = before
	w.mustJoinAnew(m)
	w.settle()
	w.mustHave(setOf(all, more))
}

// A machine has died, and at its address is one of another cluster, which has the same
// name and a later epoch. The others ask it, too, while they know of no leader. What
// it says is not the word of their leader.
func TestAnotherClusterAtAnOldAddress(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		dead, left, other, another := w.machines[0], w.machines[1], w.machines[2], w.machines[3]
		dead.run()
		left.run(dead)
		w.settle()
		all := numbered(0, 100)
		w.mustAdd(left, all...)
		disk := dead.disk
		dead.kill()
		<-dead.stopped
		disk, dead.disk = dead.disk, disk
		name := dead.name
		other.name = name
		other.run()
		another.run(other)
		w.until("the other cluster is there", func() bool { return len(other.node.View().Members) == 2 })
		w.mustAdd(other, fresh()...)
		w.until("it has a later epoch", func() bool { return other.node.View().Epoch > left.node.View().Epoch+2 })
		time.Sleep(time.Minute) // of virtual time
		if err := left.node.Err(); err != nil {
			t.Fatalf("a machine of the first cluster has ended: %v", err)
		}
		other.stop()
		another.stop()
		dead.disk = disk
		dead.run()
		w.settle()
		w.mustHave(setOf(all))
	})
}

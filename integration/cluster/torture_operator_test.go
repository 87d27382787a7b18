// What operators do to machines, rightly or by mistake.

package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
)

// operatorKinds is how many kinds of strikeAsOperator there are.
const operatorKinds = 4

// TestOperators has operators do each of these things to some machine, while the clients
// of the library use the cluster. Complete answers are the oracle's. There are at least three
// machines: if one of two is removed or loses its data, the other one has no majority, and
// only another operator can help.
func TestOperators(t *testing.T) {
	seed := seedOf(t)
	bubble.Test(t, func(t *testing.T) {
		tortureWorkload(t, seed, dataset.Library{Seed: seed, Triples: 600}, 3, func(to *torture) {
			for kind := range operatorKinds {
				to.strikeAsOperator(to.wanted()[to.random.IntN(len(to.wanted()))], kind)
				to.whole()
				to.scrub()
			}
		})
	})
}

// strikeAsOperator does to a host what an operator may do. The cluster may lose what
// the host has.
func (t *torture) strikeAsOperator(h *host, kind int) {
	switch kind {
	case 0:
		t.remove(h)
	case 1:
		if h.up() == nil {
			return
		}
		h.stop()
		kept, err := directory.SetAside(h.disk, dataDir, t.addresses(h))
		t.note("the data of %s are set aside: %s, %v", h.name, kept, err)
		if err != nil && !h.damaged() {
			t.fail("%s: set aside: %v", h.name, err)
		}
	case 2:
		if h.up() != nil {
			h.kill(false)
			t.note("%s loses its directory raft: %v", h.name, h.damage(func() error { return h.disk.RemoveAll(dataDir + "/raft") }))
		}
	case 3:
		t.restorePartly(h)
	}
	t.pause(3000)
	h.start(t.addresses(h)...)
}

// remove has the cluster give up a host, which runs or is down, and comes back.
func (t *torture) remove(h *host) {
	n, through := h.member(), t.other(h).member()
	if n == nil || through == nil {
		return
	}
	id := n.MachineID()
	down := t.random.IntN(3) > 0
	if down {
		h.kill(false)
		t.pause(2000)
	}
	ctx, cancel := context.WithTimeout(t.t.Context(), 10*time.Second)
	defer cancel()
	t.note("%s is removed, down: %t: %v", h.name, down, through.Remove(ctx, id))
}

// restorePartly starts a host with one of its directories as it was some time ago.
func (t *torture) restorePartly(h *host) {
	p := h.up()
	if p == nil {
		return
	}
	dir := [...]string{"/raft", "/store"}[t.random.IntN(2)]
	before := p.disk.CrashClone(vfs.CrashCloneCfg{})
	t.pause(6000)
	if h.up() != p {
		return
	}
	h.kill(false)
	err := h.damage(func() error {
		if err := h.disk.RemoveAll(dataDir + dir); err != nil {
			return err
		}
		ok, err := vfs.Clone(before, h.disk, dataDir+dir, dataDir+dir, vfs.CloneSync)
		if err == nil && !ok {
			return fmt.Errorf("the older copy has no %s", dir)
		}
		return err
	})
	t.note("%s has an older %s: %v", h.name, dir, err)
}

// damaged reports whether a bit of the disk of a host was flipped.
func (h *host) damaged() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.flipped
}

// damage does something to the disk of a host whose process does not run. If the
// process refuses it then, the machine gets an empty disk.
func (h *host) damage(do func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flipped, h.anywhere = true, true
	return do()
}

// Recovery on newer and on stale machines.

package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// staleAndNewer makes a cluster of three of which one, stale, was cut off and excluded.
// The two others acknowledge changes and purge; then one of these is lost. All are down
// at the end. gone are deleted triples, added and kept are there.
func staleAndNewer(t *testing.T, w *world) (stale, newer *machine, gone, added, kept []triple.Triple) {
	w.form()
	all := w.spread()
	lost := w.leader()
	stale, newer = w.others(lost)[0], w.others(lost)[1]
	id := stale.node.MachineID()
	w.net.Isolate(stale.name)
	w.until("it is excluded", func() bool {
		v := newer.node.View()
		return v.Find(id) == nil && v.Phase == recovery.Idle && lost.node.Lease() == nil && newer.node.Lease() == nil
	})
	gone, added, kept = all[:100], fresh()[:100], all[100:]
	w.mustDelete(newer, gone...)
	w.mustAdd(newer, added...)
	sleep(t.Context(), 2*time.Second)
	w.must("purge", func(ctx context.Context) error { _, err := newer.node.Upkeep().Purge(ctx); return err })
	for _, m := range w.machines {
		m.kill()
	}
	w.net.Heal()
	w.machines = []*machine{stale, newer}
	return stale, newer, gone, added, kept
}

func (w *world) tryRecover(first *machine, keep ...generation.Position) error {
	_, err := generation.Recover(w.t.Context(), generation.Recovery{FS: first.disk, Dir: dataDir, Keep: keep, Network: w.net.Host(first.name), Logger: w.log})
	return err
}

// The majority is recovered on the newer machine only, and loses nothing there.
func TestRecoverOnTheNewer(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		stale, newer, _, added, kept := staleAndNewer(t, w)
		err := w.tryRecover(stale, w.position(newer))
		if !errors.Is(err, generation.ErrStale) || !strings.Contains(err.Error(), "Run this on "+w.position(newer).ID.String()) ||
			!strings.Contains(err.Error(), w.position(stale).String()) {
			t.Fatalf("on the stale one: %v", err)
		}
		if err := w.tryRecover(newer, w.position(stale)); err == nil || !strings.Contains(err.Error(), "no member any more") {
			t.Fatalf("with the stale one: %v", err)
		}
		if v := w.recover(newer, false); len(v.Lost) > 0 {
			t.Errorf("%d ranges are lost, although one of two was no majority", len(v.Lost))
		}
		newer.run()
		w.settle()
		stale.run()
		stale.giveUp(newer)
		w.settle()
		w.mustHave(setOf(kept, added))
	})
}

// The operator recovers on the stale machine and says that the other one is older. It
// says itself that it is not; and where the operator insists, all ranges are lost before
// anything is answered, and what is written afterwards counts.
func TestRecoverOnTheStale(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		stale, newer, gone, added, kept := staleAndNewer(t, w)
		wrong := w.position(stale)
		wrong.ID = w.position(newer).ID
		v, err := generation.Recover(t.Context(), generation.Recovery{
			FS: stale.disk, Dir: dataDir, Keep: []generation.Position{wrong}, NoneNewer: true, Network: w.net.Host(stale.name), Logger: w.log,
		})
		if err != nil || len(v.Lost) > 0 {
			t.Fatalf("not a test: %v, %d ranges lost", err, len(v.Lost))
		}
		f := generation.Following{FS: newer.disk, Dir: dataDir, Addresses: []string{stale.address()}, Ticket: generation.TicketOf(v), Logger: w.log}
		if err := generation.Follow(f); !errors.Is(err, generation.ErrStale) {
			t.Fatalf("it follows: %v", err)
		}
		f.Overrule = true
		require.NoError(t, generation.Follow(f))
		newer.run()
		stale.run()
		w.settle()
		for _, m := range w.machines {
			for _, o := range triple.Orders[:3] {
				if got, err := contentsOf(t.Context(), m.node, o); err == nil {
					t.Errorf("%s answers %d triples in %s, and none are lost", m.name, len(got), o)
				}
			}
		}
		w.acceptLoss(newer)
		w.settle()
		// Until it was compared, an order may have rows that another one lacks.
		w.mustScrub()
		w.settle()
		// What is acknowledged now is above all that any disk has.
		w.mustDelete(newer, slices.Concat(gone, added[:50], kept[:50])...)
		w.mustAdd(stale, added[50:]...)
		for _, o := range triple.Orders[:3] {
			got, err := contentsOf(t.Context(), stale.node, o)
			require.NoError(t, err)
			for _, tr := range slices.Concat(gone, added[:50], kept[:50]) {
				if got[tr.String()] {
					t.Fatalf("%s: a delete of %s was acknowledged, and it is there", o, tr)
				}
			}
			for _, tr := range added[50:] {
				if !got[tr.String()] {
					t.Fatalf("%s: an add of %s was acknowledged, and it is not there", o, tr)
				}
			}
		}
	})
}

func (w *world) acceptLoss(m *machine) {
	w.t.Helper()
	w.until("the loss is accepted", func() bool { // asked again, where the leader changes
		_ = m.node.AcceptLoss(w.t.Context())
		return len(m.node.View().Lost) == 0
	})
}

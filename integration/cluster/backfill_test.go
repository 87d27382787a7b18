// Backfills that must end, whatever stands in their way.

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// A row that cannot be decoded does not keep a backfill from ending. Its machine is
// excluded, because the others have what it has.
func TestDamagedRowInBackfill(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		all := w.spread()
		leader := w.leader()
		rest := w.others(leader)
		damaged, dies := rest[0], rest[1]
		sn, err := damaged.store.Snapshot()
		require.NoError(t, err)
		// Which rows a backfill reads depends on the layout: so one that cannot be decoded follows each.
		var keys [][]byte
		for _, o := range triple.Orders {
			for row, err := range sn.Raw(t.Context(), store.TableStorage, triple.OrderRange(o)) {
				require.NoError(t, err)
				keys = append(keys, append(append([]byte{store.TableStorage}, row.Key...), 0, 1, 0, 1, 0xEE))
			}
		}
		sn.Close()
		damaged.edit(func(db *pebble.DB) error {
			b := db.NewBatch()
			for _, key := range keys {
				if err := b.Set(key, triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 1}, all[0]), nil); err != nil {
					return err
				}
			}
			return b.Commit(pebble.Sync)
		})
		id := damaged.node.MachineID()
		dies.kill()
		w.until("the machine with the damaged row is excluded", func() bool { return w.others(damaged)[0].node.View().Find(id) == nil })
		damaged.mustBeExcluded()
		damaged.rejoin()
		w.settle()
		w.mustHave(setOf(all))
	})
}

// The side of a cut that has most of the members goes on, with any voters. Where it is half
// of them, the side with most voters goes on if it has a copy of all, and else says why not.
func TestCutOfManyMembers(t *testing.T) {
	for _, c := range seed.Choose(t, []struct{ members, cut, left int }{{6, 2, 4}, {6, 3, 0}, {7, 3, 4}, {9, 4, 5}, {4, 2, 2}}) {
		for _, leads := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d of %d, the leader among the others: %t", c.cut, c.members, leads), func(t *testing.T) {
				simulate(t, c.members, func(t *testing.T, w *world) {
					w.form()
					w.vote((c.members-1)/2*2 + 1)
					leader := w.leader()
					away := w.others(leader)[:c.cut]
					if !leads {
						away = append(w.others(leader)[:c.cut-1], leader)
					}
					w.part(away)
					w.mustGoOn(away, c.left)
				})
			})
		}
	}
}

// part cuts the network between some machines and the others.
func (w *world) part(away []*machine) {
	for _, a := range away {
		for _, m := range w.others(away...) {
			w.net.Cut(a.name, m.name)
		}
	}
}

// mustGoOn checks that so many machines serve after some were cut off, and never two sides.
// If it is 0, the side with most voters serves, or says that it may lack copies. Of four,
// either half may have most voters.
func (w *world) mustGoOn(away []*machine, left int) {
	w.t.Helper()
	sides := [][]*machine{w.others(away...), away}
	serves := func(side []*machine) bool {
		for _, m := range side {
			if v := m.node.View(); v.Phase != recovery.Idle || len(v.Members) != len(side) || m.node.Lease() != nil {
				return false
			}
		}
		return left == 0 || len(side) == left
	}
	says := func(side []*machine) bool {
		return left == 0 && slices.ContainsFunc(side, func(m *machine) bool { return strings.Contains(m.node.Status().Waiting, "may have the only copies") })
	}
	w.until("a side goes on, or says why not", func() bool {
		return slices.ContainsFunc(sides, func(side []*machine) bool { return serves(side) || says(side) })
	})
	if serves(sides[0]) && serves(sides[1]) {
		w.t.Error("both sides go on")
	}
	for _, m := range w.machines {
		if len(m.node.View().Lost) > 0 && len(away) < 3 {
			w.t.Errorf("ranges are lost")
		}
	}
}

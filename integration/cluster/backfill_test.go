// Backfills that must end, whatever stands in their way.

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// A machine dies, and two of the others do not reach each other, in one direction or in
// both. The backfill would wait for ever, so one of the two is excluded, and only one.
func TestCutDuringBackfill(t *testing.T) {
	for name, cut := range map[string]func(w *world, a, b string){
		"both ways": func(w *world, a, b string) { w.net.Cut(a, b) },
		"one way":   func(w *world, a, b string) { w.net.CutOneWay(a, b) },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, 5, func(t *testing.T, w *world) {
				w.form()
				all, more := w.spread(), fresh()
				leader := w.leader()
				rest := w.others(leader)
				w.random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
				cut(w, rest[0].name, rest[1].name)
				rest[2].kill()
				w.until("three machines are idle", func() bool {
					v := w.leader().node.View()
					return v.Phase == recovery.Idle && len(v.Members) == 3
				})
				leader = w.leader()
				v := leader.node.View()
				if len(v.Lost) > 0 {
					t.Errorf("%d ranges are lost", len(v.Lost))
				}
				w.mustAdd(leader, more[:100]...)
				w.net.Heal()
				for _, m := range rest[:2] {
					if v.Find(m.node.MachineID()) == nil {
						m.mustBeExcluded()
						m.rejoin()
					}
				}
				w.settle()
				w.vote(3) // of four: the vote of a machine may move, and the leadership with it
				w.settle()
				w.mustHave(setOf(all, more[:100]))
			})
		})
	}
}

// Two of five machines die, and two of the rest do not reach each other. Each may have the
// only copy of something: none is excluded, the status says why, and the backfill ends when
// the cut does.
func TestCutOfLastCopies(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		all := w.spread()
		leader := w.leader()
		rest := w.others(leader)
		w.net.Cut(rest[0].name, rest[1].name)
		rest[2].kill()
		rest[3].kill()
		w.until("the status says why nobody is excluded", func() bool {
			return strings.Contains(w.leader().node.Status().Waiting, "it may have the only copy")
		})
		sleep(t.Context(), time.Minute)
		if v := w.leader().node.View(); len(v.Members) != 3 || len(v.Lost) > 0 {
			t.Fatalf("%d members, %d ranges lost", len(v.Members), len(v.Lost))
		}
		w.net.Heal()
		w.settle()
		w.mustHave(setOf(all))
	})
}

// A machine whose disk is more than half full of what it had comes back. It waits until it
// has room, says so, and the others take adds meanwhile; then it joins by itself.
func TestJoinWaitsForRoom(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all, more := w.spread(), fresh()
		m := w.others(w.leader())[0]
		m.stop()
		m.runWithin()
		w.settle()
		id := m.node.MachineID()
		w.net.Isolate(m.name)
		others := w.others(m)
		w.until("it is excluded", func() bool { v := others[0].node.View(); return v.Find(id) == nil && v.Phase == recovery.Idle })
		w.net.Heal()
		m.mustBeExcluded()
		addresses := m.node.Members()
		m.stop()
		if _, err := store.SetAside(m.disk, dataDir, addresses); err != nil {
			t.Fatal(err)
		}
		joined := w.background(func(ctx context.Context) { m.startWithin(ctx, keptFree-1<<20) })
		defer joined.end()
		w.until("the status says why it waits", func() bool {
			waiting := w.leader().node.Status().Waiting
			return strings.Contains(waiting, "joins when its disk has room") && strings.Contains(waiting, m.address())
		})
		for i := range 5 {
			sleep(t.Context(), 5*time.Minute)
			if v := others[0].node.View(); v.Phase != recovery.Idle || len(v.Members) != 2 {
				t.Fatalf("%d members in %s", len(v.Members), v.Phase)
			}
			w.mustAdd(others[i%2], more[i])
		}
		m.free(10 << 30) // aside is deleted
		w.until("it has joined", func() bool { return len(others[0].node.View().Members) == 3 })
		joined.group.Wait()
		w.settle()
		w.mustHave(setOf(all, more[:5]))
	})
}

// The disk of a joining machine fills up in its backfill. It is excluded, adds go on, and
// it joins again when there is room.
func TestJoinerFillsUp(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		joiner := w.machines[3]
		w.machines = w.machines[:3]
		w.form()
		all, more := w.spread(), fresh()
		leader := w.leader()
		held := w.fills.begin()
		defer held()
		joiner.startWithin(t.Context(), 10<<30, leader)
		w.machines = append(w.machines, joiner)
		w.mustFill(leader)
		joiner.free(keptFree - 1<<20)
		began := time.Now()
		w.until("it is excluded", func() bool { return len(leader.node.View().Members) == 3 })
		if took := time.Since(began); took > 6*time.Second { // before the others wait for it for too long
			t.Errorf("it is excluded after %s", took)
		}
		held()
		joiner.mustBeExcluded()
		w.mustAdd(leader, more[0])
		addresses := joiner.node.Members()
		joiner.stop()
		if _, err := store.SetAside(joiner.disk, dataDir, addresses); err != nil {
			t.Fatal(err)
		}
		joined := w.background(func(ctx context.Context) { joiner.startWithin(ctx, keptFree) })
		defer joined.end()
		w.until("the status says why it waits", func() bool {
			return strings.Contains(leader.node.Status().Waiting, "joins when its disk has room")
		})
		joiner.free(10 << 30)
		joined.group.Wait()
		w.settle()
		w.mustHave(setOf(all, more[:1]))
	})
}

// startWithin is runWithin with so many bytes free, and waits until it is a member.
func (m *machine) startWithin(ctx context.Context, free uint64, join ...*machine) {
	w := m.world
	m.free(free)
	db, err := replica.Open(dataDir, store.Options{
		FS: m.disk, Member: true, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, MinFreeBytes: keptFree, MaxSegmentBytes: 1 << 20, Logger: w.log.With("machine", m.name),
	}, replica.Options{})
	if err != nil {
		w.t.Error(err)
		return
	}
	cfg := cluster.Config{
		Store: db, Listen: m.address(), Network: w.net.Host(m.name), FS: m.disk, Clock: w,
		MinSegmentBytes: 8 << 10, MaxSegmentBytes: 64 << 10, LoadDir: m.loads, Logger: w.log.With("machine", m.name),
	}
	for _, o := range join {
		cfg.Join = append(cfg.Join, o.address())
	}
	n, err := cluster.Start(ctx, cfg)
	if err != nil {
		db.Close()
		w.t.Error(err)
		return
	}
	m.store, m.node = db, n
}

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
		if err != nil {
			t.Fatal(err)
		}
		var key []byte // of a segment of this machine, in the order that a backfill reads after a loss
		for row, err := range sn.Raw(t.Context(), store.TableStorage, triple.OrderRange(triple.OSP)) {
			if err != nil {
				t.Fatal(err)
			}
			key = append(slices.Clone(row.Key), 0, 1, 0, 1, 0xEE)
			break
		}
		sn.Close()
		damaged.edit(func(db *pebble.DB) error {
			return db.Set(append([]byte{store.TableStorage}, key...), triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 1}, all[0]), pebble.Sync)
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
	for _, c := range []struct{ members, cut, left int }{{6, 2, 4}, {6, 3, 0}, {7, 3, 4}, {9, 4, 5}, {4, 2, 2}} {
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

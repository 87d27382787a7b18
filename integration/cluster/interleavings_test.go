// The table of dangerous interleavings, and the helpers of their scripts.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The interleavings that break weaker protocols, on real nodes. The model of the
// protocol (internal/testing/model) has them by the same names.
var interleavings = []struct {
	name     string
	machines int
	run      func(t *testing.T, w *world)
}{
	{"three machines, one dies: the lost orders are rebuilt", 3, lostOrdersAreRebuilt},
	{"owners (1,1,3) on a ring of three: three copies", 3, threeCopies},
	{"snapshot of v1, tombstone v2 to source and destination, v1's table ingested", 4, tombstonesOvertakeFills},
	{"F dies, a slot moves between two survivors, a second dies", 6, secondDiesDuringMoves},
	{"an excluded machine returns with its old address in mid-walk", 4, excludedReturnsInMidWalk},
	{"a machine joins between two IDs, a triple is deleted, the machine leaves", 4, joinDeleteLeave},
	{"A reads through SPO, B later through POS, while the write is half done", 3, readsOfAHalfDoneWrite},
	{"POS has v7, OSP not, the SPO owner dies", 3, sequencerDiesHalfDone},
	{"a delete is purged, a machine wakes with a pending older add", 4, wakesWithAPendingAdd},
	{"the new owner acknowledges while the old one's lease lives", 3, oldLeaseLives},
	{"a lease granted by a leader that dies; its successor excludes at once", 5, leaseOfADeadLeader},
	{"a holder checks the epoch, sleeps, the view changes and a walk snapshots, it writes", 4, holderSleepsInItsApply},
	{"a walk passes key k, a move brings k behind it", 5, movesBehindAWalk},
	{"a walk takes rows of half-done writes to a joiner, both that had them die", 6, walkTakesHalfDoneWrites},
	{"a disk comes back blank inside the lease", 3, diskComesBackBlank},
	{"a disk comes back rolled back inside the lease", 3, diskComesBackRolledBack},
	{"a disk comes back rolled back to before a fill, and nothing was written", 4, diskComesBackFromBeforeAFill},
	{"a disk comes back cut at the tail inside the lease", 3, diskComesBackCut},
	{"a disk comes back from before a restart inside the lease", 3, diskComesBackFromBeforeARestart},
	{"recover-majority while the others only seemed dead", 5, othersOnlySeemedDead},
	{"one holder's disk stalls for a minute under full load", 3, diskStallsUnderLoad},
	{"the leader's disk stalls", 3, leadersDiskStalls},
	{"a delete during a bulk load, then the publication", 3, deleteThenPublication},
	{"an add times out, a delete is acknowledged, the add is resent by a node", 3, timedOutAddIsNotResent},
	{"both owners of a degraded plan dead", 5, bothOwnersOfAPlanDead},
	{"scrub meets a purged tombstone on one side", 3, scrubMeetsAPurge},
	{"POS has an annotation, OSP not, the SPO owner dies; then a delete and an add", 3, annotationHalfDone},
	{"annotations, deletes and adds while the SPO owner's rows are rebuilt", 4, annotationsOvertakeFills},
}

func TestInterleavings(t *testing.T) {
	for _, test := range interleavings {
		t.Run(test.name, func(t *testing.T) { simulate(t, test.machines, test.run) })
	}
}

// machineOf returns the machine whose node has an ID.
func (w *world) machineOf(id trie.MachineID) *machine {
	return w.machines[slices.IndexFunc(w.machines, func(m *machine) bool { return m.node != nil && m.node.MachineID() == id })]
}

// owners are the machines that have the three versions of a triple.
type owners struct{ spo, pos, osp *machine }

func (w *world) ownersOf(tr triple.Triple) owners {
	w.t.Helper()
	spo, _ := triple.AppendKey(nil, triple.SPO, tr)
	slots, err := w.up()[0].node.View().Base.Places(spo)
	if err != nil {
		w.t.Fatal(err)
	}
	return owners{w.machineOf(slots[0].Machine), w.machineOf(slots[1].Machine), w.machineOf(slots[2].Machine)}
}

// numbered returns a triple for each number from a on and below b.
func numbered(a, b int) (all []triple.Triple) {
	for i := a; i < b; i++ {
		all = append(all, triple.Triple{
			Subject:   triple.NewIRI(fmt.Sprintf("http://e.x/s%d", i%97)),
			Predicate: triple.NewIRI(fmt.Sprintf("http://e.x/p%d", i%7)),
			Object:    triple.NewTyped(fmt.Sprint(i), triple.XSDInteger),
		})
	}
	return all
}

// spread adds triples, enough for all machines to own some of each order, and waits
// until all is at rest.
func (w *world) spread() (all []triple.Triple) {
	w.t.Helper()
	all = numbered(0, 1500)
	if _, err := store.Add(w.t.Context(), w.any().node, all); err != nil {
		w.t.Fatal(err)
	}
	w.until("the data is spread", func() bool { return w.up()[0].node.View().Base.Trie.Len() >= 4*len(w.up()) })
	time.Sleep(5 * time.Second) // of virtual time: what is split is moved
	w.settle()
	w.checkDisks()
	return all
}

// owned returns the first triple of a list whose owners are as wanted.
func (w *world) owned(list []triple.Triple, wanted func(o owners) bool) (triple.Triple, owners) {
	w.t.Helper()
	for _, tr := range list {
		if o := w.ownersOf(tr); wanted(o) {
			return tr, o
		}
	}
	w.notATest("no triple has such owners")
	return triple.Triple{}, owners{}
}

func apart(o owners) bool { return o.spo != o.pos && o.pos != o.osp && o.osp != o.spo }

// fresh are triples that spread does not add.
func fresh() []triple.Triple { return numbered(2000, 3500) }

// looks are patterns that find a triple in each of the three orders.
func looks(tr triple.Triple) []triple.Pattern {
	return []triple.Pattern{
		{Subject: tr.Subject, Predicate: tr.Predicate},
		{Predicate: tr.Predicate, Object: tr.Object},
		{Object: tr.Object, Subject: tr.Subject},
	}
}

// sees reports whether a triple is there as a machine finds it, within a second.
func (m *machine) sees(tr triple.Triple, p triple.Pattern) (there bool, err error) {
	ctx, cancel := context.WithTimeout(m.world.t.Context(), time.Second)
	defer cancel()
	sn, err := m.node.Reader()
	if err != nil {
		return false, err
	}
	defer sn.Close()
	for row, err := range sn.Match(ctx, p, store.ReadOptions{}) {
		if err != nil {
			return false, err
		}
		found, err := row.Triple()
		if err != nil {
			return false, err
		}
		there = there || found.String() == tr.String()
	}
	return there, nil
}

// others are the machines that run, but for some.
func (w *world) others(but ...*machine) []*machine {
	return slices.DeleteFunc(w.up(), func(m *machine) bool { return slices.Contains(but, m) })
}

// add adds triples through a machine, beside the test; the error comes when it is
// known.
func (m *machine) add(ts ...triple.Triple) <-chan error {
	done, n := make(chan error, 1), m.node
	go func() {
		ctx, cancel := context.WithTimeout(m.world.t.Context(), time.Minute)
		defer cancel()
		_, err := store.Add(ctx, n, ts)
		done <- err
	}()
	return done
}

// pends reports whether a machine has an operation on a triple that is not settled as
// far as it knows.
func (m *machine) pends(tr triple.Triple) bool {
	spo, _ := triple.AppendKey(nil, triple.SPO, tr)
	for _, b := range m.store.InFlightBatches() {
		for _, o := range b.Operations {
			if string(o.Key) == string(spo) {
				return true
			}
		}
	}
	return false
}

// must does a write again and again until it is known to be done.
func (w *world) must(what string, write func(ctx context.Context) error) {
	w.t.Helper()
	w.until(what, func() bool {
		ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
		defer cancel()
		err := write(ctx)
		if err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			w.t.Fatal(err)
		}
		return err == nil
	})
}

func (w *world) mustAdd(m *machine, ts ...triple.Triple) {
	w.t.Helper()
	w.must("adds", func(ctx context.Context) error {
		_, err := store.Add(ctx, m.node, ts)
		return err
	})
}

func (w *world) mustDelete(m *machine, ts ...triple.Triple) {
	w.t.Helper()
	w.must("deletes", func(ctx context.Context) error {
		_, err := store.Delete(ctx, m.node, ts)
		return err
	})
}

// mustBeExcluded waits until a machine learns that it is not a member any more.
func (m *machine) mustBeExcluded() {
	t := m.world.t
	t.Helper()
	select {
	case <-m.node.Failed():
	case <-time.After(time.Minute):
		t.Fatalf("%s does not learn that it was excluded", m.name)
	}
	if err := m.node.Err(); !errors.Is(err, cluster.ErrExcluded) {
		t.Fatalf("%s ends with: %v", m.name, err)
	}
}

// mustFill waits until a view of the leader fills its target, and checks that it
// does not get further.
func (w *world) mustFill(leader *machine) {
	w.t.Helper()
	w.until("copies are being made", func() bool { return leader.node.View().Phase == recovery.Fill })
	time.Sleep(time.Second) // of virtual time
	if p := leader.node.View().Phase; p != recovery.Fill {
		w.notATest("the view is in %s although two machines do not hear each other", p)
	}
}

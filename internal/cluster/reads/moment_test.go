// Snapshots of one state, and their ticks.

package reads

import (
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// The rows of a snapshot of one state are as of one tick, or a read fails: while the oracle is silent, if a machine does
// not have the rows, and if the view changes.
func TestOneState(t *testing.T) {
	const epoch, triples = 1, 300
	tick := func(n uint64) triple.Stamp { return triple.Stamp{Epoch: epoch, Sequence: n} }
	for name, c := range map[string]struct {
		now    []triple.Stamp // what the oracle returns; zero is an error
		epoch  uint64         // whose rows the machines have in the end
		view   uint64         // that is adopted after the first read; 0 is none
		before bool           // something is returned before
		old    bool           // the state cannot be read any more
	}{
		"quiet":                   {[]triple.Stamp{tick(4)}, epoch, 0, true, false},
		"silent oracle":           {[]triple.Stamp{{}, {}, tick(4)}, epoch, 0, true, false},
		"no rows before a read":   {[]triple.Stamp{tick(4), {Epoch: 2, Sequence: 1}}, 2, 2, false, false},
		"no rows after a read":    {[]triple.Stamp{tick(4), tick(5)}, 2, 0, true, true},
		"a view after a read":     {[]triple.Stamp{tick(4), {Epoch: 2}}, epoch, 2, true, true},
		"an oracle that is ahead": {[]triple.Stamp{{Epoch: 2, Sequence: 7}}, 2, 2, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3, Options{})
			w.fill(random(t), 12, students(triples))
			for _, m := range w.machines {
				m.store.BeginEpoch(epoch)
			}
			w.machines[0].later = c.now
			sn := w.stateSnapshot(0)
			count := func() error {
				n, err := sn.Count(ctx, triple.Pattern{})
				if err == nil && (n != triples || !sn.OneMoment()) {
					t.Errorf("%d triples, of one moment: %t", n, sn.OneMoment())
				}
				return err
			}
			if c.before {
				if err := count(); err != nil {
					t.Fatal(err)
				}
			} else if _, err := sn.tick(ctx, w.machines[0].View()); err != nil && !errors.Is(err, errMoved) {
				t.Fatal(err)
			}
			for _, m := range w.machines {
				m.store.BeginEpoch(c.epoch)
			}
			if c.view > 0 {
				w.adopt(w.viewOf(c.view))
			}
			if err := count(); errors.Is(err, store.ErrSnapshotTooOld) != c.old || !c.old && err != nil {
				t.Errorf("%v, want too old: %t", err, c.old)
			}
			if ok, err := sn.Has(ctx, w.triples[0]); ok == c.old || errors.Is(err, store.ErrSnapshotTooOld) != c.old {
				t.Errorf("%t, %v", ok, err)
			}
			found := 0
			for _, err := range sn.Match(ctx, triple.Pattern{}, store.ReadOptions{}) {
				if err == nil {
					found++
				} else if !errors.Is(err, store.ErrSnapshotTooOld) {
					t.Error(err)
				}
			}
			if found != triples && !c.old || found > 0 && c.old {
				t.Errorf("%d rows", found)
			}
		})
	}
}

// stateSnapshot returns a snapshot of one state.
func (w *world) stateSnapshot(machine int) *Snapshot {
	sn, _ := w.snapshot(machine).OneState()
	return sn
}

// After its release a snapshot of one state goes on with rows of later moments.
func TestReleasedState(t *testing.T) {
	w := newWorld(t, 3, Options{})
	w.fill(random(t), 12, students(300))
	for _, m := range w.machines {
		m.store.BeginEpoch(1)
	}
	w.setNow(triple.Stamp{Epoch: 1, Sequence: 4})
	sn, release := w.snapshot(0).OneState()
	check := func(moment bool) {
		t.Helper()
		if n, err := sn.Count(ctx, triple.Pattern{}); n != 300 || err != nil || sn.OneMoment() != moment {
			t.Errorf("%d triples, %v, of one moment: %t", n, err, sn.OneMoment())
		}
	}
	check(true)
	release()
	check(true)
	for _, m := range w.machines {
		m.store.BeginEpoch(2)
	}
	check(false)
}

// missing is the refusal of a machine without the rows of a tick.
func missing(tick triple.Stamp) error {
	return peer.Refuse(peer.CodeTick, tick.Epoch, "the rows of tick %d are not here any more", tick.Sequence)
}

// A read whose tick another read has given up is repeated, if nothing was returned as of it.
func TestTickGivenUp(t *testing.T) {
	w := newWorld(t, 3, Options{})
	first, second := triple.Stamp{Epoch: 1, Sequence: 4}, triple.Stamp{Epoch: 1, Sequence: 9}
	w.fill(random(t), 12, students(3))
	w.machines[0].later = []triple.Stamp{first, second}
	sn := w.stateSnapshot(0)
	v := w.viewOf(1)
	for _, want := range []triple.Stamp{first, second} {
		if got, err := sn.tick(ctx, v); got != want || err != nil {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		if want == first {
			refusal := missing(first)
			if err := sn.failed(first, refusal); !errors.Is(err, refusal) {
				t.Fatal(err)
			}
		}
	}
	if err := sn.returns(first); !errors.Is(err, errMoved) {
		t.Errorf("rows of a tick that was given up: %v", err)
	}
	if err := sn.returns(second); err != nil {
		t.Error(err)
	}
	if err := sn.failed(first, missing(first)); errors.Is(err, store.ErrSnapshotTooOld) {
		t.Error("a refusal of the first tick ends reads of the second")
	}
	if err := sn.failed(second, missing(second)); !errors.Is(err, store.ErrSnapshotTooOld) {
		t.Error(err)
	}
}

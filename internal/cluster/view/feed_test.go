// Tests of the change feed in views.

package view

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/trie"
)

// feeding returns an idle view of machines with logs.
func feeding(t *testing.T, ids ...trie.MachineID) *View {
	t.Helper()
	v := First("test", "id", up(ids[0]), simLayout(t, ids[0]), 1)
	for _, id := range ids[1:] {
		v = joined(t, v, id)
	}
	return v
}

func joined(t *testing.T, v *View, id trie.MachineID) *View {
	t.Helper()
	return through(t, must(t)(v.Join(up(id))))
}

// TestFeedHorizon: the horizon moves when a third machine leaves, however it leaves.
func TestFeedHorizon(t *testing.T) {
	v := feeding(t, 1, 2, 3, 4, 5)
	if v.Feed == nil || v.Feed.Source == 0 || v.Feed.Horizon != 1 || len(v.Feed.Copies) != 3 {
		t.Fatalf("%+v", v.Feed)
	}
	// The first departure: changes of the time with one machine may be gone.
	full := v.Epoch
	v = through(t, must(t)(v.Exclude(1)))
	if v.Feed.Horizon <= 1 || v.Feed.Horizon >= full {
		t.Errorf("after one departure: %+v", v.Feed)
	}
	if v.HasLog(1, full) || !v.HasLog(2, full) {
		t.Error("which machines have logs")
	}
	// The second: changes with three copies are on a third machine.
	v = through(t, must(t)(v.Leave(2)))
	v = must(t)(v.Remove(2))
	if v.Feed.Horizon >= full || len(v.Feed.Departures) != 2 {
		t.Errorf("after two departures: %+v", v.Feed)
	}
	// The third, although others have joined.
	v = joined(t, joined(t, v, 6), 1)
	if v.HasLog(1, full) {
		t.Error("a machine that joined again has its old log")
	}
	first := v.Feed.Departures[0].Epoch
	v = must(t)(v.Exclude(3))
	if v.Feed.Horizon != first || v.Feed.Reason == "" {
		t.Errorf("after three departures: %+v", v.Feed)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back View
	if err := json.Unmarshal(b, &back); err != nil || back.Digest() != v.Digest() || back.Feed.Horizon != first {
		t.Errorf("%+v, %v", back.Feed, err)
	}
}

// TestFeedCuts: a lost range and a recovered majority end what can be read.
func TestFeedCuts(t *testing.T) {
	v := feeding(t, 1, 2, 3, 4, 5)
	lost := must(t)(v.Exclude(1, 2, 3))
	if lost.Feed.Horizon != lost.Epoch {
		t.Errorf("three of five lost: %+v in epoch %d", lost.Feed, lost.Epoch)
	}
	recovered := must(t)(v.Recover(Recovery{Keep: []trie.MachineID{1, 2, 3}, Name: "x"}))
	if recovered.Feed.Horizon != recovered.Epoch || len(recovered.Feed.Departures) != 0 {
		t.Errorf("a new generation: %+v in epoch %d", recovered.Feed, recovered.Epoch)
	}
	if v.Feed.Horizon == lost.Epoch {
		t.Error("a change has modified its view")
	}
}

// TestFeedModel draws members that come and go, and compares the horizon with a model: an epoch is
// complete if its operations had more copies than machines have left since.
func TestFeedModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		v := feeding(t, 1)
		type epoch struct{ number, copies, departed uint64 }
		var epochs []epoch
		for next := trie.MachineID(2); next < 25; next++ {
			before := v
			id := v.Members[rng.IntN(len(v.Members))].ID
			switch {
			case len(v.Members) == 1 || rng.IntN(2) == 0:
				v = must(t)(v.Join(Member{ID: next, Incarnation: 1, Address: "a", State: Up}))
			case rng.IntN(3) == 0:
				v = must(t)(through(t, must(t)(v.Leave(id))).Remove(id))
			default:
				v = must(t)(v.Exclude(id))
			}
			if gone := before.Find(id) != nil && v.Find(id) == nil; gone {
				for i := range epochs {
					epochs[i].departed++
				}
			}
			if v.Phase != 0 {
				v = through(t, v)
			}
			if len(v.Lost) > 0 {
				v = must(t)(v.AcceptLoss())
			}
			epochs = append(epochs, epoch{v.Epoch, uint64(v.Target.Required()), 0})
			for _, e := range epochs {
				if e.number >= v.Feed.Horizon && e.departed >= e.copies {
					t.Fatalf("seed %d: epoch %d had %d copies, %d machines left since, and the horizon is %d", seed, e.number, e.copies, e.departed, v.Feed.Horizon)
				}
			}
		}
	}
}

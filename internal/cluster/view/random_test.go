// Tests of random sequences of changes.

package view

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/trefoildb/trefoil/recovery"
)

// heal lets all run that can, and the cluster come to rest.
func (s *sim) heal() {
	for _, n := range s.sorted() {
		if !n.up {
			n.up, n.epoch = true, 0
			n.inc++
			s.note("%s starts as %d", n.id, n.inc)
		}
		n.suspect, n.stalled = false, false
	}
	s.wishes.Remove = nil
	if !slices.ContainsFunc(s.v.Members, func(m Member) bool { return s.nodes[m.ID].shows }) {
		return // for the operator to say what is to become of it
	}
	for range 400 {
		for _, n := range s.sorted() {
			if !s.current(n) || !n.lease {
				n.lease, n.mayHold = false, false
			}
		}
		for _, n := range s.sorted() {
			s.work(n)
		}
		if len(s.wishes.Leave) > 0 && s.v.Phase == recovery.Idle && s.random.IntN(5) == 0 {
			s.wishes.Leave = nil // perhaps of the last one
		}
		if proposed, wait := s.lead(); !proposed && wait == "" && s.v.Phase == recovery.Idle {
			for _, m := range s.v.Members {
				if m.State == Leaving || m.Waits {
					s.fail("at rest, %s is %s, waits: %v", m.ID, m.State, m.Waits)
				}
			}
			return
		}
	}
	_, wait := s.lead()
	s.fail("no rest in phase %s, waiting for: %s", s.v.Phase, wait)
}

// TestRandomClusters: whatever happens, each view keeps the invariants and the data
// where it says, and when all is well again the cluster comes to rest. The seed of
// a run is in its name; TREFOIL_SEED repeats one.
func TestRandomClusters(t *testing.T) {
	seeds, first := 25, rand.Uint64()
	if testing.Short() {
		seeds = 5
	}
	if one := os.Getenv("TREFOIL_SEED"); one != "" {
		var err error
		if first, err = strconv.ParseUint(one, 10, 64); err != nil {
			t.Fatal(err)
		}
		seeds = 1
	}
	steps, lost := map[string]int{}, 0
	for i := range uint64(seeds) {
		seed := first + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			s := newSim(t, seed)
			s.checkView()
			for range 800 {
				s.act()
				s.lead()
			}
			s.heal()
			for k, n := range s.steps {
				steps[k] += n
			}
			lost += len(s.v.Lost)
		})
	}
	t.Logf("views: %v, lost ranges: %d", steps, lost)
}

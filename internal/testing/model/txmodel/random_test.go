// Random runs of larger settings.

package txmodel

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/model"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// large is a setting by chance.
func large(r *rand.Rand, rules Rules) system {
	some := func(n int) uint8 { return uint8(r.IntN(n + 1)) }
	s := setting{machines: 2 + r.IntN(3), triples: 1 + r.IntN(maxTriples), copies: 2 + r.IntN(2), rules: rules}
	for range 1 + r.IntN(maxTxns) {
		s.writes = append(s.writes, set(1+r.IntN(1<<s.triples-1)))
	}
	left := budget{crashes: some(2), cuts: some(2), blackouts: some(1), admits: some(3), reads: 1 + some(3), giveUps: some(1)}
	members := set(1<<s.machines - 1)
	if s.machines > 2 && r.IntN(2) == 0 {
		members &^= 1 << r.IntN(s.machines)
	}
	return newSystem(s, members, left)
}

// weights make faults rarer than quiet actions.
func weights(r *rand.Rand) func(action) int {
	events := 1 + r.IntN(8)
	return func(a action) int {
		if table[a.rule].quiet {
			return 10
		}
		return events
	}
}

// environment returns a number of an environment variable, or a default.
func environment(t *testing.T, name string, otherwise uint64) (uint64, bool) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n, true
}

// TestRandom makes random runs for two seconds, or for TREFOIL_MODEL_SECONDS. TREFOIL_SEED repeats
// one.
func TestRandom(t *testing.T) {
	seed.Slow(t)
	// 1. Make runs until the time is over, and let each come to rest.
	seconds, _ := environment(t, "TREFOIL_MODEL_SECONDS", 2)
	first, once := environment(t, "TREFOIL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("seed %d", first)
	happened := make([]int, len(table))
	runs, acked, lost := 0, 0, 0
	for start := time.Now(); ; first++ {
		from, trace, end := randomRun(first, Rules{})
		if trace.Err != nil {
			t.Fatalf("TREFOIL_SEED=%d repeats this:\n%s", first, model.Print[cluster, action](from, model.Shrink[cluster, action](from, trace)))
		}
		for _, a := range trace.Steps {
			happened[a.rule]++
		}
		for x := range end.writes {
			c := &end.c.txns[x]
			if c.acked {
				acked++
			}
			if c.exposed != c.tick && c.exposed != (tick{}) {
				lost++
			}
		}
		if err := liveness(end); err != nil {
			t.Fatalf("TREFOIL_SEED=%d repeats this: %v, after\n%s", first, err, model.Print[cluster, action](from, trace))
		}
		runs++
		if once || time.Since(start) > time.Duration(seconds)*time.Second {
			break
		}
	}
	// 2. Everything must have happened.
	t.Logf("%d runs, %d transactions acknowledged, %d committed again after their tick was seen", runs, acked, lost)
	for i, n := range happened {
		if n == 0 && runs > 2000 {
			t.Errorf("%q never happened", table[i].name)
		}
	}
}

// randomRun makes a run of a seed. It returns its two ends.
func randomRun(seed uint64, rules Rules) (from system, trace model.Trace[action], end system) {
	r := rand.New(rand.NewPCG(seed, 0))
	from = large(r, rules)
	end = from
	trace = model.Wander[cluster, action](from, r, 150, weights(r), func(_ cluster, _ action, after cluster) { end.c = after })
	return from, trace, end
}

// liveness lets a run come to rest. Then each transaction has an outcome, its client knows it, and so do
// all members with its rows.
func liveness(s system) error {
	if s.c.last+1 == maxViews {
		return nil // the views of the model are used up
	}
	s, err := s.settle()
	if err != nil || s.c.last+1 == maxViews {
		return err
	}
	// A crashed machine is excluded unless it has the last copy of rows.
	members := s.c.views[s.c.last].members
	for m := range s.machines {
		if members.has(m) && (!s.c.machines[m].up || s.c.machines[m].epoch != s.c.last) {
			return nil
		}
	}
	for x := range s.writes {
		t := &s.c.txns[x]
		if !t.begun {
			continue
		}
		if s.coordinated(x) && !s.c.machines[t.coord].knows.has(x) {
			return fmt.Errorf("the coordinator of T%d never receives its outcome", x+1)
		}
		for m := range s.machines {
			n := &s.c.machines[m]
			for i := range s.triples {
				if members.has(m) && n.has[i].has(x) && !n.knows.has(x) {
					return fmt.Errorf("M%d never knows the outcome of T%d", m+1, x+1)
				}
			}
		}
	}
	return nil
}

// Random runs of larger settings.

package linkmodel

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

// large is a setting by chance: up to five machines, three partitions and three links, one option.
func large(r *rand.Rand, rules Rules) system {
	some := func(n int) uint8 { return uint8(r.IntN(n + 1)) }
	s := setting{
		machines: 3 + r.IntN(3), partitions: 1 + r.IntN(3), copies: 2 + r.IntN(2), pages: r.IntN(maxPages + 1), writer: -1,
		leased: r.IntN(2) == 0, buildAlways: r.IntN(3) == 0, laggards: r.IntN(2) == 0, rules: rules,
	}
	if r.IntN(2) == 0 {
		s.writer = r.IntN(s.machines)
	}
	for range 1 + r.IntN(maxLinks) {
		s.links = append(s.links, link{r.IntN(s.partitions), r.IntN(s.partitions)})
	}
	left := budget{crashes: some(3), restarts: some(3), cuts: some(2), admits: some(3), reads: 2 + some(4), uids: some(4), stepDowns: some(2)}
	s.narrow = s.leased && r.IntN(2) == 0
	// TestQuorum shows why a quorum and joiners do not go together here.
	if s.quorum = !s.leased && r.IntN(3) == 0; s.quorum {
		left.admits = 0
	}
	for l := range s.links {
		left.writes[l] = some(3)
	}
	members := setOf(0, 1, 2, 3, 4) & (1<<s.machines - 1)
	if s.machines > 3 && r.IntN(2) == 0 {
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
	seed, once := environment(t, "TREFOIL_SEED", uint64(time.Now().UnixNano()))
	t.Logf("seed %d", seed)
	happened := make([]int, len(table))
	runs, rested, answered := 0, 0, 0
	for start := time.Now(); ; seed++ {
		from, trace, end := randomRun(seed, Rules{})
		if trace.Err != nil {
			t.Fatalf("TREFOIL_SEED=%d repeats this:\n%s", seed, model.Print[cluster, action](from, model.Shrink[cluster, action](from, trace)))
		}
		for _, a := range trace.Steps {
			happened[a.rule]++
		}
		n, err := liveness(end)
		if err != nil {
			t.Fatalf("TREFOIL_SEED=%d repeats this: %v, after\n%s", seed, err, model.Print[cluster, action](from, trace))
		}
		runs++
		if n > 0 {
			rested++
			answered += n
		}
		if once || time.Since(start) > time.Duration(seconds)*time.Second {
			break
		}
	}
	// 2. Everything must have happened.
	t.Logf("%d runs, %d of them came to rest, and all %d partitions were answered", runs, rested, answered)
	for i, n := range happened {
		if n == 0 && runs > 2000 && table[i].name != "%s does not learn what became of %s" {
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

// liveness lets a run come to rest, and returns how many partitions all members can read then, from
// as many copies as there must be. It
// returns 0 if the views of the model are used up, or no
// member lives.
func liveness(s system) (answered int, err error) {
	// 1. Come to rest, if there are views for that.
	if s, err = s.settle(""); err != nil {
		return 0, err
	}
	if s.c.last+1 == maxViews {
		return 0, nil
	}
	v := &s.c.views[s.c.last]
	if m := s.first(int(s.c.last), 0); v.members.len() == 1 && !s.member(int(s.c.last), m) {
		return 0, nil // all have died
	}
	// 2. Every change is acknowledged.
	for i := range s.c.ops {
		if o := &s.c.ops[i]; o.status == committed && o.number == 0 && o.writer != never && s.member(int(s.c.last), int(o.writer)) && !o.acked {
			return 0, fmt.Errorf("operation %d is never acknowledged", i+1)
		}
	}
	// 3. All holders have their copies, and all members are answered.
	for p := range s.partitions {
		for m := range s.machines {
			if !v.members.has(m) {
				continue
			}
			c := &s.c.machines[m].copies[p]
			if s.holders(int(s.c.last), p).has(m) && (c.stage != ready || s.leased && !c.serving) {
				return 0, fmt.Errorf("M%d is a holder of P%d and has no copy that serves", m+1, p+1)
			}
			if !s.readable(m, p, "") {
				return 0, fmt.Errorf("no machine answers a read of P%d by M%d", p+1, m+1)
			}
		}
		answered++
	}
	return answered, nil
}

// readable reports whether a member gets an answer of a partition, without actions of one rule.
func (s system) readable(m, p int, without string) bool {
	if s.leased {
		for h := range s.machines {
			if n := &s.c.machines[h]; s.reach(m, h) && n.lease && n.copies[p].serving {
				return true
			}
		}
		return false
	}
	s.c.left.reads, s.c.read = 1, reading{}
	if !s.beginRead(m, p) {
		return false
	}
	at, err := s.settle(without)
	if err != nil {
		return false
	}
	for h := range at.machines {
		if at.answers(h) {
			return true
		}
	}
	return false
}

// Without a rule, random runs end in a violation, too.
func TestRandomBites(t *testing.T) {
	for name, rules := range map[string]Rules{
		"leave unreconciled": {LeaveUnreconciled: true},
		"serve at once":      {ServeAtOnce: true},
		"no fence":           {NoFence: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed < 100_000; seed++ {
				from, trace, _ := randomRun(seed, rules)
				if trace.Err == nil {
					continue
				}
				short := model.Shrink[cluster, action](from, trace)
				t.Logf("seed %d: %d steps, %d when shrunk:\n%s", seed, len(trace.Steps), len(short.Steps), model.Print[cluster, action](from, short))
				return
			}
			t.Error("nothing breaks")
		})
	}
}

// Tests of liveness: whatever has happened, the cluster answers when the faults are over.

package model

import (
	"math/rand/v2"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// Each scene is explored with all its faults, and in each state they may end.
var liveness = []struct {
	name    string
	make    func(Rules) *setting
	dead    set // machines that stay down if they are
	without func(*Rules)
}{
	{
		name: "all lose power, and again while they wait for their return",
		make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 5, restarts: 5})
			return after(s, "M1 crashes", "M2 crashes", "M3 crashes", "M1 starts again", "M2 starts again", "M3 starts again",
				"M1 shows its disk and is a member again, in a new incarnation")
		},
		without: func(r *Rules) { r.ReturnAfterAll = true },
	},
	{
		name: "one dies for good while a load is taken in, and another one starts again",
		make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 2, restarts: 1, loads: 1, excludes: 1})
			return after(s, "the leader proposes to ingest a load")
		},
		dead:    setOf(2),
		without: func(r *Rules) { r.LoadEndsFirst = true },
	},
	{
		name: "one loses its disk amid a load, and another one starts again",
		make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 2, restarts: 1, diskFaults: 1, loads: 1})
			return after(s, "the leader proposes to ingest a load")
		},
	},
	{
		name: "one dies for good amid a move, and another one starts again",
		make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 2, restarts: 1, moves: 1, excludes: 1})
			return after(s, "the leader plans placement 4", "M3 crashes")
		},
		dead: setOf(2),
	},
}

func TestLiveness(t *testing.T) {
	seed.Slow(t)
	notShort(t)
	for _, test := range liveness {
		t.Run(test.name, func(t *testing.T) {
			stops := func(rules Rules) (*setting, Result[action]) {
				s := test.make(rules)
				return s, Explore[cluster, action](s.model(), Bounds{States: mostStates}, func(c cluster) bool {
					m := model{s, c}
					_, err := m.answersAgain(test.dead & m.down())
					return err != nil
				})
			}
			s, got := stops(Rules{})
			if got.Reached != nil {
				m, _ := Replay[cluster, action](s.model(), got.Reached.Steps)
				end := m.(model)
				_, got.Reached.Err = end.answersAgain(test.dead & end.down())
				t.Fatalf("the cluster does not answer again after:\n%s", Print[cluster, action](s.model(), *got.Reached))
			}
			if got.Broken != nil || !got.Complete {
				t.Fatalf("%d states, complete: %v, broken: %v", got.States, got.Complete, got.Broken)
			}
			t.Logf("%d states", got.States)
			if test.without == nil {
				return
			}
			var rules Rules
			test.without(&rules)
			if s, got = stops(rules); got.Reached == nil {
				t.Fatalf("%d states without the rule, and the cluster always answers again", got.States)
			}
			t.Logf("without the rule it does not answer after:\n%s", Print[cluster, action](s.model(), *got.Reached))
		})
	}
}

// down returns the members that do not run.
func (s *model) down() (down set) {
	for m := range s.machines {
		if s.c.latest().members.has(m) && !s.c.machines[m].up {
			down |= 1 << m
		}
	}
	return down
}

// checkLiveness ends the faults in a state of a run, once with all machines and once without those
// that are down.
func checkLiveness(t *testing.T, m model, seed uint64, seen *tally, run func() string) {
	for _, dead := range []set{0, m.down()} {
		known, err := m.answersAgain(dead)
		if err != nil {
			t.Fatalf("seed %d, epoch %d, %v stay down: %v, after:\n%s", seed, m.c.last, dead, err, run())
		}
		if known {
			seen.answered++
		}
	}
}

// With a rule under which a wait has no end, random runs find it. Two power cuts of all are too rare in them:
// TestLiveness has the scene for ReturnAfterAll.
func TestRandomLivenessBites(t *testing.T) {
	notShort(t)
	for _, test := range []struct {
		name  string
		rules Rules
		first uint64 // a seed from which it is soon found
	}{
		{"load ends first", Rules{LoadEndsFirst: true}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := test.first; seed < test.first+20_000; seed++ {
				r := rand.New(rand.NewPCG(seed, 0))
				s := large(r, test.rules).model()
				mid, steps := s.c, r.IntN(200)
				Wander[cluster, action](s, r, 400, weights(r), func(_ cluster, _ action, after cluster) {
					if steps == 0 {
						mid = after
					}
					steps--
				})
				m := model{s.setting, mid}
				for _, dead := range []set{0, m.down()} {
					if _, err := m.answersAgain(dead); err != nil {
						t.Logf("seed %d, %v stay down: %v", seed, dead, err)
						return
					}
				}
			}
			t.Error("it always answers again")
		})
	}
}

// Isolated machines, elections, and a voter that is rolled back.

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Members without a leader, and voters that forget.

// A member that is cut off says so soon, for reads and writes, and what it knows of the
// cluster; the others go on, and an election alone refuses nothing.
func TestCutOffAnswersSoon(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		all := w.spread()
		sleep(t.Context(), time.Minute) // all have heard of the leader's status
		lonely := w.others(w.leader())[0]
		w.net.Isolate(lonely.name)
		// What is begun at the moment of the cut waits no longer than the lease and the
		// waitLimit after it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i, most := range []time.Duration{5 * time.Second, 100 * time.Millisecond} {
			began := time.Now()
			_, err := lonely.contents(ctx)
			if took := time.Since(began); !errors.Is(err, store.ErrUnavailable) || took > most {
				t.Errorf("read %d: %v after %s", i, err, took)
			}
			sleep(ctx, 2*time.Second)
		}
		began := time.Now()
		_, err := store.Add(ctx, lonely.node, all[:1])
		if took := time.Since(began); !errors.Is(err, store.ErrUnavailable) || took > time.Second {
			t.Errorf("write: %v after %s", err, took)
		}
		sleep(ctx, 10*time.Second)
		s := lonely.node.Status()
		down := 0
		for _, m := range s.Members {
			if m.State == "down" {
				down++
			}
		}
		if s.Leader != "" || s.Stale < 5 || s.Triples == 0 || down != 4 || s.Epoch != lonely.node.View().Epoch || !strings.Contains(s.Waiting, "not reached") {
			t.Errorf("the status: %+v", s)
		}
		w.net.Heal()
		lonely.mustBeExcluded()
		lonely.rejoin()
		w.settle()
		if s := lonely.node.Status(); s.Stale != 0 || s.Leader == "" {
			t.Errorf("the status: %+v", s)
		}
		w.mustHave(setOf(all))
	})
}

// The leader dies: reads through the others wait for the next one.
func TestElectionRefusesNothing(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		all := w.spread()
		leader := w.leader()
		reader := w.others(leader)[0]
		leader.kill()
		for range 40 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			got, err := reader.contents(ctx)
			if err != nil && strings.Contains(err.Error(), "no leader") || err == nil && difference(got, setOf(all)) != "" {
				t.Error(err)
			}
			cancel()
			sleep(t.Context(), 250*time.Millisecond)
		}
		w.settle()
	})
}

// The leader is away, and has excluded the third machine with the second one, whose
// disk is then made what it was before. The second and the third elect a leader that
// knows nothing of it. As soon as the first one is back nothing is answered any more:
// the third one would lack what was written meanwhile.
func TestVoterIsRolledBack(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		name := "and the first one ran on"
		if restarted {
			name = "and the first one was restarted"
		}
		t.Run(name, func(t *testing.T) {
			simulate(t, 3, func(t *testing.T, w *world) {
				w.form()
				w.spread()
				more := fresh()[:50]
				first := w.leader()
				second, third := w.others(first)[0], w.others(first)[1]
				before := second.disk.CrashClone(vfs.CrashCloneCfg{})
				w.net.Isolate(third.name)
				w.until("the third one is excluded", func() bool { return second.node.View().Find(third.node.MachineID()) == nil })
				w.until("the two are settled", func() bool { return first.node.Lease() == nil && second.node.Lease() == nil })
				w.mustAdd(first, more...)
				w.net.Isolate(first.name)
				second.kill()
				second.disk = before
				if restarted {
					first.kill()
				}
				w.net.Heal()
				if !restarted {
					w.net.Isolate(first.name)
				}
				second.run(w.others(second)...)
				w.until("a leader has forgotten it", func() bool {
					return third.node.Lease() == nil || second.node.Lease() == nil
				})
				if restarted {
					first.run(second, third)
				} else {
					w.net.Heal()
				}
				told := func() bool {
					for _, m := range w.up() {
						if strings.Contains(m.node.Status().Waiting, "has forgotten what it agreed on") {
							return true
						}
						select {
						case <-m.node.Failed():
							return true
						default:
						}
					}
					return false
				}
				w.until("somebody says so", told)
				sleep(t.Context(), 10*time.Second)
				for _, m := range w.up() {
					if m.node.Lease() == nil {
						t.Errorf("%s has a lease", m.name)
					}
				}
				lacks := triple.Pattern{Subject: more[0].Subject, Predicate: more[0].Predicate, Object: more[0].Object}
				if there, err := third.sees(more[0], lacks); err == nil && !there {
					t.Error("what was acknowledged is not there")
				}
			})
		})
	}
}

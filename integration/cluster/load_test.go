// Bulk loads into a cluster.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// quads returns so many triples, some in named graphs, some with long terms.
func quads(random *rand.Rand, n int) (all []triple.Triple) {
	for i := range n {
		t := triple.Triple{
			Subject:   triple.NewIRI(fmt.Sprintf("http://e.x/s%d", random.IntN(n/7+1))),
			Predicate: triple.NewIRI(fmt.Sprintf("http://e.x/p%d", random.IntN(9))),
			Object:    triple.NewTyped(fmt.Sprint(i), triple.XSDInteger),
		}
		switch random.IntN(40) {
		case 0:
			t.Object = triple.NewString(strings.Repeat(fmt.Sprintf("a long text %d ", i), 120))
		case 1, 2, 3:
			t.Graph = triple.NewIRI(fmt.Sprintf("http://e.x/g%d", random.IntN(5)))
		case 4, 5:
			t.Object = triple.NewIRI(fmt.Sprintf("http://e.x/s%d", random.IntN(n)))
		}
		all = append(all, t)
	}
	return all
}

// document writes triples as a file of N-Quads, in which each of so many lines is
// followed by one that is no statement.
func document(t *testing.T, name string, all []triple.Triple, dirty int) input.Source {
	t.Helper()
	var text []byte
	for i := range all {
		text = triple.AppendNQuad(text, all[i])
		if dirty > 0 && i%dirty == 0 {
			text = append(text, "this is no statement .\n"...)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, text, 0o644))
	sources, _, err := input.List([]string{path}, input.RDF)
	require.NoError(t, err)
	return sources[0]
}

func (m *machine) load(ctx context.Context, source input.Source, resume bool) (rdfload.Summary, error) {
	return rdfload.Load(ctx, m.node.Sink(), []input.Source{source}, rdfload.Options{
		Memory: rdfload.MinMemory, Workers: 2, KeepGoing: true, Resume: resume,
	})
}

// A load into one, three and five machines is complete in every order and on all
// that must have a copy; a second one over it adds what is new.
func TestLoad(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{1, 3, 5}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				w.formAll()
				n := 6000
				if os.Getenv("TREFOIL_TORTURE") != "" {
					n = 20_000
				}
				all := quads(w.random, n)
				distinct := setOf(all)
				source := document(t, "data.nq", all, 1000)
				s, err := w.any().load(t.Context(), source, false)
				require.NoError(t, err)
				if s.Read != int64(n) || s.Rejected != int64(n)/1000 || s.New != int64(len(distinct)) {
					t.Errorf("%+v, %d distinct", s, len(distinct))
				}
				w.mustHave(distinct)
				// Members report what they hold now and then; one may not have swept yet what
				// another one took over before the load.
				w.until("the status counts the triples", func() bool {
					return w.any().node.Status().Triples == int64(len(distinct))
				})
				more := append(all[:100:100], quads(w.random, 1000)...)
				both := setOf(all, more)
				s, err = w.any().load(t.Context(), document(t, "more.nq", more, 0), false)
				require.NoError(t, err)
				if s.New != int64(len(both)-len(distinct)) {
					t.Errorf("%d new triples, want %d", s.New, len(both)-len(distinct))
				}
				w.mustHave(both)
				if s, err = w.any().load(t.Context(), document(t, "nothing.nq", nil, 0), false); err != nil || s.Read != 0 {
					t.Errorf("an empty document: %+v, %v", s, err)
				}
				w.settle()
				w.mustHave(both)
			})
		})
	}
}

// formAll is form that makes a cluster of one machine too.
func (w *world) formAll() {
	w.t.Helper()
	if len(w.machines) > 1 {
		w.form()
		return
	}
	w.machines[0].run()
	other := w.add()
	other.run(w.machines[0])
	w.settle()
	if err := w.machines[0].node.Leave(w.t.Context(), other.node.MachineID()); err != nil {
		w.t.Fatal(err)
	}
	w.until("the other machine has left", func() bool {
		v := w.machines[0].node.View()
		return len(v.Members) == 1
	})
	other.stop()
	w.machines = w.machines[:1]
	w.settle()
}

// background runs f beside the test, until it ends.
type background struct {
	group sync.WaitGroup
	stop  context.CancelFunc
}

func (w *world) background(f func(ctx context.Context)) *background {
	ctx, stop := context.WithCancel(w.t.Context())
	b := &background{stop: stop}
	b.group.Go(func() { f(ctx) })
	return b
}

func (b *background) end() {
	b.stop()
	b.group.Wait()
}

// counts reads all triples of an order, again and again, and reports every number
// that it finds.
func (w *world) counts(m *machine, o triple.Order, found func(int)) *background {
	n := m.node
	return w.background(func(ctx context.Context) {
		for ctx.Err() == nil {
			count, err := func() (count int, err error) {
				sn, err := n.Reader()
				if err != nil {
					return 0, err
				}
				defer sn.Close()
				for _, err := range sn.Range(ctx, triple.Bounds{Order: o}, store.ReadOptions{}) {
					if err != nil {
						return 0, err
					}
					count++
				}
				return count, nil
			}()
			if err == nil {
				found(count)
			}
			sleep(ctx, 10*time.Millisecond)
		}
	})
}

// sleep is of virtual time.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Who reads during a load sees nothing of it or all.
func TestLoadShowsAtOnce(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		before, all := numbered(0, 1), quads(w.random, 5000) // so few that most machines have nothing to answer with
		if _, err := store.Add(t.Context(), w.any().node, before); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		found := map[int]int{}
		var readers []*background
		for i, m := range w.machines {
			readers = append(readers, w.counts(m, triple.Orders[i], func(n int) {
				mu.Lock()
				defer mu.Unlock()
				found[n]++
			}))
		}
		if _, err := w.any().load(t.Context(), document(t, "data.nq", all, 0), false); err != nil {
			t.Fatal(err)
		}
		both := setOf(before, all)
		w.until("all readers see it", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return found[len(both)] > 10
		})
		for _, r := range readers {
			r.end()
		}
		mu.Lock()
		defer mu.Unlock()
		for n := range found {
			if n != len(before) && n != len(both) {
				t.Errorf("a reader found %d triples, of %d and %d", n, len(before), len(both))
			}
		}
		w.mustHave(both)
	})
}

// A delete during a load, then the publication: what was deleted before is loaded,
// what is deleted after is not, in every order; and adds stay.
func TestDeleteDuringLoad(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := quads(w.random, 3000)
		want := setOf(all)
		added := numbered(0, 200)
		if _, err := store.Add(t.Context(), w.any().node, all[:200]); err != nil {
			t.Fatal(err)
		}
		m := w.any()
		writer := w.background(func(ctx context.Context) {
			for i := 0; ctx.Err() == nil; i++ {
				a, b := all[i%200:i%200+1], added[i%200:i%200+1]
				if _, err := store.Delete(ctx, m.node, a); err != nil && ctx.Err() == nil {
					t.Errorf("delete: %v", err)
				}
				if _, err := store.Add(ctx, m.node, b); err != nil && ctx.Err() == nil {
					t.Errorf("add: %v", err)
				}
				sleep(ctx, time.Millisecond)
			}
		})
		source := document(t, "data.nq", all, 0)
		if _, err := w.any().load(t.Context(), source, false); err != nil {
			t.Fatal(err)
		}
		writer.end()
		w.decided()
		got, err := m.contents(t.Context())
		require.NoError(t, err)
		for _, a := range all[:200] {
			if !got[a.String()] {
				delete(want, a.String()) // deleted after the publication
			}
		}
		for _, a := range added {
			if got[a.String()] {
				want[a.String()] = true
			}
		}
		w.mustHave(want)
		// All adds are there that were acknowledged, and deletes work as before.
		if _, err := store.Delete(t.Context(), m.node, all); err != nil {
			t.Fatal(err)
		}
		left := maps.Clone(want)
		for _, a := range all {
			delete(left, a.String())
		}
		w.mustHave(left)
		if _, err := store.Add(t.Context(), m.node, all[:100]); err != nil {
			t.Fatal(err)
		}
		maps.Copy(left, setOf(all[:100]))
		w.mustHave(left)
	})
}

// A machine is killed at some moment of a load: the coordinator, the leader or
// another. In the end the load is there whole, or, until it is resumed, not at all.
func TestLoadKills(t *testing.T) {
	runs := len(loadStages)
	if os.Getenv("TREFOIL_TORTURE") != "" {
		runs *= 20
	}
	for run := range runs {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			simulate(t, 3+2*(run%2), func(t *testing.T, w *world) {
				w.form()
				before, all := numbered(0, 50), quads(w.random, 4000)
				if _, err := store.Add(t.Context(), w.any().node, before); err != nil {
					t.Fatal(err)
				}
				source := document(t, "data.nq", all, 100)
				w.net.Delay(time.Millisecond, 8*time.Millisecond)
				coordinator := w.any()
				done := make(chan error, 1)
				go func() {
					_, err := coordinator.load(t.Context(), source, false)
					done <- err
				}()
				stage := w.awaitStage(run)
				leader := w.any().node.Status().Leader
				victim := w.any()
				switch w.random.IntN(3) {
				case 0:
					victim = coordinator
				case 1:
					for _, m := range w.up() {
						if m.node.MachineID().String() == leader {
							victim = m
						}
					}
				}
				back := w.random.IntN(2) == 0
				t.Logf("%s: %s is killed, coordinator %s, leader %s, comes back %v", stage, victim.name, coordinator.name, leader, back)
				victim.kill()
				if victim == coordinator || back {
					<-victim.stopped
					victim.run()
				}
				err := <-done
				if err != nil {
					t.Logf("the load ended with: %v", err)
					if victim != coordinator {
						t.Fatal("an owner that is killed ends the load")
					}
					w.mustHaveOneOf(setOf(before), setOf(before, all))
					if _, err := coordinator.load(t.Context(), source, errors.Is(err, rdfload.ErrKept)); err != nil {
						t.Fatal(err)
					}
				}
				w.settle()
				w.mustHave(setOf(before, all))
				if left := w.staged(); left != "" {
					t.Error(left)
				}
			})
		})
	}
}

// loadStages are moments of a load.
var loadStages = []string{"begun", "staging", "sealed", "taken in", "shown"}

// awaitStage waits for one of the moments, and some time more.
func (w *world) awaitStage(run int) string {
	w.t.Helper()
	stage := loadStages[run%len(loadStages)]
	for deadline := time.Now().Add(waitLimit); !w.at(stage); sleep(w.t.Context(), time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("in vain: the load is %s", stage)
		}
	}
	sleep(w.t.Context(), time.Duration(w.random.IntN(30))*time.Millisecond)
	return stage
}

// at reports whether a running machine sees a moment: a stage of the first load, or a phase of its view.
func (w *world) at(moment string) bool {
	for _, m := range w.up() {
		v := m.node.View()
		if v == nil {
			continue
		}
		if v.Phase.String() == moment {
			return true
		}
		if len(v.Loads) == 0 {
			continue
		}
		staged, _ := m.store.Staging().Loads()
		load := &v.Loads[0]
		switch moment {
		case "begun":
			return true
		case "staging":
			if len(staged) > 0 {
				return true
			}
		case "sealed":
			_, err := m.disk.Stat(m.disk.PathJoin(dataDir, "staged", load.ID, "SEAL"))
			if err == nil || load.Epoch != 0 {
				return true
			}
		case "taken in":
			if load.Epoch != 0 {
				return true
			}
		case "shown":
			if v.Published(load) {
				return true
			}
		}
	}
	return false
}

// A load whose coordinator comes back without what it had sorted is given up, and
// nothing is left of it; one that it has goes on from there.
func TestLoadGivenUp(t *testing.T) {
	for _, lost := range []bool{true, false} {
		t.Run(fmt.Sprint("lost ", lost), func(t *testing.T) {
			simulate(t, 3, func(t *testing.T, w *world) {
				w.form()
				all := quads(w.random, 4000)
				source := document(t, "data.nq", all, 0)
				w.net.Delay(time.Millisecond, 8*time.Millisecond)
				m := w.any()
				done := make(chan error, 1)
				go func() {
					_, err := m.load(t.Context(), source, false)
					done <- err
				}()
				w.awaitStage(1)
				m.kill()
				<-m.stopped
				if err := <-done; !errors.Is(err, rdfload.ErrKept) {
					t.Fatal(err)
				}
				if lost {
					require.NoError(t, os.RemoveAll(m.loads))
				}
				m.run()
				w.settle()
				if !lost {
					s, err := m.load(t.Context(), source, true)
					if err != nil || !s.Resumed {
						t.Fatalf("%+v, %v", s, err)
					}
					w.mustHave(setOf(all))
					return
				}
				w.until("nothing is left of the load", func() bool {
					return len(m.node.View().Loads) == 0 && w.staged() == ""
				})
				w.mustHave(nil)
			})
		})
	}
}

// Two loads at a time, through two machines, of which the triples are partly the
// same, while a machine joins: both are there.
func TestTwoLoads(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		late := w.machines[3]
		w.machines = w.machines[:3]
		w.form()
		w.net.Delay(time.Millisecond, 8*time.Millisecond)
		a, b := quads(w.random, 3000), quads(w.random, 3000)
		b = append(b, a[:500]...)
		errs := make(chan error, 2)
		for i, all := range [][]triple.Triple{a, b} {
			source := document(t, fmt.Sprintf("%d.nq", i), all, 0)
			go func() {
				_, err := w.machines[i].load(t.Context(), source, false)
				errs <- err
			}()
		}
		w.awaitStage(w.random.IntN(len(loadStages)))
		w.machines = append(w.machines, late)
		late.run(w.machines[0])
		for range 2 {
			require.NoError(t, <-errs)
		}
		w.settle()
		w.mustHave(setOf(a, b))
	})
}

// mustHaveOneOf checks that every order is the one or the other: once the load is
// shown, which may happen between two orders, it stays so.
func (w *world) mustHaveOneOf(before, after map[string]bool) {
	w.t.Helper()
	shown := false
	for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
		var got map[string]bool
		w.until("a read without a publication in its middle", func() (ok bool) {
			var err error
			if got, err = contentsOf(w.t.Context(), w.any().node, o); err != nil && !errors.Is(err, store.ErrUnavailable) {
				w.t.Fatal(err)
			}
			return err == nil
		})
		switch {
		case difference(got, after) == "":
			shown = true
		case shown || difference(got, before) != "":
			w.t.Fatalf("%s, shown before %v: %s; %s", o, shown, difference(got, before), difference(got, after))
		}
	}
}

// staged says where something is left of loads that are over.
func (w *world) staged() string {
	synctest.Wait()
	for _, m := range w.up() {
		staged, err := m.store.Staging().Loads()
		if err != nil || len(staged) > 0 {
			return fmt.Sprintf("%s has %v, %v", m.name, staged, err)
		}
	}
	return ""
}

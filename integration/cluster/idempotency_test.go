// Changes that are sent again under one key while machines fail.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// holds reports whether a triple is there, as a node sees it.
func holds(ctx context.Context, n *cluster.Node, t triple.Triple) (bool, error) {
	sn, err := n.Reader()
	if err != nil {
		return false, err
	}
	defer sn.Close()
	p := triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object, DefaultGraph: true}
	for _, err := range sn.Match(ctx, p, store.ReadOptions{}) {
		return err == nil, err
	}
	return false, nil
}

// keyed is a client that sends each of its changes again, through any node, until it is
// acknowledged.
type keyed struct {
	name    string
	random  *rand.Rand
	nodes   []atomic.Pointer[cluster.Node]
	history *history
	tries   *atomic.Int64
}

// any returns a node, which may be down.
func (k *keyed) any() *cluster.Node { return k.nodes[k.random.IntN(len(k.nodes))].Load() }

// change adds or deletes a triple.
func (k *keyed) change(ctx context.Context, i int, t triple.Triple, add bool, key string) {
	call := k.history.tick()
	for first := true; ctx.Err() == nil; first = false {
		n := k.any()
		if n == nil {
			time.Sleep(100 * time.Millisecond) // of virtual time
			continue
		}
		// Half of the tries are given up before the answer can come.
		limit := 3 * time.Second
		if k.random.IntN(2) == 0 {
			limit = 10 * time.Millisecond
		}
		timed, cancel := context.WithTimeout(ctx, time.Duration(k.random.Int64N(int64(limit))))
		timed = store.WithRequestKey(timed, key, first)
		var err error
		if add {
			_, err = store.Add(timed, n, []triple.Triple{t})
		} else {
			_, err = store.Delete(timed, n, []triple.Triple{t})
		}
		cancel()
		k.tries.Add(1)
		if err == nil {
			break
		}
	}
	if ctx.Err() == nil {
		k.history.wrote(i, add, call, true, k.name)
	}
}

// After a machine is lost, triples have other sequencers, of which some never held them.
// They ask the machines that did whether a request was done: a repeat does not bring back
// what another client has deleted since. What is not done triple by triple is not begun
// again.
func TestRepeatsAfterALoss(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 300)
		ctx := t.Context()
		once := func(key string, first bool) context.Context { return store.WithRequestKey(ctx, key, first) }
		n := w.any().node
		if r, err := store.Add(once("add", true), n, all); err != nil || r.Added != int64(len(all)) {
			t.Fatalf("%+v, %v", r, err)
		}
		w.mustDelete(w.any(), all...)
		if r, err := store.DeleteMatch(once("delete", true), n, triple.Pattern{Predicate: all[0].Predicate}); err != nil || r.Deleted != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		w.mustAdd(w.any(), all[0])
		w.any().kill()
		w.settle()
		for _, m := range w.up() {
			if r, err := store.Add(once("add", false), m.node, all); err != nil || r.Added != 0 || r.Existing != int64(len(all)) {
				t.Errorf("through %s: %+v, %v", m.name, r, err)
			}
			if r, err := store.DeleteMatch(once("delete", false), m.node, triple.Pattern{Predicate: all[0].Predicate}); !errors.Is(err, store.ErrBegun) {
				t.Errorf("through %s: %+v, %v", m.name, r, err)
			}
		}
		w.mustHave(setOf(all[:1]))
		if r, err := store.Add(once("another", false), w.any().node, all); err != nil || r.Added != int64(len(all)-1) {
			t.Errorf("under another key: %+v, %v", r, err)
		}
	})
}

// TestRepeatsAreDoneOnce has clients change the same few triples under keys and send each
// change again until it is acknowledged, through other nodes, while machines lose power,
// restart, are excluded and cut off. Each change takes effect once: the history of each
// triple is that of a register, with one write for all tries of a change.
func TestRepeatsAreDoneOnce(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{3, 5}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) { repeatsAreDoneOnce(t, w) })
		})
	}
}

func repeatsAreDoneOnce(t *testing.T, w *world) {
	w.form()
	const triples, clients = 4, 5
	all := numbered(0, triples)
	h := &history{events: map[int][]porcupine.Operation{}, unknown: map[int]int{}}
	nodes := make([]atomic.Pointer[cluster.Node], len(w.machines))
	show := func() {
		for i, m := range w.machines {
			nodes[i].Store(m.node)
		}
	}
	show()
	// 1. The clients.
	var running sync.WaitGroup
	var tries atomic.Int64
	ended := make(chan struct{})
	for c := range clients {
		k := &keyed{fmt.Sprint("client ", c), rand.New(rand.NewPCG(w.random.Uint64(), 0)), nodes, h, &tries}
		running.Go(func() {
			for op := 0; ; op++ {
				select {
				case <-ended:
					return
				default:
				}
				i := k.random.IntN(triples)
				k.change(t.Context(), i, all[i], k.random.IntN(2) == 0, fmt.Sprintf("%d/%d", c, op))
				if n := k.any(); n != nil {
					call := h.tick()
					if live, err := holds(t.Context(), n, all[i]); err == nil {
						h.saw(i, live, call, h.tick(), k.name)
					}
				}
				time.Sleep(time.Duration(k.random.Int64N(int64(400 * time.Millisecond)))) // of virtual time
			}
		})
	}
	// 2. The faults.
	for range 8 {
		m := w.any()
		id := m.node.MachineID()
		if w.random.IntN(3) == 0 {
			w.net.Isolate(m.name)
			time.Sleep(time.Duration(w.random.Int64N(int64(20 * time.Second))))
			w.net.Heal()
		} else {
			m.kill()
			show()
			time.Sleep(time.Duration(w.random.Int64N(int64(20 * time.Second))))
			if m.runAgain() {
				w.settle()
			}
			id = m.node.MachineID()
			show()
		}
		w.until("it is a member again, or excluded", func() bool { return w.excluded(m, id) || settled(w.up()) })
		if w.excluded(m, id) {
			nodes[slices.Index(w.machines, m)].Store(nil)
			m.rejoin()
			show()
			w.settle()
		}
	}
	close(ended)
	running.Wait()
	// 3. What they saw.
	for i := range all {
		if live, err := holds(t.Context(), w.any().node, all[i]); err != nil {
			t.Error(err)
		} else {
			h.saw(i, live, h.tick(), h.tick(), "the end")
		}
		if r := porcupine.CheckOperationsTimeout(register, h.events[i], judgeTimeout); r != porcupine.Ok {
			t.Errorf("triple %d: %d operations are %s", i, len(h.events[i]), r)
		}
	}
	if tries.Load() <= h.acknowledged {
		t.Errorf("%d tries of %d changes: nothing was sent again", tries.Load(), h.acknowledged)
	}
	t.Logf("%d changes, %d tries, %d reads", h.acknowledged, tries.Load(), h.reads)
}

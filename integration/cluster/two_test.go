// Two members: each answers reads even if it does not reach the other one.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// pair starts two machines and spreads triples and annotations over them.
func (w *world) pair(copies int) (all []triple.Triple) {
	w.t.Helper()
	w.machines[0].copies = copies
	w.form()
	all = w.spread()
	for _, tr := range all[:20] {
		w.mustNote(w.any(), tr, "a", "noted")
	}
	w.stable()
	sleep(w.t.Context(), 5*time.Second) // until all operations are settled on both
	return all
}

// readsAlone returns an error unless a machine answers all kinds of reads completely within 10
// seconds. The first 20 triples have an annotation.
func (m *machine) readsAlone(all []triple.Triple) error {
	began, ctx := time.Now(), m.world.t.Context()
	// 1. All contents.
	got, err := m.contents(ctx)
	if err != nil {
		return fmt.Errorf("%w after %s", err, time.Since(began))
	}
	if diff := difference(got, setOf(all)); diff != "" {
		return errors.New(diff)
	}
	sn, err := m.node.Reader()
	if err != nil {
		return err
	}
	defer sn.Close()
	// 2. Counts and single annotations.
	for _, tr := range all[:20] {
		for _, p := range append(looks(tr), triple.Pattern{Subject: tr.Subject}, triple.Pattern{Predicate: tr.Predicate}, triple.Pattern{}) {
			want := 0
			for _, other := range all {
				if (p.Subject == (triple.Term{}) || p.Subject == other.Subject) && (p.Predicate == (triple.Term{}) || p.Predicate == other.Predicate) &&
					(p.Object == (triple.Term{}) || p.Object == other.Object) {
					want++
				}
			}
			if n, err := sn.Count(ctx, p); err != nil || int(n) != want {
				return fmt.Errorf("count of %v: %d, want %d: %w", p, n, want, err)
			}
		}
		if note, err := sn.Annotation(ctx, tr, "a"); err != nil || string(note.Bytes()) != "noted" {
			return fmt.Errorf("the annotation of %s: %q, %w", tr, note.Bytes(), err)
		}
	}
	// 3. All rows with their annotations.
	notes := 0
	for row, err := range sn.Match(ctx, triple.Pattern{}, store.ReadOptions{Annotations: true}) {
		if err != nil {
			return err
		}
		notes += len(row.Annotations)
	}
	if took := time.Since(began); notes != 20 || took > 10*time.Second {
		return fmt.Errorf("%d annotations, and the reads took %s", notes, took)
	}
	return nil
}

// The network between two members is cut in one direction or both, amid writes. Both answer
// reads, none acknowledges a write, and the history of each triple is linearizable.
func TestTwoCut(t *testing.T) {
	for _, way := range seed.Choose(t, []string{"both ways", "from the leader", "to the leader"}) {
		t.Run(way, func(t *testing.T) {
			h := &history{events: map[int][]porcupine.Operation{}, unknown: map[int]int{}}
			simulate(t, 2, func(t *testing.T, w *world) {
				h.events, h.unknown = map[int][]porcupine.Operation{}, map[int]int{}
				w.pair(2)
				ctx, cancel := context.WithCancel(t.Context())
				var clients sync.WaitGroup
				defer clients.Wait()
				defer cancel()
				// 1. Clients read and write through both sides.
				var all [2]pairClient
				for side := range all {
					for i := range 3 {
						random := rand.New(rand.NewPCG(w.seed, uint64(10*side+i)))
						clients.Go(func() { all[side].run(ctx, w.machines[side], h, random) })
					}
				}
				// 2. Cut. After 10 s, in which leases end, count for 30 s.
				for range 2 {
					sleep(ctx, time.Duration(2000+w.random.IntN(2000))*time.Millisecond)
					leader := w.leader()
					other := w.others(leader)[0]
					switch way {
					case "both ways":
						w.net.Isolate(leader.name)
					case "from the leader":
						w.net.CutOneWay(leader.name, other.name)
					default:
						w.net.CutOneWay(other.name, leader.name)
					}
					sleep(ctx, 10*time.Second)
					var reads, writes [2]int64
					for side := range all {
						reads[side], writes[side] = all[side].reads.Load(), all[side].writes.Load()
					}
					sleep(ctx, 30*time.Second)
					for side := range all {
						if reads := all[side].reads.Load() - reads[side]; reads < 50 {
							t.Errorf("%d reads through machine %d", reads, side)
						}
						if writes := all[side].writes.Load() - writes[side]; writes > 0 {
							t.Errorf("%d writes through machine %d", writes, side)
						}
					}
					w.net.Heal()
					w.settle()
				}
				sleep(ctx, 5*time.Second)
			})
			if !t.Failed() {
				h.judge(t, newUniverse(pairFacts, pairFacts, 0))
			}
			t.Logf("%d writes, of which %d acknowledged; %d reads", h.writes, h.acknowledged, h.reads)
		})
	}
}

// pairFacts is the number of triples that clients read and write.
const pairFacts = 60

// pairClient counts the answers that clients of one machine got.
type pairClient struct{ reads, writes atomic.Int64 }

func (c *pairClient) run(ctx context.Context, m *machine, h *history, random *rand.Rand) {
	facts := fresh()[:pairFacts]
	for ctx.Err() == nil {
		i, call := random.IntN(pairFacts), h.tick()
		timed, cancel := context.WithTimeout(ctx, time.Second)
		if live := random.IntN(2) == 0; random.IntN(3) > 0 || h.doubtful(i) {
			live, err := m.sees(facts[i], looks(facts[i])[random.IntN(3)])
			if err == nil {
				h.saw(i, live, call, h.tick(), m.name)
				c.reads.Add(1)
			}
		} else {
			var err error
			if live {
				_, err = store.Add(timed, m.node, facts[i:i+1])
			} else {
				_, err = store.Delete(timed, m.node, facts[i:i+1])
			}
			if err == nil || errors.Is(err, store.ErrUnknown) { // after other errors nothing was done
				h.wrote(i, live, call, err == nil, m.name)
			}
			if err == nil {
				c.writes.Add(1)
			}
		}
		cancel()
		time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond) // of virtual time
	}
}

// The graph of links answers without a majority too, from the cells of the member that is left.
func TestTwoLinks(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for range 10 {
			web.change() // gives all pages UIDs
		}
		// A restart makes a new view: the order of several UIDs of a page is known only for
		// earlier views.
		again := w.any()
		web.end(again)
		again.kill()
		again.run(w.others(again)...)
		w.settle()
		w.stable()
		web.open()
		for _, g := range web.graphs {
			web.check(g)
		}
		web.copied()
		dead := w.any()
		left := w.others(dead)[0]
		web.end(dead)
		dead.kill()
		sleep(t.Context(), 5*time.Second)
		if !left.node.NoMajority() {
			t.Fatal("it does not answer reads without a majority")
		}
		web.checkLists(web.graphs[left], 10*time.Second)
		web.checkLabels(web.graphs[left])
		web.check(web.graphs[left])
	})
}

// One of two dies amid writes through the other one, which then answers reads of all that was
// acknowledged. It refuses reads of undecided writes; they are decided when both run.
func TestTwoLoseAmidWrites(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		w.pair(2)
		h := &history{events: map[int][]porcupine.Operation{}, unknown: map[int]int{}}
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		var all [2]pairClient
		dead := w.any()
		left := w.others(dead)[0]
		for i := range 6 {
			clients.Go(func() { all[i%2].run(ctx, left, h, rand.New(rand.NewPCG(w.seed, uint64(i)))) })
		}
		sleep(ctx, 5*time.Second)
		dead.kill()
		sleep(ctx, 20*time.Second)
		cancel()
		clients.Wait()
		// 1. Read each triple without the dead machine.
		answered, undecided := 0, 0
		random := rand.New(rand.NewPCG(w.seed, 9))
		for i, tr := range fresh()[:pairFacts] {
			call := h.tick()
			live, err := left.sees(tr, looks(tr)[random.IntN(3)])
			switch {
			case err == nil:
				h.saw(i, live, call, h.tick(), "after the loss")
				answered++
			case errors.Is(err, store.ErrUnavailable) && strings.Contains(err.Error(), "are undecided"):
				undecided++
			default:
				t.Errorf("%s: %v", tr, err)
			}
		}
		t.Logf("%d answered, %d undecided", answered, undecided)
		if answered < pairFacts/2 {
			t.Errorf("only %d of %d are answered", answered, pairFacts)
		}
		// 2. Read each one when both run. Both reads must fit one history.
		dead.run(left)
		w.settle()
		for i, tr := range fresh()[:pairFacts] {
			call := h.tick()
			live, err := left.sees(tr, looks(tr)[0])
			if err != nil {
				t.Fatal(err)
			}
			h.saw(i, live, call, h.tick(), "at the end")
		}
		h.judge(t, newUniverse(pairFacts, pairFacts, 0))
	})
}

// One of two members shows an operation of the other one while it reads alone. When they reach each other again
// and the operation is still in flight, nobody reads the triple as it was before.
func TestTwoShownThenOpen(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		w.pair(2)
		holder := w.machines[0]
		holder.stop()
		holder.kept = keptFree
		holder.free(10 << 30)
		holder.run()
		w.settle()
		sleep(t.Context(), 5*time.Second)
		// 1. The holder stores an operation, but cannot answer. It reads alone, and shows it.
		tr, o := w.owned(fresh(), func(o owners) bool { return o.spo != holder })
		sequencer := o.spo
		w.net.CutOneWay(holder.name, sequencer.name)
		done := sequencer.add(tr)
		w.until("the holder has it", func() bool { return holder.pends(tr) })
		w.until("the holder shows it", func() bool {
			there, err := holder.sees(tr, looks(tr)[0])
			return err == nil && there
		})
		// 2. They meet again, but the holder's disk is full, so that the operation stays in flight.
		holder.free(keptFree / 8)
		w.until("the holder has no room", func() bool { return holder.store.Room() == store.RoomForNone })
		w.net.Cut(holder.name, sequencer.name)
		w.net.Reset(holder.name, sequencer.name)
		sleep(t.Context(), 2*time.Second)
		w.net.Heal()
		w.settle()
		for range 20 {
			for _, m := range w.machines {
				for i, p := range looks(tr) {
					if there, err := m.sees(tr, p); err == nil && !there {
						t.Fatalf("order %d through %s: it is gone", i, m.name)
					}
				}
			}
		}
		holder.free(10 << 30)
		<-done // its client may have given up
		w.mustSee(sequencer, tr, true, nil)
	})
}

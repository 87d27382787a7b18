// Read counts in a cluster: from every machine, to streams and webhooks, while machines fail.

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

// readCounts sums reads by machine, each batch once.
type readCounts struct {
	reads   map[string]int
	batches map[string]bool
}

// add adds the lines of a batch.
func (c *readCounts) add(lines string) error {
	fresh := map[string]bool{}
	for text := range strings.Lines(lines) {
		var l struct {
			Kind, App, Run string
			Batch, Reads   int
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return err
		}
		batch := fmt.Sprint(l.Run, l.Batch)
		if l.Kind != "read" || c.batches[batch] {
			continue
		}
		fresh[batch] = true
		c.reads[l.App] += l.Reads
	}
	maps.Copy(c.batches, fresh)
	return nil
}

func newReadCounts() *readCounts { return &readCounts{map[string]int{}, map[string]bool{}} }

// readHosts counts the reads of a world's machines, and delivers them to one receiver.
type readHosts struct {
	*world
	counters map[*machine]*readcount.Counter
	managers map[*machine]*subscriptions.Manager

	mu       sync.Mutex
	received *readCounts
}

func (h *readHosts) registry(m *machine) *subscriptions.Registry {
	return &subscriptions.Registry{Store: m.node, Filter: server.Filter, CheckURL: func(string) error { return nil }, Key: []byte("key")}
}

// start counts the reads of a machine that runs, and delivers.
func (h *readHosts) start(m *machine) {
	h.t.Helper()
	registry := h.registry(m)
	h.counters[m] = readcount.Start(readcount.Options{Registry: registry, Logger: h.log.With("machine", m.name)})
	manager, err := subscriptions.Start(subscriptions.Options{Registry: registry, Sender: h, Owns: m.node.Owns, Workers: 4, Logger: h.log.With("machine", m.name)})
	if err != nil {
		h.t.Fatal(err)
	}
	h.managers[m] = manager
}

// stop ends what start began.
func (h *readHosts) stop(m *machine) {
	if c := h.counters[m]; c != nil {
		c.Close()
		h.managers[m].Close()
		delete(h.counters, m)
		delete(h.managers, m)
	}
}

func (h *readHosts) close() {
	for _, m := range h.machines {
		h.stop(m)
	}
}

// Send receives a webhook.
func (h *readHosts) Send(_ context.Context, m *webhook.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.received.add(string(m.Body))
}

// begin forms a cluster with a subscription of kind read, and waits until all machines count.
func (h *readHosts) begin() {
	h.t.Helper()
	h.form()
	h.mustAdd(h.any(), exTriple("a", "likes", "b"), exTriple("b", "likes", "c"))
	for _, m := range h.machines {
		h.start(m)
	}
	h.must("subscribe", func(ctx context.Context) error {
		d := subscriptions.Definition{Name: "reads", URL: "https://ex/", Filter: map[string]string{"kinds": "read", "p": "<" + ex + "likes>"}}
		_, err := h.registry(h.any()).Put(ctx, subscriptions.Caller{}, d, "0")
		return err
	})
	for _, m := range h.machines {
		h.until(m.name+" counts", h.counters[m].Active)
	}
}

// read reads through a machine, as a client that is named after it.
func (h *readHosts) read(m *machine, times int) {
	h.t.Helper()
	caller := readcount.Caller{Kind: "application", Application: m.name}
	for range times {
		h.must("read", func(ctx context.Context) error {
			r, err := m.node.Reader()
			if err != nil {
				return err
			}
			r = h.counters[m].Observe(r, caller)
			defer r.Close()
			for _, err := range r.Match(ctx, triple.Pattern{Predicate: triple.NewIRI(ex + "likes")}, store.ReadOptions{}) {
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// fed returns the counts that the feed has, seen from a machine.
func (h *readHosts) fed(m *machine) (sums map[string]int) {
	h.t.Helper()
	h.must("read the feed", func(ctx context.Context) error {
		c := newReadCounts()
		f := subscriptions.FeedFilter("reads", feed.Filter{Kinds: []feed.Kind{feed.Read}})
		for b, err := range m.node.Feed().Changes(ctx, feed.Request{Filter: f}) {
			if err != nil {
				return err
			}
			for i := range b.Changes {
				var lines []byte
				for _, read := range b.Changes[i].Reads() {
					if lines, err = read.AppendJSON(lines, b.Time, ""); err != nil {
						return err
					}
					lines = append(lines, '\n')
				}
				if err := c.add(string(lines)); err != nil {
					return err
				}
			}
		}
		sums = c.reads
		return nil
	})
	return sums
}

// accepted returns the counts that the receiver has.
func (h *readHosts) accepted() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.received.reads)
}

func simulateReads(t *testing.T, machines int, f func(h *readHosts)) {
	simulate(t, machines, func(_ *testing.T, w *world) {
		h := &readHosts{world: w, counters: map[*machine]*readcount.Counter{}, managers: map[*machine]*subscriptions.Manager{}, received: newReadCounts()}
		defer h.close()
		f(h)
	})
}

// TestReads checks that reads through every machine arrive once, at the webhook and in the feed of
// every machine.
func TestReads(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{2, 4}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulateReads(t, machines, func(h *readHosts) {
				h.begin()
				want := map[string]int{}
				for round := range 3 {
					for i, m := range h.machines {
						h.read(m, 5+i)
						want[m.name] += 5 + i
					}
					time.Sleep(time.Duration(round*700) * time.Millisecond) // of virtual time: other batches
				}
				h.until("all reads are delivered", func() bool { return maps.Equal(h.accepted(), want) })
				for _, m := range h.machines {
					if got := h.fed(m); !maps.Equal(got, want) {
						h.t.Errorf("%s: %v, want %v", m.name, got, want)
					}
				}
				// Deliveries and states are no reads: nothing comes any more.
				time.Sleep(10 * time.Second)
				if got := h.accepted(); !maps.Equal(got, want) {
					h.t.Errorf("%v, want %v", got, want)
				}
			})
		})
	}
}

// TestReadsOfKilledMachine checks that a machine that loses its power loses the counts of its last
// interval only, and that the deliveries continue on another one.
func TestReadsOfKilledMachine(t *testing.T) {
	simulateReads(t, 4, func(h *readHosts) {
		h.begin()
		victim := h.machines[h.random.IntN(len(h.machines))]
		want := map[string]int{}
		for _, m := range h.machines {
			h.read(m, 10)
			want[m.name] = 10
		}
		h.until("the counts are stored", func() bool { return maps.Equal(h.fed(h.any()), want) })
		// 1. These are in the victim's memory, and go with it.
		h.read(victim, 3)
		c, manager := h.counters[victim], h.managers[victim]
		delete(h.counters, victim)
		delete(h.managers, victim)
		victim.kill()
		c.Close()
		manager.Close()
		// 2. The others count and deliver all.
		for _, m := range h.up() {
			h.read(m, 4)
			want[m.name] += 4
		}
		h.until("all others are delivered", func() bool {
			got := h.accepted()
			lost := got[victim.name]
			delete(got, victim.name)
			rest := maps.Clone(want)
			delete(rest, victim.name)
			return maps.Equal(got, rest) && (lost == 10 || lost == 13)
		})
	})
}

// TestReadsOfPartedMachine checks that counts wait while a machine does not reach the others, and
// arrive once when it does.
func TestReadsOfPartedMachine(t *testing.T) {
	simulateReads(t, 3, func(h *readHosts) {
		h.begin()
		parted := h.machines[h.random.IntN(len(h.machines))]
		want := map[string]int{}
		for range 5 {
			for _, m := range h.machines {
				h.read(m, 2)
				want[m.name] += 2
			}
			h.net.Isolate(parted.name)
			time.Sleep(time.Duration(300+h.random.IntN(600)) * time.Millisecond) // shorter than a lease
			h.net.Heal()
			h.until("it has a lease", func() bool { return parted.node.Lease() == nil })
		}
		h.until("all reads are delivered", func() bool { return maps.Equal(h.accepted(), want) })
		if got := h.fed(parted); !maps.Equal(got, want) {
			h.t.Errorf("%v, want %v", got, want)
		}
	})
}

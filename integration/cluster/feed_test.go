// The change feed of clusters.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

// consumer derives the triples of a cluster from its change feed.
type consumer struct {
	t     *testing.T
	since feed.Position
	live  map[triple.Triple]bool
	// stamps are of the last change of each triple, or of each annotation of it.
	stamps  map[string]triple.Stamp
	notes   map[triple.Triple]map[string]string
	loads   []string
	changes int
	repeats int
}

func newConsumer(t *testing.T, since feed.Position) *consumer {
	return &consumer{t: t, since: since, live: map[triple.Triple]bool{}, stamps: map[string]triple.Stamp{}, notes: map[triple.Triple]map[string]string{}}
}

// read reads up to the present end through a machine.
func (c *consumer) read(m *machine) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	for b, err := range m.node.Feed().Changes(ctx, feed.Request{Since: c.since}) {
		if err != nil {
			c.t.Fatalf("read the feed through %s: %v", m.name, err)
		}
		c.take(b)
	}
}

// follow reads through a node until ctx ends or the feed fails.
func (c *consumer) follow(ctx context.Context, n *cluster.Node) error {
	for b, err := range n.Feed().Changes(ctx, feed.Request{Since: c.since, Follow: true, Heartbeat: time.Second}) {
		if err != nil {
			return err
		}
		c.take(b)
	}
	return nil
}

// take applies a batch. Stamps must not descend: a change may come again only after a failure.
func (c *consumer) take(b *feed.Batch) {
	for i := range b.Changes {
		change := &b.Changes[i]
		c.changes++
		if change.Kind == feed.Load {
			c.loads = append(c.loads, change.Load.ID)
			continue
		}
		tr, err := change.Triple()
		if err != nil {
			c.t.Errorf("the triple of a change: %v", err)
			continue
		}
		key := string(change.Key)
		switch before := c.stamps[key]; {
		case change.Stamp.Less(before):
			c.t.Errorf("%s of %v has the stamp %v, the change before %v", change.Kind, tr, change.Stamp, before)
		case change.Stamp == before:
			c.repeats++
		}
		c.stamps[key] = change.Stamp
		switch change.Kind {
		case feed.Add:
			c.live[tr] = true
		case feed.Delete:
			delete(c.live, tr)
			delete(c.notes, tr)
		case feed.Annotate:
			if c.notes[tr] == nil {
				c.notes[tr] = map[string]string{}
			}
			c.notes[tr][change.Annotation.ApplicationID] = string(change.Annotation.Data)
		}
	}
	text, err := feed.ParsePosition(b.Position.String())
	if err != nil {
		c.t.Error(err)
	}
	c.since = text
}

// mustHave fails the test unless the feed led to the triples of the store.
func (c *consumer) mustHave(w *world) {
	c.t.Helper()
	stored := map[triple.Triple]bool{}
	w.eventually("read all", func(ctx context.Context) error {
		clear(stored)
		r, err := w.any().node.Reader()
		if err != nil {
			return err
		}
		defer r.Close()
		for row, err := range r.Match(ctx, triple.Pattern{}, store.ReadOptions{}) {
			if err != nil {
				return err
			}
			tr, err := row.Triple()
			if err != nil {
				return err
			}
			stored[tr] = true
		}
		return nil
	})
	for tr := range stored {
		if !c.live[tr] {
			c.t.Errorf("the store has %v, the feed has not", tr)
		}
	}
	for tr := range c.live {
		if !stored[tr] {
			c.t.Errorf("the feed has %v, the store has not", tr)
		}
	}
}

func position(t *testing.T, m *machine) feed.Position {
	t.Helper()
	p, err := m.node.Feed().Position(t.Context())
	require.NoError(t, err)
	return p
}

// gone returns the reason if the feed does not reach back to a position, else "".
func gone(t *testing.T, m *machine, since feed.Position) string {
	t.Helper()
	for _, err := range m.node.Feed().Changes(t.Context(), feed.Request{Since: since}) {
		var reason *feed.GoneError
		if errors.As(err, &reason) {
			if reason.Continue.IsZero() {
				t.Errorf("no position to continue at: %v", err)
			}
			return reason.Reason
		}
		require.NoError(t, err)
	}
	return ""
}

func feedTriple(i, j int) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://feed/%d", i)), Predicate: triple.NewIRI("http://feed/p"), Object: triple.NewTyped(strconv.Itoa(j), triple.XSDInteger)}
}

// TestFeedFollows: consumers on all machines receive all changes through all machines, soon after
// they are acknowledged.
func TestFeedFollows(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{2, 4}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				w.form()
				begin := position(t, w.machines[0])
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				var all []*consumer
				for _, m := range w.machines {
					c := newConsumer(t, begin)
					all = append(all, c)
					running.Go(func() {
						if err := c.follow(ctx, m.node); err != nil {
							t.Error(err)
						}
					})
				}
				for i := range 40 {
					m := w.machines[i%machines]
					w.mustAdd(m, feedTriple(i, 1), feedTriple(i, 2), feedTriple(0, 9))
					if i%3 == 0 {
						w.mustDelete(m, feedTriple(i, 1), feedTriple(0, 9))
					}
				}
				time.Sleep(20 * time.Millisecond) // of virtual time: the bound of the latency
				cancel()
				running.Wait()
				for _, c := range all {
					c.mustHave(w)
				}
				// A reader that does not follow ends with the same, and its position covers all.
				c := newConsumer(t, begin)
				c.read(w.any())
				c.mustHave(w)
				if again := newConsumer(t, c.since); true {
					if again.read(w.any()); again.changes > 0 {
						t.Errorf("%d changes behind the end", again.changes)
					}
				}
			})
		})
	}
}

// TestFeedSurvivesTwo: while clients write, two of five machines lose their power. A consumer that
// continues through another machine has every acknowledged change.
func TestFeedSurvivesTwo(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		first := newConsumer(t, position(t, w.machines[0]))
		late := newConsumer(t, first.since) // reads only when all is over
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		node := w.machines[0].node
		following.Go(func() { _ = first.follow(ctx, node) })
		var acked []triple.Triple
		var mu sync.Mutex
		var writers sync.WaitGroup
		for n := range 4 {
			writers.Go(func() {
				for i := range 60 {
					m := w.machines[2+(n+i)%3]
					tr := feedTriple(n, i)
					wait, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					if _, err := store.Add(wait, m.node, []triple.Triple{tr}); err == nil {
						mu.Lock()
						acked = append(acked, tr)
						mu.Unlock()
					}
					cancel()
				}
			})
		}
		time.Sleep(time.Duration(1+w.random.IntN(40)) * time.Millisecond)
		w.machines[0].kill()
		w.machines[1].kill()
		writers.Wait()
		cancel()
		following.Wait()
		for _, c := range []*consumer{first, late} {
			c.read(w.machines[2+w.random.IntN(3)])
			for _, tr := range acked {
				if !c.live[tr] {
					t.Errorf("acknowledged %v is missing", tr)
				}
			}
			c.mustHave(w)
		}
		t.Logf("%d acknowledged, %d changes, %d again", len(acked), late.changes, first.repeats)
	})
}

// TestFeedOfMembersThatLeave: the feed of a position reaches back until three machines have left the
// cluster since. Then it is gone, not shorter.
func TestFeedOfMembersThatLeave(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		begin := position(t, w.machines[0])
		for i := range 30 {
			w.mustAdd(w.any(), feedTriple(i, i))
		}
		var after feed.Position
		for n, m := range w.machines[:3] {
			c := newConsumer(t, begin)
			c.read(w.any())
			c.mustHave(w)
			m.kill()
			w.settle()
			w.mustAdd(w.any(), feedTriple(100, n))
			if n == 0 {
				after = position(t, w.any())
			}
		}
		if reason := gone(t, w.any(), begin); reason == "" {
			t.Error("three machines have left, and the position is not gone")
		}
		c := newConsumer(t, after)
		c.read(w.any())
		if !c.live[feedTriple(100, 2)] || c.changes > 3 {
			t.Errorf("behind the first loss: %d changes", c.changes)
		}
	})
}

// TestFeedBlankDisk: a machine comes back with a blank disk at its former address, as a new machine. It must
// not answer for the former one, because a consumer would take its empty log for that one's.
func TestFeedBlankDisk(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.form()
		c := newConsumer(t, position(t, w.any()))
		w.mustAdd(w.any(), numbered(0, 100)...)
		m := w.machines[w.random.IntN(4)]
		id := m.node.MachineID()
		m.kill()
		m.disk = memdisk.New()
		m.run(w.up()...)
		if w.others(m)[0].node.View().Find(id) == nil {
			w.notATest("the former machine is excluded already")
		}
		through := w.others(m)[0]
		following := w.background(func(ctx context.Context) { _ = c.follow(ctx, through.node) })
		w.until("the former machine is excluded", func() bool { return through.node.View().Find(id) == nil })
		following.end()
		c.read(through)
		c.mustHave(w)
	})
}

// TestFeedRetention: a position before what the logs keep is gone, from any machine.
func TestFeedRetention(t *testing.T) {
	seed.Long(t)
	simulate(t, 3, func(t *testing.T, w *world) {
		w.adjust = func(o *store.Options, _ *replica.Options, _ *cluster.Config) {
			o.FeedRetention = changefeed.Retention{Age: 3 * time.Minute}
		}
		w.form()
		begin := position(t, w.machines[0])
		w.mustAdd(w.any(), feedTriple(1, 1))
		for range 15 {
			time.Sleep(36 * time.Second)
			for i := range 40 {
				w.mustAdd(w.any(), feedTriple(2, i))
				w.mustDelete(w.any(), feedTriple(2, i))
			}
		}
		for _, m := range w.machines {
			if gone(t, m, begin) == "" {
				t.Errorf("%s has a feed from the begin", m.name)
			}
		}
		// The oldest position is not gone.
		c := newConsumer(t, feed.Position{})
		c.read(w.any())
		if c.changes == 0 {
			t.Error("no change is kept")
		}
	})
}

// TestFeedAfterPowerLoss: all machines lose their power, start again, and move data. The feed goes
// on at old positions.
func TestFeedAfterPowerLoss(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.form()
		c := newConsumer(t, position(t, w.machines[0]))
		whole := newConsumer(t, c.since)
		for round := range 3 {
			for i := range 20 {
				w.mustAdd(w.any(), feedTriple(round, i))
				if i%4 == 0 {
					w.mustDelete(w.any(), feedTriple(round, i))
				}
			}
			switch round {
			case 0:
				for _, m := range w.machines {
					m.kill()
				}
				for i, m := range w.machines {
					m.run(slices.Delete(slices.Clone(w.machines), i, i+1)...)
				}
			case 1:
				w.add().run(w.machines[0])
			}
			w.settle()
			c.read(w.any())
			c.mustHave(w)
		}
		whole.read(w.any())
		whole.mustHave(w)
	})
}

// TestFeedContract: a program sees the same feed through any member of a cluster as of a lone store.
func TestFeedContract(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{2, 4}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				w.form()
				storetest.TestFeed(t, w.seed, func(*testing.T) store.Triples { return w.any().node })
			})
		})
	}
}

// TestFeedOfLoneStore: a consumer of a lone store continues when the store becomes a cluster, on any
// machine of it.
func TestFeedOfLoneStore(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		first := w.machines[0]
		first.run()
		begin := position(t, first)
		for i := range 20 {
			w.mustAdd(first, feedTriple(0, i), feedTriple(1, i))
			w.mustDelete(first, feedTriple(1, i))
		}
		middle := newConsumer(t, begin)
		middle.read(first)
		if middle.since.Epoch != begin.Epoch {
			t.Fatalf("a lone store's position is %+v, before %+v", middle.since, begin)
		}
		following := newConsumer(t, begin)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := following.follow(ctx, first.node); err != nil {
				t.Error(err)
			}
		})
		w.mustDelete(first, feedTriple(0, 3))
		// A request of several messages.
		var many []triple.Triple
		for i := range 12_000 {
			many = append(many, feedTriple(9, i))
		}
		w.mustAdd(first, many...)
		w.machines[1].run(first)
		w.machines[2].run(first)
		w.settle()
		w.mustAdd(w.machines[1], feedTriple(7, 7))
		time.Sleep(time.Second)
		cancel()
		running.Wait()
		following.mustHave(w)
		for _, m := range w.machines {
			whole, rest, zero := newConsumer(t, begin), newConsumer(t, middle.since), newConsumer(t, feed.Position{})
			for _, c := range []*consumer{whole, rest, zero} {
				c.read(m)
			}
			whole.mustHave(w)
			zero.mustHave(w)
			if rest.changes != 2+len(many) || rest.repeats > 0 {
				t.Errorf("%s: %d changes after the middle, want %d; %d come again", m.name, rest.changes, 2+len(many), rest.repeats)
			}
		}
		// Without the founder its time before the cluster is gone, and later positions are not.
		first.kill()
		w.settle()
		if gone(t, w.any(), begin) == "" {
			t.Error("the founder has left, and the position is not gone")
		}
		w.mustAdd(w.any(), feedTriple(8, 8))
		following.read(w.any())
		following.mustHave(w)
	})
}

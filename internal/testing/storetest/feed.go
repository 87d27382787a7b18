// The conformance test of change feeds.

package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// TestFeed checks the promises of package feed on a store in which no machine fails. It calls open
// for each part, like [TestTriples], and has no subtests. seed makes its random choices.
func TestFeed(t *testing.T, seed uint64, open func(t *testing.T) store.Triples) {
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	for _, part := range []struct {
		name  string
		check func(c *feedChecker)
	}{
		{"history", (*feedChecker).history},
		{"resumption", (*feedChecker).resumption},
		{"filters", (*feedChecker).filters},
		{"skips", (*feedChecker).skips},
		{"long terms", (*feedChecker).longTerms},
		{"followers", (*feedChecker).followers},
		{"positions", (*feedChecker).positions},
	} {
		s := open(t)
		c := &feedChecker{checker: checker{t: t, part: "feed: " + part.name, ctx: t.Context(), s: s}, feed: s.Feed(), random: rand.New(rand.NewPCG(seed, 0))}
		if _, err := store.Apply(c.ctx, s, store.Steps{ClearAll: true}); err != nil {
			t.Fatalf("%s: clear: %v", part.name, err)
		}
		part.check(c)
	}
}

// feedChecker checks one part of the promises.
type feedChecker struct {
	checker
	feed   feed.Source
	random *rand.Rand
}

func (c *feedChecker) end() feed.Position {
	c.t.Helper()
	p, err := c.feed.Position(c.ctx)
	c.must("position", err)
	return p
}

// read returns the changes of a request that does not follow, and the position behind them. The
// changes are copies.
func (c *feedChecker) read(r feed.Request) (all []feed.Change, end feed.Position) {
	c.t.Helper()
	end = r.Since
	for b, err := range c.feed.Changes(c.ctx, r) {
		c.must("read the feed", err)
		for i := range b.Changes {
			all = append(all, clone(&b.Changes[i]))
		}
		if b.Time.IsZero() {
			c.errorf("a batch without a time")
		}
		end = b.Position
	}
	return all, end
}

// clone copies what the next step of the iteration overwrites.
func clone(c *feed.Change) feed.Change {
	d := *c
	d.Key, d.Long = slices.Clone(c.Key), slices.Clone(c.Long)
	if c.Annotation != nil {
		a := *c.Annotation
		a.Data = slices.Clone(a.Data)
		d.Annotation = &a
	}
	return d
}

// replay is the state that a consumer has derived from the feed.
type replay struct {
	c      *feedChecker
	state  map[triple.Triple]map[string]string // annotations by triple
	stamps map[triple.Triple]triple.Stamp      // of the last change of each triple
	loads  [][]triple.Triple                   // what the next loads have
}

func (c *feedChecker) newReplay() *replay {
	return &replay{c: c, state: map[triple.Triple]map[string]string{}, stamps: map[triple.Triple]triple.Stamp{}}
}

// apply applies a change. Of one triple, adds and deletes must alternate, and stamps must not descend.
func (r *replay) apply(change *feed.Change) {
	r.c.t.Helper()
	// 1. Loads and clears concern many triples.
	switch change.Kind {
	case feed.Load:
		if len(r.loads) == 0 {
			r.c.t.Fatalf("%s: an unexpected load %+v", r.c.part, change.Load)
		}
		for _, t := range r.loads[0] {
			if r.state[t] == nil {
				r.state[t] = map[string]string{}
			}
		}
		r.loads = r.loads[1:]
		return
	case feed.Clear:
		maps.DeleteFunc(r.state, func(t triple.Triple, _ map[string]string) bool {
			return change.Clear.All || t.Graph.IsZero() && change.Clear.Default || slices.Contains(change.Clear.Graphs, t.Graph)
		})
		return
	}
	// 2. The change must fit to those before.
	t, err := change.Triple()
	r.c.must("triple of a change", err)
	if change.Stamp.Less(r.stamps[t]) {
		r.c.errorf("%s of %v: its stamp %v is older than that of the change before, %v", change.Kind, t, change.Stamp, r.stamps[t])
	}
	r.stamps[t] = change.Stamp
	exists := r.state[t] != nil
	if exists == (change.Kind == feed.Add) {
		// A sequencer whose places are being filled may stamp what changes nothing. Then the triple
		// stays as it is, with its annotations. A lone store is always certain.
		if change.Sequencer != 0 {
			return
		}
		r.c.errorf("%s of %v, which exists: %v", change.Kind, t, exists)
	}
	switch {
	case change.Kind == feed.Add:
		r.state[t] = map[string]string{}
	case change.Kind == feed.Delete:
		delete(r.state, t)
	case exists && change.Annotation.Removed:
		delete(r.state[t], change.Annotation.ApplicationID)
	case exists:
		r.state[t][change.Annotation.ApplicationID] = string(change.Annotation.Data)
	}
}

// compareState compares the state with that of the store.
func (r *replay) compareState(what string) {
	r.c.t.Helper()
	reader := r.c.reader()
	defer reader.Close()
	got, err := rows(reader.Range(r.c.ctx, triple.Bounds{Order: triple.SPO}, store.ReadOptions{Annotations: true}))
	r.c.must("read all", err)
	for _, row := range got {
		annotations := map[string]string{}
		for _, a := range row.annotations {
			annotations[a.ApplicationID] = string(a.Data)
		}
		if want := r.state[row.t]; want == nil || !maps.Equal(want, annotations) {
			r.c.errorf("%s: the store has %v with %v, the feed %v", what, row.t, annotations, want)
		}
	}
	if len(got) != len(r.state) {
		r.c.errorf("%s: the store has %d triples, the feed %d", what, len(got), len(r.state))
	}
}

// change makes a random change of a few triples.
func (c *feedChecker) change(random *rand.Rand, of []triple.Triple) {
	var some []triple.Triple
	for range 1 + random.IntN(8) {
		some = append(some, of[random.IntN(len(of))])
	}
	// Adds are the most frequent, so that there is something to delete and annotate.
	var err error
	switch n := random.IntN(12); {
	case n < 5:
		_, err = store.Add(c.ctx, c.s, some)
	case n < 7:
		_, err = store.Delete(c.ctx, c.s, some)
	case n < 8:
		_, err = store.Apply(c.ctx, c.s, store.Steps{Delete: slices.Values(some), Add: slices.Values(some[:1+len(some)/2])})
	case n < 9:
		_, err = store.DeleteMatch(c.ctx, c.s, triple.Pattern{Subject: some[0].Subject, Predicate: some[0].Predicate})
	default:
		var data []byte
		if n < 11 {
			data = fmt.Append(nil, random.IntN(3))
		}
		if err = store.Annotate(c.ctx, c.s, some[0], fmt.Sprint("app", random.IntN(2)), data); errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		c.errorf("change: %v", err)
	}
}

// history: a consumer that applies the feed has the contents of the store. Several writers change
// the same triples at the same time. Then graphs are cleared, and a file is loaded.
func (c *feedChecker) history() {
	// 1. Change triples from several goroutines, then clear and load.
	begin := c.end()
	all := sample(60)
	var writers sync.WaitGroup
	for range 3 {
		random := rand.New(rand.NewPCG(c.random.Uint64(), 0))
		writers.Go(func() {
			for range 40 {
				c.change(random, all)
			}
		})
	}
	writers.Wait()
	_, err := store.Apply(c.ctx, c.s, store.Steps{ClearGraphs: []triple.Term{iri("g0")}})
	c.must("clear a graph", err)
	r := c.newReplay()
	loaded := sample(200)[100:]
	c.load(loaded)
	r.loads = append(r.loads, loaded)
	c.change(c.random, all)
	_, err = store.Apply(c.ctx, c.s, store.Steps{ClearDefault: true, Add: slices.Values(all[:5])})
	c.must("clear the default graph", err)
	// 2. Apply the feed, and compare.
	changes, end := c.read(feed.Request{Since: begin})
	for i := range changes {
		r.apply(&changes[i])
	}
	r.compareState("after all")
	if len(r.loads) > 0 {
		c.errorf("the load is missing")
	}
	if more, _ := c.read(feed.Request{Since: end}); len(more) > 0 {
		c.errorf("%d changes after the end", len(more))
	}
}

// load loads triples as a file.
func (c *feedChecker) load(all []triple.Triple) {
	c.t.Helper()
	var text strings.Builder
	for i := range all {
		text.Write(triple.AppendNQuad(nil, all[i]))
	}
	source := input.Document("changes.nq", strings.NewReader(text.String()), int64(text.Len()), syntax.NQuads)
	_, err := rdfload.Load(c.ctx, c.s.Sink(), []input.Source{source}, rdfload.Options{Memory: rdfload.MinMemory, Workers: 1})
	c.must("load", err)
}

// identity identifies a change.
func identity(change *feed.Change) string {
	text := fmt.Sprint(change.Kind, change.Stamp, change.Sequencer, string(change.Key))
	if change.Annotation != nil {
		text += change.Annotation.ApplicationID
	}
	return text
}

// resumption: a consumer that stops anywhere, and continues at its position, misses nothing. It
// receives changes again only if it has no position behind them.
func (c *feedChecker) resumption() {
	begin := c.end()
	all := sample(80)
	for range 50 {
		c.change(c.random, all)
	}
	want, _ := c.read(feed.Request{Since: begin})
	for range 10 {
		since, seen := begin, map[string]bool{}
		r := c.newReplay()
		for done := false; !done; {
			done = true
			steps := 1 + c.random.IntN(4)
			for b, err := range c.feed.Changes(c.ctx, feed.Request{Since: since, MaxBytes: 1 + c.random.IntN(2000)}) {
				c.must("read the feed", err)
				for i := range b.Changes {
					if id := identity(&b.Changes[i]); !seen[id] {
						seen[id] = true
						r.apply(&b.Changes[i])
					}
				}
				position, err := feed.ParsePosition(b.Position.String())
				c.must("parse a position", err)
				// A batch may end within a request. Then the position does not move, and the
				// consumer must read on.
				if moved := position.String() != since.String(); steps <= 0 && moved {
					since, done = position, false
					break
				}
				since = position
				steps--
			}
		}
		for i := range want {
			if !seen[identity(&want[i])] {
				c.errorf("%s %v of % X is missing", want[i].Kind, want[i].Stamp, want[i].Key)
			}
		}
		r.compareState("after interruptions")
	}
}

// filters: a filter selects exactly the changes that it matches.
func (c *feedChecker) filters() {
	begin := c.end()
	all := sample(60)
	for range 60 {
		c.change(c.random, all)
	}
	// Read all changes and select them here, then compare with what the feed selects.
	whole, end := c.read(feed.Request{Since: begin})
	for _, f := range []feed.Filter{
		{Pattern: triple.Pattern{Predicate: all[1].Predicate}},
		{Pattern: triple.Pattern{Subject: all[2].Subject}, Kinds: []feed.Kind{feed.Add}},
		{Pattern: triple.Pattern{DefaultGraph: true}, Kinds: []feed.Kind{feed.Delete, feed.Annotate}},
		{Bounds: &triple.Bounds{Order: triple.POS, Prefix: []triple.Term{all[0].Predicate}, LE: triple.NewTyped("30", triple.XSDInteger)}},
		{Pattern: triple.Pattern{Subject: iri("nobody")}},
	} {
		m, err := feed.NewMatcher(f)
		c.must("filter", err)
		want := map[string]int{}
		for i := range whole {
			ok, err := m.Match(&whole[i])
			c.must("match", err)
			if ok {
				want[identity(&whole[i])]++
			}
		}
		got := map[string]int{}
		some, last := c.read(feed.Request{Since: begin, Filter: f})
		for i := range some {
			got[identity(&some[i])]++
		}
		if !maps.Equal(got, want) {
			c.errorf("filter %+v: %d changes, want %d", f, len(got), len(want))
		}
		if last.String() != end.String() {
			c.errorf("filter %+v: the position is %+v, want %+v", f, last, end)
		}
	}
}

// longTerms: changes of triples with long terms have them.
func (c *feedChecker) longTerms() {
	begin := c.end()
	long := triple.Triple{Subject: iri("s"), Predicate: iri("p"), Object: triple.NewString(strings.Repeat("long ", 1000))}
	c.add(long)
	c.must("annotate", store.Annotate(c.ctx, c.s, long, "app", []byte("data")))
	_, err := store.Delete(c.ctx, c.s, []triple.Triple{long})
	c.must("delete", err)
	c.add(long)
	_, err = store.DeleteMatch(c.ctx, c.s, triple.Pattern{Subject: long.Subject})
	c.must("delete by pattern", err)
	changes, _ := c.read(feed.Request{Since: begin})
	kinds := []feed.Kind{feed.Add, feed.Annotate, feed.Delete, feed.Add, feed.Delete}
	for i, kind := range kinds {
		if len(changes) != len(kinds) || changes[i].Kind != kind {
			c.t.Fatalf("%s: %d changes, number %d is not of kind %s", c.part, len(changes), i, kind)
		}
		t, err := changes[i].Triple()
		if err != nil || t != long {
			c.errorf("%s: %.60v, %v", kind, t, err)
		}
	}
}

// skips: the position moves while the filter selects nothing, because a consumer that breaks off must
// not read all of that again.
func (c *feedChecker) skips() {
	since := c.end()
	for _, t := range sample(8) {
		c.add(t)
	}
	batches := 0
	nothing := feed.Filter{Pattern: triple.Pattern{Subject: triple.NewIRI("http://example.org/nothing")}}
	for b, err := range c.feed.Changes(c.ctx, feed.Request{Since: since, Filter: nothing, MaxBytes: 1}) {
		c.must("read the feed", err)
		if batches++; len(b.Changes) > 0 {
			c.errorf("a filter that selects nothing: %d changes", len(b.Changes))
		}
	}
	if batches < 4 {
		c.errorf("%d batches over 8 changes that the filter does not select", batches)
	}
}

// followers: consumers that wait get each change, and heartbeats between. One that does not read
// delays no other request. A context ends them without an error.
func (c *feedChecker) followers() {
	const consumers = 4
	begin, all := c.end(), sample(40)
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	// 1. A consumer that begins and then does not read.
	next, stop := iter.Pull2(c.feed.Changes(ctx, feed.Request{Since: begin, Follow: true, Heartbeat: time.Millisecond}))
	if _, err, ok := next(); !ok || err != nil {
		c.errorf("no heartbeat: %v", err)
	}
	defer stop()
	// 2. Consumers that read until they have the last triple.
	last := triple.Triple{Subject: iri("last"), Predicate: iri("p"), Object: iri("o")}
	lastKey, _ := triple.AppendKey(nil, triple.SPO, last)
	var running sync.WaitGroup
	counts := make([]int, consumers)
	for i := range consumers {
		running.Go(func() {
			for b, err := range c.feed.Changes(ctx, feed.Request{Since: begin, Follow: true, Heartbeat: time.Minute}) {
				if err != nil {
					c.errorf("follow: %v", err)
					return
				}
				counts[i] += len(b.Changes)
				for j := range b.Changes {
					if slices.Equal(b.Changes[j].Key, lastKey) {
						return
					}
				}
			}
			c.errorf("a consumer ended by itself")
		})
	}
	for range 30 {
		c.change(c.random, all)
	}
	c.add(last)
	running.Wait()
	want, _ := c.read(feed.Request{Since: begin})
	for i, n := range counts {
		// Changes of other sequencers may follow the last triple.
		if n > len(want) || n == 0 {
			c.errorf("consumer %d has %d of %d changes", i, n, len(want))
		}
	}
	// 3. A context ends a waiting consumer without an error.
	waiting, cancelWaiting := context.WithCancel(c.ctx)
	defer cancelWaiting()
	for _, err := range c.feed.Changes(waiting, feed.Request{Since: c.end(), Follow: true, Heartbeat: time.Millisecond}) {
		if err != nil {
			c.errorf("the context has ended, and the consumer: %v", err)
		}
		cancelWaiting()
	}
}

// positions: positions of another store and of the future are errors.
func (c *feedChecker) positions() {
	c.add(sample(3)...)
	p := c.end()
	if p.IsZero() {
		c.errorf("the position of the end is zero")
	}
	// 1. Positions that are not of this store, or not yet.
	foreign, future := p, p.Begin(p.Epoch+1000)
	foreign.Source ^= 1
	soon := p.Clone()
	for i := range soon.Marks {
		soon.Marks[i].Sequence += 1000
	}
	for what, p := range map[string]feed.Position{"another store": foreign, "the future": future, "the same epoch, but the future": soon} {
		n := 0
		for _, err := range c.feed.Changes(c.ctx, feed.Request{Since: p}) {
			n++
			c.fails(what, err, feed.ErrPosition)
		}
		if n != 1 {
			c.errorf("a position of %s has no error", what)
		}
	}
	// 2. The end itself is valid, and nothing is behind it.
	for range 3 {
		if changes, _ := c.read(feed.Request{Since: p}); len(changes) > 0 {
			c.errorf("%d changes behind the end", len(changes))
		}
	}
}

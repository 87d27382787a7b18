// Tests of read counts: from a reader to a webhook.

package subscriptions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

// tally sums the reads that a webhook has accepted, once for each batch.
type tally struct {
	reads, rows, patterns, lines int
	batches                      map[string]bool
}

// accept makes the receiver count the reads of the messages that it accepts.
func (w *world) accept(fail func(m *webhook.Message) error) func(url string) tally {
	tallies := map[string]*tally{}
	w.receiver.fail = func(m *webhook.Message, _ int) error {
		if err := fail(m); err != nil {
			return err
		}
		sum := tallies[m.URL]
		if sum == nil {
			sum = &tally{batches: map[string]bool{}}
			tallies[m.URL] = sum
		}
		fresh := map[string]bool{}
		for text := range strings.Lines(string(m.Body)) {
			var l struct {
				Kind        string
				S           struct{ Value string }
				Reads, Rows int
				Run         string
				Batch       int
			}
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				return err
			}
			batch := fmt.Sprint(l.Run, l.Batch)
			if l.Kind != "read" || sum.batches[batch] {
				continue
			}
			fresh[batch] = true
			sum.lines++
			sum.reads, sum.rows = sum.reads+l.Reads, sum.rows+l.Rows
			if l.S.Value != "" {
				sum.patterns++
			}
		}
		for batch := range fresh {
			sum.batches[batch] = true
		}
		return nil
	}
	return func(name string) tally {
		w.receiver.mu.Lock()
		defer w.receiver.mu.Unlock()
		if sum := tallies["https://ex/"+name]; sum != nil {
			return *sum
		}
		return tally{}
	}
}

// count counts what clients read of a world's store.
func (w *world) count() *readcount.Counter {
	c := readcount.Start(readcount.Options{Registry: w.registry, Every: time.Millisecond})
	w.t.Cleanup(c.Close)
	w.until("the counter is active", c.Active)
	return c
}

// read reads a pattern as a client.
func (w *world) read(c *readcount.Counter, p triple.Pattern) {
	w.t.Helper()
	r, err := w.store.Reader()
	require.NoError(w.t, err)
	r = c.Observe(r, readcount.Caller{Kind: "anonymous"})
	defer r.Close()
	for _, err := range r.Match(w.t.Context(), p, store.ReadOptions{}) {
		require.NoError(w.t, err)
	}
}

// TestReads checks that a webhook gets the reads of 1,000 patterns and the changes that its
// subscription selects, that others get no reads, and that batches start no further deliveries.
func TestReads(t *testing.T) {
	seed.Slow(t)
	w := newWorld(t)
	sums := w.accept(func(*webhook.Message) error { return nil })
	w.start(Options{})
	w.put("both", map[string]string{"kinds": "add,read", "p": "p"})
	w.put("changes", nil)
	w.put("system", map[string]string{"g": systemgraph.IRI})
	c := w.count()
	const n = 1000
	for i := range n {
		w.read(c, triple.Pattern{Subject: iri(fmt.Sprint("s", i))})
		w.read(c, triple.Pattern{Predicate: iri("q")}) // not of a subscription
	}
	w.add(number("p", 1))
	w.until("all reads", func() bool { return sums("both").reads >= n })
	w.until("the change", func() bool { return len(w.receiver.of("changes")) == 1 })
	if got := sums("both"); got.reads != n || got.rows != 0 || got.patterns != n {
		t.Errorf("%+v", got)
	}
	w.until("the count of changes", func() bool { return w.state("both").Changes == int64(sums("both").lines+1) })
	if got := sums("changes"); got.reads != 0 {
		t.Errorf("%+v", got)
	}
	for _, line := range w.receiver.of("system") {
		if strings.HasPrefix(line, "read") {
			t.Error("batches of reads are delivered as changes")
		}
	}
	// What the deliveries themselves read is no read of a client: nothing comes any more.
	delivered := w.state("both").Batches
	w.add(number("p", 2))
	w.until("the next change", func() bool { return len(w.receiver.of("changes")) == 2 && w.state("both").Batches > delivered })
	if got := sums("both").reads; got != n {
		t.Error(got)
	}
}

// TestReadsOfSlowReceivers checks that counts are not lost while a receiver fails, and that one that
// is given up has them as a dead letter, by which the feed has them.
func TestReadsOfSlowReceivers(t *testing.T) {
	w := newWorld(t)
	var broken atomic.Bool
	broken.Store(true)
	sums := w.accept(func(m *webhook.Message) error {
		if broken.Load() || m.URL == "https://ex/dead" {
			return errors.New("receiver is broken")
		}
		return nil
	})
	w.put("slow", map[string]string{"kinds": "read"})
	c := w.count()
	m := w.start(Options{Policy: webhook.Policy{FirstWait: time.Millisecond, MaxWait: 5 * time.Millisecond, MaxTries: 1000}})
	for range 200 {
		w.read(c, triple.Pattern{Predicate: iri("p")})
	}
	w.until("a failure", func() bool { return w.state("slow").Failures > 1 })
	broken.Store(false)
	w.until("all reads", func() bool { return sums("slow").reads >= 200 })
	if got := sums("slow"); got.reads != 200 {
		t.Errorf("%+v", got)
	}
	// Another one is given up.
	m.Close()
	w.start(Options{Policy: webhook.Policy{FirstWait: time.Millisecond, MaxWait: time.Millisecond, MaxTries: 2}})
	w.put("dead", map[string]string{"kinds": "read"})
	w.until("both are counted", func() bool {
		w.read(c, triple.Pattern{Predicate: iri("p")})
		return w.state("dead").DeadLetters > 0
	})
	dead := w.state("dead").Dead[0]
	from, err := feed.ParsePosition(dead.From)
	if err != nil || dead.Changes == 0 {
		t.Fatal(dead, err)
	}
	f := FeedFilter("dead", feed.Filter{Kinds: []feed.Kind{feed.Read}})
	lines := 0
	for b, err := range w.store.Feed().Changes(t.Context(), feed.Request{Since: from, Filter: f}) {
		require.NoError(t, err)
		for i := range b.Changes {
			lines += len(b.Changes[i].Reads())
		}
	}
	if lines < dead.Changes {
		t.Errorf("%d lines, the dead letter had %d", lines, dead.Changes)
	}
}

// TestReadsRow checks what the registry stores of kind read, and its limit.
func TestReadsRow(t *testing.T) {
	w := newWorld(t)
	reads := func() (rows []string) {
		t.Helper()
		list, err := w.registry.Reads(t.Context())
		require.NoError(t, err)
		for _, s := range list {
			rows = append(rows, s.Row.Predicate.Value()+" "+s.Row.Object.Value())
		}
		return rows
	}
	w.put("a", map[string]string{"kinds": "read", "p": "p"})
	if got := reads(); len(got) != 1 || got[0] != `urn:trefoil:subscription:a {"kinds":"read","p":"p"}` {
		t.Error(got)
	}
	w.put("a", map[string]string{"kinds": "read,add", "p": "q"})
	if got := reads(); len(got) != 1 || got[0] != `urn:trefoil:subscription:a {"kinds":"read,add","p":"q"}` {
		t.Error(got)
	}
	w.put("a", map[string]string{"kinds": "add", "p": "q"})
	if got := reads(); len(got) != 0 {
		t.Error(got)
	}
	for i := range readcount.MaxSubscriptions {
		w.put(fmt.Sprint("b", i), map[string]string{"kinds": "read"})
	}
	// One that is refused leaves nothing, new or not.
	before, err := w.registry.count(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"a", "new"} {
		if _, err := w.registry.Put(t.Context(), Caller{}, Definition{Name: name, Filter: map[string]string{"kinds": "read"}}, ""); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	}
	if after, err := w.registry.count(t.Context()); err != nil || after != before {
		t.Errorf("%d subscriptions became %d, %v", before, after, err)
	}
	w.put("b0", map[string]string{"kinds": "read", "p": "p"}) // it counts once
	require.NoError(t, w.registry.Delete(t.Context(), Caller{Operator: true}, "b7"))
	if got := reads(); len(got) != readcount.MaxSubscriptions-1 {
		t.Error(len(got))
	}
}

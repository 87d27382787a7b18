// Tests of patterns, tables and batches.

package readcount

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func iri(name string) triple.Term { return triple.NewIRI("http://ex/" + name) }

func number(n int) triple.Term { return triple.NewTyped(fmt.Sprint(n), triple.XSDInteger) }

// registry keeps the batches that a counter stores, and fails as a store may.
type registry struct {
	list    []Subscription
	batches map[triple.Triple][][]byte
	fail    error // of SaveReads
	stored  bool  // although it fails, it stores
}

func (r *registry) Reads(context.Context) ([]Subscription, error) { return r.list, nil }

func (r *registry) SaveReads(_ context.Context, row triple.Triple, batch []byte) error {
	if r.fail == nil || r.stored {
		r.batches[row] = append(r.batches[row], batch)
	}
	return r.fail
}

func (r *registry) add(name string, f feed.Filter) triple.Triple {
	row := triple.Triple{Subject: iri(name), Predicate: iri("reads"), Object: triple.NewString(name)}
	r.list = append(r.list, Subscription{row, f})
	return row
}

// line is a line of a batch.
type line struct {
	S, P, O     *struct{ Value string }
	G           any
	Default     bool
	Caller, App string
	Other       bool
	Long        []string
	Reads, Rows int64
	First, Last time.Time
	Run         string
	Batch       uint64
}

func parse(t testing.TB, batch []byte) (all []line) {
	t.Helper()
	media, content := triple.CutMedia(batch)
	if media != feed.ReadCountsType {
		t.Fatal(media)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		all = append(all, l)
	}
	return all
}

// newCounter returns a counter whose steps the test makes.
func newCounter(t testing.TB, r *registry) *Counter {
	t.Helper()
	r.batches = map[triple.Triple][][]byte{}
	c := &Counter{registry: r, log: discard, failing: map[string]bool{}, table: table{}, subscriptions: map[triple.Triple]*subscription{}}
	c.refresh(t.Context())
	return c
}

// read counts reads of a pattern.
func (c *Counter) read(p triple.Pattern, rows int64, caller Caller) {
	c.Count(caller, func(yield func(Pattern, int64) bool) { yield(PatternOf(p), rows) })
}

var anonymous = Caller{Kind: "anonymous"}

// TestOverlaps checks that a filter and a read overlap if a triple is in both, and that others do not
// where the terms or the bounds show it.
func TestOverlaps(t *testing.T) {
	pattern := func(s, p, o, g string) (out triple.Pattern) {
		for _, c := range []struct {
			name string
			into *triple.Term
		}{{s, &out.Subject}, {p, &out.Predicate}, {o, &out.Object}, {g, &out.Graph}} {
			if c.name != "" {
				*c.into = iri(c.name)
			}
		}
		if g == "default" {
			out.Graph, out.DefaultGraph = triple.Term{}, true
		}
		return out
	}
	ages := feed.Filter{Bounds: &triple.Bounds{Order: triple.POS, Prefix: []triple.Term{iri("age")}, GE: number(65)}}
	age := func(n int) triple.Pattern { return triple.Pattern{Predicate: iri("age"), Object: number(n)} }
	for _, test := range []struct {
		filter feed.Filter
		read   triple.Pattern
		want   bool
	}{
		{feed.Filter{}, pattern("", "", "", ""), true},
		{feed.Filter{Pattern: pattern("a", "", "", "")}, pattern("", "p", "", ""), true},
		{feed.Filter{Pattern: pattern("a", "", "", "")}, pattern("b", "", "", ""), false},
		{feed.Filter{Pattern: pattern("a", "p", "", "")}, pattern("a", "q", "", ""), false},
		{feed.Filter{Pattern: pattern("", "", "", "default")}, pattern("", "", "", "g"), false},
		{feed.Filter{Pattern: pattern("", "", "", "g")}, pattern("a", "", "", "default"), false},
		{feed.Filter{Pattern: pattern("", "", "", "default")}, pattern("a", "", "", ""), true},
		{ages, age(70), true},
		{ages, age(64), false},
		{ages, pattern("a", "age", "", ""), true},
		{ages, pattern("", "name", "", ""), false},
		{ages, pattern("a", "", "", ""), true},
		{feed.Filter{Bounds: &triple.Bounds{Order: triple.GSPO}}, pattern("a", "", "", "default"), false},
	} {
		s, err := newSelector(test.filter)
		require.NoError(t, err)
		p := PatternOf(test.read)
		if got := s.overlaps(&p); got != test.want {
			t.Errorf("%+v and %+v: %v", test.filter, test.read, got)
		}
	}
	// A triple in both makes them overlap.
	rapid.Check(t, func(t *rapid.T) {
		term := func(name string, values ...triple.Term) triple.Term {
			return rapid.SampledFrom(values).Draw(t, name)
		}
		one := triple.Triple{Subject: term("s", iri("a"), iri("b")), Predicate: iri("age"), Object: term("o", number(3), number(70), iri("x")), Graph: term("g", triple.Term{}, iri("g"))}
		cover := func(name string) (p triple.Pattern) {
			p = triple.Exact(one)
			bits := rapid.IntRange(0, 15).Draw(t, name)
			for i, at := range []*triple.Term{&p.Subject, &p.Predicate, &p.Object, &p.Graph} {
				if bits&(1<<i) != 0 {
					*at = triple.Term{}
				}
			}
			p.DefaultGraph = p.DefaultGraph && bits&8 == 0
			return p
		}
		f := feed.Filter{Pattern: cover("filter")}
		if rapid.Bool().Draw(t, "bounds") {
			order := rapid.SampledFrom(triple.Orders[:]).Draw(t, "order")
			f.Bounds = &triple.Bounds{Order: order}
			if order == triple.POS && rapid.Bool().Draw(t, "prefix") {
				f.Bounds.Prefix, f.Bounds.GE = []triple.Term{iri("age")}, number(rapid.IntRange(0, 80).Draw(t, "from"))
			}
		}
		m, err := feed.NewMatcher(f)
		require.NoError(t, err)
		key, _ := triple.AppendKey(nil, triple.SPO, one)
		if ok, err := m.Match(&feed.Change{Kind: feed.Add, Key: key}); err != nil || !ok {
			return
		}
		s, err := newSelector(f)
		require.NoError(t, err)
		p := PatternOf(cover("read"))
		if !s.overlaps(&p) {
			t.Fatalf("%+v does not overlap %+v", f, p)
		}
		// The form in a table is the same pattern.
		if back := decodePattern(string(p.appendTo(nil))); !s.overlaps(&back) || !slices.EqualFunc(back.Terms[:], p.Terms[:], bytes.Equal) || back.DefaultGraph != p.DefaultGraph {
			t.Fatalf("%+v became %+v", p, back)
		}
	})
}

// TestBatch checks what a batch has, and that counts of the same pattern are merged.
func TestBatch(t *testing.T) {
	r := &registry{}
	names, all := r.add("names", feed.Filter{Pattern: triple.Pattern{Predicate: iri("name")}}), r.add("all", feed.Filter{})
	c := newCounter(t, r)
	long := triple.NewString(strings.Repeat("x", 5000))
	c.read(triple.Pattern{Predicate: iri("name")}, 3, anonymous)
	c.read(triple.Pattern{Predicate: iri("name")}, 4, anonymous)
	c.read(triple.Pattern{Predicate: iri("name")}, 5, Caller{"application", `shop "1"`})
	c.read(triple.Pattern{Subject: iri("a"), Predicate: iri("age"), DefaultGraph: true}, 1, anonymous)
	c.read(triple.Pattern{Object: long, Graph: iri("g")}, 0, anonymous)
	now := time.Now()
	c.store(t.Context(), now)
	var got []string
	for _, batch := range r.batches[all] {
		for _, l := range parse(t, batch) {
			text := ""
			for _, term := range []*struct{ Value string }{l.S, l.P, l.O} {
				if term == nil {
					term = &struct{ Value string }{"?"}
				}
				text += strings.TrimPrefix(term.Value, "http://ex/") + " "
			}
			if l.Run == "" || l.Batch < 1 || l.Batch > 2 || l.First.After(l.Last) || now.Sub(l.Last) > time.Minute {
				t.Errorf("%+v", l)
			}
			got = append(got, fmt.Sprint(text, l.G, " ", l.Default, l.Long, " ", l.Caller, l.App, " ", l.Reads, " ", l.Rows))
		}
	}
	slices.Sort(got)
	want := []string{
		`? ? ? map[type:uri value:http://ex/g] false [o] anonymous 1 0`,
		`? name ? <nil> false [] anonymous 2 7`,
		`? name ? <nil> false [] applicationshop "1" 1 5`,
		`a age ? <nil> true [] anonymous 1 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if n := len(parse(t, r.batches[names][0])); n != 3 {
		t.Errorf("%d lines for names", n) // the scan of all objects may have names, too
	}
	// Nothing is left, and nothing comes without reads.
	c.store(t.Context(), now.Add(time.Hour))
	if len(r.batches[all]) != 1 || len(r.batches[names]) != 1 {
		t.Error("a batch without reads")
	}
}

// total sums the counts of batches, each batch once.
func total(t *testing.T, batches [][]byte) (reads, rows int64, patterns int) {
	seen := map[uint64]bool{}
	for _, b := range batches {
		lines := parse(t, b)
		if seen[lines[0].Batch] {
			continue
		}
		seen[lines[0].Batch] = true
		for _, l := range lines {
			reads, rows = reads+l.Reads, rows+l.Rows
			if !l.Other {
				patterns++
			}
		}
	}
	return reads, rows, patterns
}

// TestBounded checks that many patterns take bounded memory and that no read is lost: what finds no
// room is counted as other.
func TestBounded(t *testing.T) {
	r := &registry{}
	var rows []triple.Triple
	for i := range 4 {
		rows = append(rows, r.add(fmt.Sprint("sub", i), feed.Filter{Pattern: triple.Pattern{Predicate: iri("p")}}))
	}
	c := newCounter(t, r)
	r.fail = errors.New("the disk is full")
	const n = 30_000
	now := time.Now()
	for i := range n {
		c.read(triple.Pattern{Subject: iri(fmt.Sprint("s", i)), Predicate: iri("p")}, 2, anonymous)
		c.read(triple.Pattern{Subject: iri("s"), Predicate: iri("q")}, 1, anonymous) // concerns none
		if i%7000 == 0 {
			now = now.Add(time.Second)
			c.store(t.Context(), now)
		}
		waiting := len(c.table)
		for _, s := range c.subscriptions {
			waiting += len(s.waiting)
			if len(s.sending) > 2*maxBatch {
				t.Fatalf("a batch of %d bytes", len(s.sending))
			}
		}
		if waiting > maxTable+maxWaiting {
			t.Fatalf("%d entries", waiting)
		}
	}
	// The failure ends. Large batches come apart in time.
	r.fail = nil
	for range 1000 {
		now = now.Add(time.Second)
		c.store(t.Context(), now)
	}
	for _, row := range rows {
		reads, got, patterns := total(t, r.batches[row])
		if reads != n || got != 2*n || patterns < maxWaiting/len(rows) || patterns > maxWaiting {
			t.Errorf("%d reads, %d rows, %d patterns", reads, got, patterns)
		}
	}
}

// TestRetry checks that a batch whose fate is unknown is stored again as it was, so that a consumer
// recognizes it, and that reads meanwhile are merged into the next one.
func TestRetry(t *testing.T) {
	r := &registry{}
	row := r.add("sub", feed.Filter{})
	c := newCounter(t, r)
	r.fail, r.stored = context.DeadlineExceeded, true
	now := time.Now()
	for i := range 10 {
		for range 5 {
			c.read(triple.Pattern{Predicate: iri("p")}, 1, anonymous)
		}
		if i == 9 {
			r.fail = nil
		}
		now = now.Add(time.Second)
		c.store(t.Context(), now)
	}
	c.store(t.Context(), now.Add(time.Second))
	got := r.batches[row]
	if len(got) != 11 || !bytes.Equal(got[0], got[9]) || len(parse(t, got[10])) != 1 {
		t.Fatalf("%d batches", len(got))
	}
	if reads, rows, _ := total(t, got); reads != 50 || rows != 50 {
		t.Error(reads, rows)
	}
	// A row that is gone takes what waits along; the counter is inactive when it has read that.
	c.read(triple.Pattern{}, 1, anonymous)
	r.fail, r.stored, r.list = fmt.Errorf("annotate: %w", store.ErrNotFound), false, nil
	c.store(t.Context(), now.Add(2*time.Second))
	c.refresh(t.Context())
	if c.Active() || len(c.subscriptions) != 0 {
		t.Error("it still counts")
	}
}

// TestNumbers checks that no two batches of a run have one number, although a subscription is removed
// and stored again, with the same row or with another one.
func TestNumbers(t *testing.T) {
	r := &registry{}
	rows := []triple.Triple{r.add("sub", feed.Filter{}), r.add("other", feed.Filter{})}
	c := newCounter(t, r)
	list, seen, now := r.list, map[uint64]bool{}, time.Now()
	for range 3 {
		c.read(triple.Pattern{Predicate: iri("p")}, 1, anonymous)
		now = now.Add(time.Second)
		c.store(t.Context(), now)
		r.list = nil
		c.refresh(t.Context())
		r.list = list
		c.refresh(t.Context())
	}
	for _, row := range rows {
		for _, batch := range r.batches[row] {
			seen[parse(t, batch)[0].Batch] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("6 batches have %d numbers", len(seen))
	}
}

// TestLateReads checks that the reads of a request that ends after the last subscription are not counted
// for a later one.
func TestLateReads(t *testing.T) {
	r := &registry{}
	r.add("first", feed.Filter{})
	c := newCounter(t, r)
	late := observation{counter: c, caller: anonymous}
	p := PatternOf(triple.Pattern{Predicate: iri("p")})
	late.add(&p, 1)
	r.list = nil
	c.refresh(t.Context())
	late.flush()
	row := r.add("second", feed.Filter{})
	c.refresh(t.Context())
	c.store(t.Context(), time.Now())
	if got := r.batches[row]; len(got) != 0 {
		t.Errorf("%s", got)
	}
}

// TestManySubscriptions checks that those beyond the limit are left out.
func TestManySubscriptions(t *testing.T) {
	r := &registry{}
	for i := range MaxSubscriptions + 5 {
		r.add(fmt.Sprintf("sub%03d", i), feed.Filter{})
	}
	c := newCounter(t, r)
	for i := range 1000 {
		c.read(triple.Pattern{Subject: iri(fmt.Sprint(i))}, 1, anonymous)
	}
	c.store(t.Context(), time.Now())
	if len(r.batches) != MaxSubscriptions {
		t.Error(len(r.batches))
	}
	for _, batches := range r.batches {
		if reads, _, patterns := total(t, batches); reads != 1000 || patterns != maxWaiting/MaxSubscriptions {
			t.Fatal(reads, patterns)
		}
	}
}

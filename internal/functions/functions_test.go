// Tests of functions with the modules of the examples.

package functions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/functions/sandbox"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

var counter = Registration{Name: "counter", Pattern: "? <http://example.org/likes> ?", Kinds: []string{"add", "delete"},
	Arguments: []string{"<http://example.org/counter> <http://example.org/value> ?"}, TimeoutMS: 10_000}

func likes(i int) triple.Triple { return of(fmt.Sprint("p", i), "likes", fmt.Sprint("q", i)) }

func TestCounter(t *testing.T) {
	seed.Slow(t)
	b := open(t, nil, Options{})
	defer b.close()
	b.put(counter, module(t, "counter"))
	want := func(n int) {
		t.Helper()
		b.eventually(fmt.Sprint("counter ", n), func() bool { return slices.Equal(b.objects("counter", "value"), []string{fmt.Sprint(n)}) })
	}
	for i := range 10 {
		b.add(likes(i))
	}
	b.add(likes(3)) // exists: no change
	want(10)
	var many []triple.Triple // more than one intent and one batch of the feed
	for i := range 5000 {
		many = append(many, likes(100+i))
	}
	b.add(many...)
	want(5010)
	if _, err := store.Delete(b.ctx, b.checked, many[:4000]); err != nil {
		t.Fatal(err)
	}
	want(1010)
	b.eventually("the counts", func() bool { return b.state("counter").Counts.Calls == 9010 })
	if s := b.state("counter"); s.Counts.Failures != 0 || s.Last != nil {
		t.Errorf("%+v", s)
	}
}

// TestInverse checks a function whose effects cause no further call, and one registered for all
// kinds that deletes.
func TestInverse(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	b.put(Registration{Name: "inverse", Pattern: "? <http://example.org/parentOf> ?", Kinds: []string{"add", "delete"}, TimeoutMS: 10_000}, module(t, "inverse"))
	b.add(of("anna", "parentOf", "ben"), of("anna", "parentOf", "carl"), of("anna", "parentOf", triple.NewString("nobody")))
	b.eventually("the inverse", func() bool { return b.has(of("ben", "childOf", "anna")) && b.has(of("carl", "childOf", "anna")) })
	if _, err := store.Delete(b.ctx, b.checked, []triple.Triple{of("anna", "parentOf", "ben")}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the inverse to be deleted", func() bool { return !b.has(of("ben", "childOf", "anna")) })
	if got := b.count(triple.Pattern{Predicate: iri("childOf")}); got != 1 {
		t.Errorf("%d triples, want 1", got)
	}
}

// TestLoop checks that a loop of two functions ends after MaxDepth calls with an error that
// is recorded.
func TestLoop(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	b.put(Registration{Name: "ping", Pattern: "? <http://example.org/ping> ?", TimeoutMS: 10_000}, module(t, "ping"))
	b.put(Registration{Name: "pong", Pattern: "? <http://example.org/pong> ?", TimeoutMS: 10_000}, module(t, "pong"))
	b.add(of("a", "ping", integer(0)))
	b.eventually("the end of the chain", func() bool {
		return b.state("ping").Last != nil && strings.Contains(b.state("ping").Last.Message, "a chain of 8 calls")
	})
	if got, want := b.objects("a", "ping"), []string{"0", "2", "4", "6", "8"}; !slices.Equal(got, want) {
		t.Errorf("ping %v, want %v", got, want)
	}
	if got, want := b.objects("a", "pong"), []string{"1", "3", "5", "7"}; !slices.Equal(got, want) {
		t.Errorf("pong %v, want %v", got, want)
	}
	// A client's change begins a new chain.
	b.add(of("b", "pong", integer(0)))
	b.eventually("another chain", func() bool { return len(b.objects("b", "ping")) == 4 })
}

// TestSchema checks that a check rejects every kind of change as a whole.
func TestSchema(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	b.put(Registration{Name: "ages", Mode: Check, Pattern: "? <http://example.org/age> ?", TimeoutMS: 10_000}, module(t, "schema"))
	b.put(Registration{Name: "keep", Mode: Check, Pattern: "? <http://example.org/age> ?", Kinds: []string{"delete"}},
		writes(t, `{"op":"reject","reason":"ages stay"}`))
	good, bad := of("anna", "age", integer(42)), of("ben", "age", triple.NewString("old"))
	b.add(good)
	one := slices.Values([]triple.Triple{good, bad})
	for name, change := range map[string]func() error{
		"add": func() error {
			_, err := store.Add(b.ctx, b.checked, []triple.Triple{of("x", "y", "z"), bad})
			return err
		},
		"delete": func() error { _, err := store.Delete(b.ctx, b.checked, []triple.Triple{good, bad}); return err },
		"apply":  func() error { _, err := store.Apply(b.ctx, b.checked, store.Steps{Add: one}); return err },
		"apply deletes": func() error {
			_, err := store.Apply(b.ctx, b.checked, store.Steps{Delete: one, Add: slices.Values([]triple.Triple{of("x", "y", "z")})})
			return err
		},
		"update": func() error {
			_, err := store.Update(b.ctx, b.checked, func(store.Reader) (store.Steps, error) { return store.Steps{Add: one}, nil })
			return err
		},
		"load": func() error { _, err := b.checked.Sink().Begin(b.ctx, "load"); return err },
	} {
		err := change()
		reason := "the object must be an xsd:integer"
		switch name {
		case "load":
			reason = "unchecked=true"
		case "delete", "apply deletes":
			reason = "ages stay"
		}
		var rejected *RejectedError
		if !errors.Is(err, store.ErrRejected) || !errors.As(err, &rejected) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := b.count(triple.Pattern{DefaultGraph: true}); got != 1 || !b.has(good) {
		t.Errorf("%d triples, want 1", got)
	}
	// Clears and deletes by pattern are checked triple by triple. Other triples pass.
	for name, change := range map[string]func() error{
		"clear": func() error { _, err := store.Apply(b.ctx, b.checked, store.Steps{ClearDefault: true}); return err },
		"delete match": func() error {
			_, err := store.DeleteMatch(b.ctx, b.checked, triple.Pattern{Predicate: iri("age")})
			return err
		},
	} {
		if err := change(); !errors.Is(err, store.ErrRejected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.add(of("x", "y", "z"))
	if s := b.state("ages"); s.Counts.Rejected == 0 || s.Counts.Failures != 0 {
		t.Errorf("%+v", s)
	}
	// Without the check everything passes.
	if s := b.state("keep"); s.Counts.Calls != 4 || s.Counts.Rejected != 4 {
		t.Errorf("%+v", s)
	}
	require.NoError(t, b.service.Delete(b.ctx, "ages"))
	b.add(of("ben", "age", triple.NewString("old")))
	if _, err := b.service.Get(b.ctx, "ages"); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

// TestCheckedEffects checks that checks hold for effects, too.
func TestCheckedEffects(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	b.put(Registration{Name: "ping", Pattern: "? <http://example.org/ping> ?", TimeoutMS: 10_000}, module(t, "ping"))
	b.put(Registration{Name: "reject", Mode: Check, Pattern: "? <http://example.org/pong> ?", TimeoutMS: 10_000}, assemble(t, `(unreachable)`))
	b.add(of("a", "ping", integer(0)))
	b.eventually("the failure", func() bool { return b.state("ping").Counts.Skipped == 1 })
	if last := b.state("ping").Last; last == nil || !strings.Contains(last.Message, "the check reject has rejected") || b.count(triple.Pattern{Predicate: iri("pong")}) != 0 {
		t.Errorf("%+v", last)
	}
}

// TestSystemGraph checks that functions neither see nor change the system graph.
func TestSystemGraph(t *testing.T) {
	seed.Slow(t)
	b := open(t, nil, Options{})
	defer b.close()
	b.put(Registration{Name: "all", Kinds: []string{"add", "delete", "annotate"}, Arguments: []string{"? ? ?"}}, assemble(t, `(i64.const 0)`))
	b.add(of("a", "b", "c"))
	b.eventually("a call", func() bool { return b.state("all").Counts.Calls == 1 })
	out := `{"op":"add","s":{"type":"uri","value":"a:s"},"p":{"type":"uri","value":"a:p"},"o":{"type":"uri","value":"a:o"},"g":{"type":"uri","value":"urn:trefoil:system"}}`
	b.put(Registration{Name: "evil", Pattern: "? ? <http://example.org/d>"}, writes(t, out))
	b.add(of("a", "b", "d"))
	b.eventually("the failure", func() bool { return b.state("evil").Counts.Skipped == 1 })
	if !strings.Contains(b.state("evil").Last.Message, "system graph") || b.count(triple.Pattern{Subject: triple.NewIRI("a:s")}) != 0 {
		t.Errorf("%+v", b.state("evil").Last)
	}
	if _, err := b.service.Put(b.ctx, Registration{Name: "x", Pattern: "? ? ? <" + systemgraph.IRI + ">"}, writes(t, "")); !errors.Is(err, ErrInvalid) {
		t.Errorf("a pattern of the system graph: %v", err)
	}
}

// writes returns a module whose output is always the same.
func writes(t testing.TB, output string) []byte {
	t.Helper()
	escaped := strings.NewReplacer(`"`, `\"`).Replace(output)
	return assembleFields(t, fmt.Sprintf(`(data (i32.const 16) "%s")`, escaped), fmt.Sprintf(`(i64.const %d)`, 16<<32+len(output)))
}

// rowCounter counts the rows that are read.
type rowCounter struct {
	store.Reader
	rows int
}

func (r *rowCounter) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range r.Reader.Match(ctx, p, o) {
			if r.rows++; !yield(row, err) {
				return
			}
		}
	}
}

// TestLargeArguments checks that arguments which cannot fit into the memory of a call are not read into
// that of the node.
func TestLargeArguments(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	const memory, triples, size = 1 << 20, 20, 200 << 10
	b.put(Registration{Name: "f", Pattern: "? <http://example.org/p> ?", Arguments: []string{"?s <http://example.org/text> ?"}, MemoryBytes: memory}, assemble(t, `(i64.const 0)`))
	for i := range triples {
		b.add(of("a", "text", triple.NewString(fmt.Sprint(i)+strings.Repeat("x", size))))
	}
	r, err := b.db.Reader()
	require.NoError(t, err)
	defer r.Close()
	counted := &rowCounter{Reader: r}
	lookups := make([]lookup, 1)
	all, err := b.service.readArguments(b.ctx, b.service.functions()["f"], counted, lookups, of("a", "p", "b"), nil)
	if !errors.Is(err, errTooMany) || counted.rows != memory/size+1 || lookups[0].rows != nil {
		t.Errorf("%d arguments, %d rows, %d of them kept, %v", len(all), counted.rows, len(lookups[0].rows), err)
	}
}

// TestLookups checks that a pattern is read once as long as it is the same, and that pending effects
// are seen all the same. Each argument has the location of its row.
func TestLookups(t *testing.T) {
	locate := func(key []byte) sandbox.Location { return sandbox.Location{Segment: string(key)} }
	b := open(t, nil, Options{Locate: locate})
	defer b.close()
	b.put(Registration{Name: "f", Pattern: "? <http://example.org/p> ?", Arguments: []string{"?s <http://example.org/q> ?", "<http://example.org/x> ? ?"}}, assemble(t, `(i64.const 0)`))
	large := strings.Repeat("l", maxLookupBytes)
	b.add(of("a", "q", "1"), of("a", "q", "2"), of("b", "q", "3"), of("x", "y", "z"), of("large", "q", triple.NewString(large)))
	r, err := b.db.Reader()
	require.NoError(t, err)
	defer r.Close()
	counted, lookups, pending := &rowCounter{Reader: r}, make([]lookup, 2), newOverlay()
	pending.add(&sandbox.Effect{Kind: feed.Delete, Triple: of("a", "q", "1")}, 1)
	pending.add(&sandbox.Effect{Kind: feed.Add, Triple: of("x", "y", "new")}, 1)
	for _, step := range []struct {
		subject string
		pending *overlay
		want    string
		rows    int // read so far
	}{
		{"a", nil, "1 2 z", 3},
		{"a", nil, "1 2 z", 3},
		{"a", pending, "2 z new", 3},
		{"b", pending, "3 z new", 4},
		{"none", nil, "z", 4},
		{"a", nil, "1 2 z", 6},
		{"large", nil, large + " z", 7},
		{"large", nil, large + " z", 8},
	} {
		all, err := b.service.readArguments(b.ctx, b.service.functions()["f"], counted, lookups, of(step.subject, "p", "o"), step.pending)
		require.NoError(t, err)
		var got []string
		for _, a := range all {
			got = append(got, strings.TrimPrefix(a.Triple.Object.Value(), ex))
			if key, _ := triple.AppendKey(nil, triple.SPO, a.Triple); a.Location != locate(key) {
				t.Errorf("%s: the location of %.100s is %.100q", step.subject, a.Triple, a.Location.Segment)
			}
		}
		if strings.Join(got, " ") != step.want || counted.rows != step.rows {
			t.Errorf("%s: %.100q and %d rows, want %.100q and %d", step.subject, got, counted.rows, step.want, step.rows)
		}
	}
}

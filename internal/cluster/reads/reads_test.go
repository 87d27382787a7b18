// Tests of answers, pages and refusals on healthy machines.

package reads

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/sparql/source/sourcetest"
	"github.com/trefoildb/trefoil/triple"
)

// A cluster is a source for SPARQL as any store is.
func TestSource(t *testing.T) {
	for _, machines := range []int{1, 3} {
		if race.Enabled && machines == 1 {
			continue
		}
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			rng := random(t)
			sourcetest.Check(t, rng.Uint64(), testing.Short(), func(triples []triple.Triple) source.Source {
				w := newWorld(t, machines, Options{Ahead: 1 << 18})
				w.fill(rng, 25, triples)
				return w.snapshot(0).Source()
			})
		})
	}
}

var _ store.Reader = (*Snapshot)(nil)

// got is an answer: its rows, and the error that ended it.
func got(rows iter.Seq2[store.Row, error]) (keys []string, err error) {
	for row, err := range rows {
		if err != nil {
			return keys, err
		}
		_, _, decode := triple.DecodeKey(row.Key, row.Value)
		if decode != nil {
			return keys, decode
		}
		keys = append(keys, string(row.Key))
	}
	return keys, nil
}

// same fails the test unless two answers have the same rows.
func same(t *testing.T, what string, have, want []string) {
	t.Helper()
	if len(have) != len(want) {
		t.Fatalf("%s: %d rows, want %d", what, len(have), len(want))
	}
	for i := range have {
		if have[i] != want[i] {
			t.Fatalf("%s: row %d is %q, want %q", what, i, have[i], want[i])
		}
	}
}

// patterns returns the patterns of all shapes that t, or a part of it, makes.
func patterns(t triple.Triple) []triple.Pattern {
	var all []triple.Pattern
	for shape := range 32 {
		var p triple.Pattern
		if shape&1 != 0 {
			p.Subject = t.Subject
		}
		if shape&2 != 0 {
			p.Predicate = t.Predicate
		}
		if shape&4 != 0 {
			p.Object = t.Object
		}
		if shape&8 != 0 {
			p.Graph = t.Graph
		}
		if shape&16 != 0 {
			if !p.Graph.IsZero() {
				continue
			}
			p.DefaultGraph = true
		}
		all = append(all, p)
	}
	return all
}

// options returns how to go through an answer: a limit, a direction, a cursor.
func options(rng *rand.Rand, answer []string) store.ReadOptions {
	o := store.ReadOptions{Reverse: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		o.Limit = int64(1 + rng.IntN(len(answer)+2))
	}
	if rng.IntN(2) == 0 {
		o.Offset = int64(rng.IntN(len(answer) + 2))
	}
	o.DefaultGraph = rng.IntN(4) == 0
	if len(answer) > 0 && rng.IntN(2) == 0 {
		o.After = []byte(answer[rng.IntN(len(answer))])
		if rng.IntN(4) == 0 {
			o.After = o.After[:rng.IntN(len(o.After))]
		}
	}
	return o
}

// bounds returns a range of an order by terms near those of a triple.
func bounds(rng *rand.Rand, t triple.Triple) triple.Bounds {
	b := triple.Bounds{Order: triple.Orders[rng.IntN(4)]}
	var terms []triple.Term
	for _, position := range b.Order.Positions() {
		if term := [4]triple.Term{t.Subject, t.Predicate, t.Object, t.Graph}[position]; !term.IsZero() {
			terms = append(terms, term)
		}
	}
	n := rng.IntN(min(3, len(terms)))
	b.Prefix = terms[:n]
	switch rng.IntN(6) {
	case 0:
		b.GE = terms[n]
	case 1:
		b.LT = terms[n]
	case 2:
		b.GT, b.LE = terms[n], terms[n]
	case 3:
		b.Starts = triple.Starts{Kind: triple.IRI, Text: "http://example.org/s1"}
	case 4:
		b.From = terms[:1+rng.IntN(len(terms))]
	}
	return b
}

// A cluster must answer like a lone store with the same triples.
func TestAnswers(t *testing.T) {
	for _, machines := range []int{1, 2, 3, 5} {
		if race.Enabled && machines != 3 {
			continue // the same goroutines
		}
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			rng := random(t)
			w := newWorld(t, machines, Options{Ahead: 1 << 16})
			w.fill(rng, 40, drawn(rng, 1500))
			compare(t, w, rng, w.snapshot(rng.IntN(machines)), fewer(12))
		})
	}
}

// compare compares answers of a snapshot of the cluster with those of the lone store.
func compare(t *testing.T, w *world, rng *rand.Rand, sn *Snapshot, rounds int) {
	t.Helper()
	truth := w.truth()
	for range rounds {
		some := w.triples[rng.IntN(len(w.triples))]
		if rng.IntN(4) == 0 {
			some = draw(rng)
		}
		for _, p := range patterns(some) {
			all, _ := got(truth.Match(ctx, p, store.ReadOptions{}))
			o := options(rng, all)
			what := fmt.Sprintf("match %+v %+v", p, o)
			want, _ := got(truth.Match(ctx, p, o))
			have, err := got(sn.Match(ctx, p, o))
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			same(t, what, have, want)
			if n, err := sn.Count(ctx, p); err != nil || n != int64(len(all)) {
				t.Fatalf("count %+v: %d, %v, want %d", p, n, err, len(all))
			}
			if n, exact, err := sn.Estimate(t.Context(), p); err != nil || exact && n != int64(len(all)) {
				t.Fatalf("estimate %+v: %d, %v, want %d", p, n, err, len(all))
			}
		}
		// The sum of all patterns, of which some overlap.
		sum, err := truth.Count(ctx, patterns(some)...)
		if n, failed := sn.Count(ctx, patterns(some)...); err != nil || failed != nil || n != sum {
			t.Fatalf("count of all patterns of %s: %d, %v, want %d, %v", some, n, failed, sum, err)
		}
		b := bounds(rng, some)
		all, badly := got(truth.Range(ctx, b, store.ReadOptions{}))
		o := options(rng, all)
		want, _ := got(truth.Range(ctx, b, o))
		have, err := got(sn.Range(ctx, b, o))
		if (err != nil) != (badly != nil) {
			t.Fatalf("range %+v: %v, want %v", b, err, badly)
		}
		same(t, fmt.Sprintf("range %+v %+v", b, o), have, want)
		if n, err := sn.CountRange(ctx, b); (err != nil) != (badly != nil) || n != int64(len(all)) {
			t.Fatalf("count range %+v: %d, %v, want %d", b, n, err, len(all))
		}
		have2, err := sn.Has(ctx, some)
		if want2, _ := truth.Has(ctx, some); err != nil || have2 != want2 {
			t.Fatalf("has %s: %v, %v", some, have2, err)
		}
	}
}

// A cursor goes on behind the last key, page by page, to all rows once.
func TestPages(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 3, Options{})
	w.fill(rng, 30, drawn(rng, 800))
	sn := w.snapshot(1)
	for _, reverse := range []bool{false, true} {
		want, _ := got(w.truth().Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{Reverse: reverse}))
		var all []string
		o := store.ReadOptions{Reverse: reverse, Limit: 37}
		for {
			page, err := got(sn.Range(ctx, triple.Bounds{Order: triple.POS}, o))
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			all = append(all, page...)
			o.After = []byte(page[len(page)-1])
		}
		same(t, "pages", all, want)
	}
}

// Wrong options and bounds are refused, as by a store; a closed snapshot too.
func TestRefusals(t *testing.T) {
	w := newWorld(t, 2, Options{})
	w.fill(random(t), 4, students(10))
	sn := w.snapshot(0)
	if _, err := got(sn.Match(ctx, triple.Pattern{}, store.ReadOptions{Limit: -1})); !isError(err, store.ErrInvalid) {
		t.Error(err)
	}
	if _, err := got(sn.Range(ctx, triple.Bounds{}, store.ReadOptions{})); !isError(err, triple.ErrBadBounds) {
		t.Error(err)
	}
	if _, err := New(w.machines[0].store, w.machines[0], w.machines[0], 1, Options{Ahead: -1}); !isError(err, store.ErrInvalid) {
		t.Error(err)
	}
	sn.Close()
	if _, err := got(sn.Match(ctx, triple.Pattern{}, store.ReadOptions{})); !isError(err, store.ErrClosed) {
		t.Error(err)
	}
	if _, err := sn.Count(ctx, triple.Pattern{}); !isError(err, store.ErrClosed) {
		t.Error(err)
	}
	if _, err := sn.Has(ctx, w.triples[0]); !isError(err, store.ErrClosed) {
		t.Error(err)
	}
}

// Rows larger than a message arrive.
func TestLargeRows(t *testing.T) {
	w := newWorld(t, 2, Options{})
	large := triple.NewString(string(bytes.Repeat([]byte("01234"), 1<<18)))
	triples := []triple.Triple{}
	for i := range 2 {
		triples = append(triples, triple.Triple{Subject: iri("s%d", i), Predicate: iri("p"), Object: large})
	}
	w.fill(random(t), 6, triples)
	for i := range w.machines {
		have, err := got(w.snapshot(i).Match(ctx, triple.Pattern{Predicate: iri("p")}, store.ReadOptions{}))
		if err != nil || len(have) != 2 {
			t.Errorf("%d rows, %v", len(have), err)
		}
	}
}

// A scan asks for pieces ahead, and for no more than its budget has room for.
func TestAhead(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 3, Options{Ahead: 24 << 10})
	w.fill(rng, 30, students(8000))
	r := triple.OrderRange(triple.SPO)
	keys, err := got(w.truth().Range(ctx, triple.Bounds{Order: triple.SPO}, store.ReadOptions{}))
	require.NoError(t, err)
	// There has to be something to ask ahead for when the read is warm: in a random
	// layout all may be one piece.
	for epoch := uint64(2); ; epoch++ {
		all := pieces(w.machines[0].View().Joint(), r)
		if string(all[len(all)-1].Lo) > keys[warmRows] {
			break
		}
		w.adopt(w.moved(rng, epoch))
	}
	sn := w.snapshot(0)
	s, err := sn.scan(ctx, r, false, nil, 0)
	require.NoError(t, err)
	defer s.Close()
	n, most := 0, 0
	for s.Next() {
		n++
		held := 0
		for _, q := range s.queue {
			if f, ok := q.feed.(*remoteFeed); ok {
				held += len(f.arrivals) * frameBytes
			}
		}
		most = max(most, len(s.queue))
		if limit := 24<<10 + 2*(aheadPieces+2)*frameBytes; held > limit {
			t.Fatalf("about %d bytes wait, with a budget of %d", held, 24<<10)
		}
	}
	if s.Err() != nil || n != 8000 {
		t.Fatalf("%d rows, %v", n, s.Err())
	}
	if most < 2 || most > 1+aheadPieces {
		t.Errorf("at most %d pieces at a time", most)
	}
}

// If a reader stops, it must hold nothing at the owner: requested rows are sent, and it requests
// no more.
func TestSlowReader(t *testing.T) {
	w := newWorld(t, 2, Options{})
	w.fill(random(t), 1, students(8000))
	owner, reader := w.machines[0], w.machines[1]
	if !w.reads(owner, triple.Range{}) {
		owner, reader = reader, owner
	}
	owner.ended = make(chan struct{}, 100)
	s, err := w.snapshot(reader.index).scan(ctx, triple.OrderRange(triple.SPO), false, nil, 0)
	require.NoError(t, err)
	defer s.Close()
	n := 0
	for s.Next() {
		if n++; n == 1 {
			<-owner.ended
			if asked := reader.asked.Load(); asked != 1 {
				t.Errorf("%d requests for a row", asked)
			}
		}
		if n == warmRows {
			break
		}
	}
	<-owner.ended // what is asked for ahead
	if asked := reader.asked.Load(); n != warmRows || asked != 2 {
		t.Errorf("%d requests for %d rows, %v", asked, n, s.Err())
	}
	for s.Next() {
		n++
	}
	if n != 8000 || s.Err() != nil {
		t.Errorf("%d rows, %v", n, s.Err())
	}
}

// If a frame has an unrequested row, or is cut, it is no answer. Returned keys must be keys of
// rows all the same.
func TestBadFrame(t *testing.T) {
	w := newWorld(t, 2, Options{IdleTimeout: soon})
	w.fill(random(t), 1, students(8000))
	reader := w.machines[0]
	if w.reads(reader, triple.Range{}) {
		reader = w.machines[1]
	}
	for _, bad := range [][]byte{{0, 1, byte(triple.OSP), 0}, {0, 200}} {
		s, err := w.snapshot(reader.index).scan(ctx, triple.OrderRange(triple.SPO), false, nil, 0)
		require.NoError(t, err)
		n := 0
		var keys [][]byte
		for s.Next() {
			keys = append(keys, bytes.Clone(keyOf(s)))
			if n++; n > 1000 && s.frame != nil {
				s.frame.rest = bad
			}
		}
		for i, o := 0, triple.SPO; i < len(keys); i++ {
			if key, _ := triple.AppendKey(nil, o, w.triples[i]); !bytes.Equal(key, keys[i]) {
				t.Fatalf("%q, want %q", keys[i], key)
			}
		}
		if bad[1] == 1 && !isError(s.Err(), store.ErrUnavailable) {
			t.Errorf("%v after %d rows", s.Err(), n)
		}
		if bad[1] != 1 && !isError(s.Err(), store.ErrUnavailable) && n != len(w.triples) {
			t.Errorf("%v after %d rows", s.Err(), n)
		}
		s.Close()
	}
}

// Iterators must leave nothing behind if they are closed in the middle or their context ends;
// TestMain checks it.
func TestLeave(t *testing.T) {
	w := newWorld(t, 3, Options{})
	w.fill(random(t), 30, students(5000))
	sn := w.snapshot(2)
	for n := range 5 {
		some, cancel := context.WithCancel(ctx)
		read := 0
		for _, err := range sn.Match(some, triple.Pattern{}, store.ReadOptions{}) {
			if err != nil {
				break
			}
			if read++; read == n*100 {
				break
			}
		}
		cancel()
	}
	soon, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	for range sn.Match(soon, triple.Pattern{}, store.ReadOptions{}) {
	}
}

// TestCountIsOneRound: patterns of many graphs take one request for each other machine, not one for each graph.
func TestCountIsOneRound(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 3, Options{Ahead: 1 << 16})
	w.fill(rng, 40, drawn(rng, 1500))
	var graphs []triple.Pattern
	for i := range 200 {
		graphs = append(graphs, triple.Pattern{Graph: triple.NewIRI(fmt.Sprintf("http://example.org/none%d", i))})
	}
	if n, err := w.snapshot(0).Count(ctx, graphs...); err != nil || n != 0 {
		t.Fatalf("%d, %v", n, err)
	}
	sent := int64(0)
	if count, ok := w.machines[0].methods.Load(MethodCount); ok {
		sent = count.(*atomic.Int64).Load()
	}
	if sent > int64(len(w.machines)) {
		t.Errorf("200 graphs took %d requests of %d machines", sent, len(w.machines))
	}
	t.Logf("%d requests", sent)
}

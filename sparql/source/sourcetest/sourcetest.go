// Package sourcetest checks if a [source.Source] keeps its contract.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// TB is the part of a test used by the checks: [testing.TB] has it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Check makes sources of several sets of triples by open and compares all their answers with
// the sorted keys of these triples. The sets have named graphs, long terms, values and
// duplicate triples. seed determines the ranges and moves, and is printed if a check fails. If
// short is true, the largest set is left out.
func Check(t TB, seed uint64, short bool, open func(triples []triple.Triple) source.Source) {
	t.Helper()
	sizes := []int{0, 1, 12, 300, 2000}
	if short {
		sizes = sizes[:4]
	}
	for _, n := range sizes {
		c := &checker{TB: t, seed: seed, random: seed}
		triples := c.triples(n)
		c.keys(triples)
		c.src = open(triples)
		c.scans()
		c.seeks()
		c.interleaved()
		c.lookups()
		c.lookupErrors()
		c.counts()
		c.surveys()
		c.cancellation()
	}
}

// checker is the checks of one source.
type checker struct {
	TB
	seed, random uint64
	src          source.Source
	all          []row // sorted by key
}

type row struct {
	key    []byte
	triple triple.Triple
}

func (c *checker) fail(format string, args ...any) {
	c.Helper()
	c.Logf("seed %d, %d rows", c.seed, len(c.all))
	c.Fatalf(format, args...)
}

// draw returns a number from 0 to n-1.
func (c *checker) draw(n int) int {
	c.random = c.random*6364136223846793005 + 1442695040888963407
	return int(c.random >> 33 % uint64(n))
}

func (c *checker) triples(n int) []triple.Triple {
	iri := func(kind string, n int) triple.Term {
		return triple.NewIRI("http://example.org/" + kind + strconv.Itoa(n))
	}
	var triples []triple.Triple
	// Random triples must have the usual problems of stores: long terms, named graphs, values
	// of many types.
	for i := range n {
		t := triple.Triple{Subject: iri("s", c.draw(n/4+1)), Predicate: iri("p", c.draw(7))}
		switch c.draw(6) {
		case 0:
			t.Object = iri("s", c.draw(n/4+1))
		case 1:
			t.Object = triple.NewTyped(strconv.Itoa(c.draw(100)-50), triple.XSDInteger)
		case 2:
			t.Object = triple.NewLang("text\x00"+strconv.Itoa(c.draw(20)), "en")
		case 3:
			t.Object = triple.NewBlank("b" + strconv.Itoa(c.draw(20)))
		case 4:
			t.Object = triple.NewString(strings.Repeat("long ", 300) + strconv.Itoa(i))
		default:
			t.Object = triple.NewString(strconv.Itoa(i))
		}
		if c.draw(3) == 0 {
			t.Graph = iri("g", c.draw(3))
		}
		triples = append(triples, t)
		if i%10 == 0 {
			triples = append(triples, t)
		}
	}
	return triples
}

func (c *checker) keys(triples []triple.Triple) {
	for _, t := range triples {
		for _, o := range triple.Orders {
			if key, _ := triple.AppendKey(nil, o, t); len(key) > 0 {
				c.all = append(c.all, row{key, t})
			}
		}
	}
	slices.SortFunc(c.all, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	c.all = slices.CompactFunc(c.all, func(a, b row) bool { return bytes.Equal(a.key, b.key) })
}

// rowsIn returns the rows of a range.
func (c *checker) rowsIn(r triple.Range) []row {
	from, to := c.indexOf(r.Lo), len(c.all)
	if r.Hi != nil {
		to = max(from, c.indexOf(r.Hi))
	}
	return c.all[from:to]
}

func (c *checker) indexOf(key []byte) int {
	i, _ := slices.BinarySearchFunc(c.all, key, func(r row, key []byte) int { return bytes.Compare(r.key, key) })
	return i
}

// key returns an existing key, or one near to it.
func (c *checker) key() []byte {
	if len(c.all) == 0 || c.draw(20) == 0 {
		return []byte{byte(c.draw(7))}
	}
	key := bytes.Clone(c.all[c.draw(len(c.all))].key)
	switch c.draw(5) {
	case 0:
		return append(key, 0)
	case 1:
		return key[:len(key)-1]
	case 2:
		return key[:1+c.draw(len(key))]
	}
	return key
}

// someRange returns a range. It may be empty or upside down.
func (c *checker) someRange() triple.Range {
	r := triple.Range{Lo: c.key(), Hi: c.key()}
	switch c.draw(8) {
	case 0:
		return triple.Range{}
	case 1:
		r.Hi = nil
	case 2:
		r.Lo = nil
	case 3:
		return triple.OrderRange(triple.Orders[c.draw(len(triple.Orders))])
	case 4:
		r.Hi = append(bytes.Clone(r.Lo), 0)
	case 5: // as it is
	default:
		if bytes.Compare(r.Lo, r.Hi) > 0 {
			r.Lo, r.Hi = r.Hi, r.Lo
		}
	}
	return r
}

// is fails the test unless a key and value are those of a row.
func (c *checker) is(what string, key, value []byte, want row) {
	c.Helper()
	if !bytes.Equal(key, want.key) {
		c.fail("%s: row %q, want %q", what, key, want.key)
	}
	if _, t, err := triple.DecodeKey(key, value); err != nil || t != want.triple {
		c.fail("%s: row %q with value %q is %s, %v, want %s", what, key, value, t, err, want.triple)
	}
}

func (c *checker) scan(ctx context.Context, r triple.Range, reverse bool) source.Rows {
	c.Helper()
	rows, err := c.src.Scan(ctx, r, reverse)
	if err != nil {
		c.fail("scan %q: %v", r, err)
	}
	return rows
}

func (c *checker) close(rows source.Rows) {
	c.Helper()
	if err := rows.Err(); err != nil {
		c.fail("Err: %v", err)
	}
	if err := rows.Close(); err != nil {
		c.fail("Close: %v", err)
	}
}

func (c *checker) scans() {
	c.Helper()
	for i := range 40 {
		r, reverse := c.someRange(), i%2 == 1
		want := slices.Clone(c.rowsIn(r))
		if reverse {
			slices.Reverse(want)
		}
		rows := c.scan(context.Background(), r, reverse)
		for i := range want {
			if !rows.Next() {
				c.fail("scan %q reverse %v ends after %d of %d rows: %v", r, reverse, i, len(want), rows.Err())
			}
			key, value := rows.Row()
			c.is("scan", key, value, want[i])
		}
		for range 2 { // the end stays the end
			if rows.Next() {
				key, _ := rows.Row()
				c.fail("scan %q reverse %v: row %q after the last", r, reverse, key)
			}
		}
		c.close(rows)
	}
}

// seeks moves iterators at random.
func (c *checker) seeks() {
	c.Helper()
	// Each move must agree with the sorted keys, because a plan relies on the position after a
	// seek.
	for i := range 60 {
		r, reverse := c.someRange(), i%2 == 1
		want := c.rowsIn(r)
		rows := c.scan(context.Background(), r, reverse)
		at, step := -1, 1
		if reverse {
			at, step = len(want), -1
		}
		for range 20 {
			var valid bool
			var sought []byte
			if inside := at >= -1 && at <= len(want); inside && c.draw(2) == 0 {
				at += step
				valid = rows.Next()
			} else {
				sought = c.key()
				valid = rows.SeekGE(sought)
				var found bool
				at, found = slices.BinarySearchFunc(want, sought, func(r row, key []byte) int { return bytes.Compare(r.key, key) })
				if reverse && !found {
					at--
				}
			}
			if there := at >= 0 && at < len(want); valid != there {
				c.fail("range %q reverse %v, to %q: %v, want %v (%v)", r, reverse, sought, valid, there, rows.Err())
			}
			if valid {
				key, value := rows.Row()
				c.is("move", key, value, want[at])
			} else {
				at = min(max(at, -1), len(want))
				if over := at == len(want); over == reverse { // before the first row: only a seek goes on
					at = -2
				}
			}
		}
		c.close(rows)
	}
}

// interleaved reads several iterators in turn.
func (c *checker) interleaved() {
	c.Helper()
	r := triple.OrderRange(triple.POS)
	want := c.rowsIn(r)
	forward, backward := c.scan(context.Background(), r, false), c.scan(context.Background(), r, true)
	for i := range want {
		if !forward.Next() || !backward.Next() {
			c.fail("two iterators: the end after %d of %d rows: %v, %v", i, len(want), forward.Err(), backward.Err())
		}
		key, value := forward.Row()
		c.is("forward", key, value, want[i])
		key, value = backward.Row()
		c.is("backward", key, value, want[len(want)-1-i])
	}
	c.close(forward)
	c.close(backward)
}

// ascending returns ranges as a look-up takes them: single keys, adjacent ones,
// empty ones, ones far apart.
func (c *checker) ascending(n int) []triple.Range {
	var cuts [][]byte
	// 1. Ranges must ascend and not overlap, because the contract of Lookup requires it.
	for range n {
		cuts = append(cuts, c.key())
	}
	slices.SortFunc(cuts, bytes.Compare)
	var ranges []triple.Range
	for i, lo := range cuts {
		// 2. Each range begins at a cut. Some are a gap, a single key or empty, because sources
		// tend to fail on these.
		var hi []byte // the next range begins there, or later
		if i+1 < len(cuts) {
			hi = cuts[i+1]
		}
		single := append(bytes.Clone(lo), 0)
		switch c.draw(6) {
		case 0: // a gap
			continue
		case 1, 2:
			if hi == nil || bytes.Compare(single, hi) <= 0 {
				hi = single
			}
		case 3:
			hi = lo // empty
		case 4:
			hi = lo[:len(lo)-1] // upside down
		}
		ranges = append(ranges, triple.Range{Lo: lo, Hi: hi})
	}
	return ranges
}

type hit struct {
	index int
	row
}

func (c *checker) hits(ranges []triple.Range) []hit {
	var hits []hit
	for i, r := range ranges {
		for _, row := range c.rowsIn(r) {
			hits = append(hits, hit{i, row})
		}
	}
	return hits
}

func (c *checker) lookups() {
	c.Helper()
	for i := range 60 {
		ranges := c.ascending([]int{0, 1, 3, 30, 300}[i%5])
		want := c.hits(ranges)
		n := 0
		err := c.src.Lookup(context.Background(), ranges, func(i int, key, value []byte) error {
			if n == len(want) {
				c.fail("look up %q: row %q beyond the %d expected", ranges, key, n)
			}
			if i != want[n].index {
				c.fail("look up %q: row %q of range %d, want %d", ranges, key, i, want[n].index)
			}
			c.is("look up", key, value, want[n].row)
			n++
			return nil
		})
		if err != nil || n != len(want) {
			c.fail("look up %q: %d of %d rows, %v", ranges, n, len(want), err)
		}
	}
}

// lookupErrors checks an error of each: Lookup must end at once and return it.
func (c *checker) lookupErrors() {
	c.Helper()
	stop := errors.New("stop")
	for range 20 {
		ranges := c.ascending(10)
		want := c.hits(ranges)
		if len(want) == 0 {
			continue
		}
		last, n := 1+c.draw(len(want)), 0
		err := c.src.Lookup(context.Background(), ranges, func(int, []byte, []byte) error {
			if n++; n == last {
				return stop
			}
			return nil
		})
		if err != stop || n != last {
			c.fail("look up %q: an error at row %d gives %v after %d rows", ranges, last, err, n)
		}
	}
}

func (c *checker) counts() {
	c.Helper()
	for range 60 {
		r := c.someRange()
		want := int64(len(c.rowsIn(r)))
		if n, err := c.src.Count(context.Background(), r); err != nil || n != want {
			c.fail("count %q: %d, %v, want %d", r, n, err, want)
		}
		n, exact, err := c.src.Estimate(context.Background(), r)
		if err != nil || n < 0 || exact && n != want {
			c.fail("estimate %q: %d, exact %v, %v, want %d", r, n, exact, err, want)
		}
	}
}

// surveys checks many questions at once. Samples must be rows of the range, and must not have
// more rows around them than the range.
func (c *checker) surveys() {
	c.Helper()
	var questions []source.Question
	// 1. Make questions for random ranges, some of them a whole order, because plans request
	// both.
	for range 30 {
		r := c.someRange()
		if o := triple.Order(1 + c.draw(4)); c.draw(2) == 0 {
			r = triple.OrderRange(o)
		}
		questions = append(questions, source.Question{Range: r, Places: c.draw(4)})
	}
	found, err := source.Survey(context.Background(), c.src, questions)
	if err != nil || len(found) != len(questions) {
		c.fail("survey: %d findings, %v", len(found), err)
	}
	for i, f := range found {
		// 2. Estimates may be wrong, but if one is exact it must be right.
		want := int64(len(c.rowsIn(questions[i].Range)))
		if f.Rows < 0 || f.Exact && f.Rows != want || len(f.Samples) > questions[i].Places {
			c.fail("survey %q: %d, exact %v, %d samples; want %d, %d places", questions[i].Range, f.Rows, f.Exact, len(f.Samples), want, questions[i].Places)
		}
		if f.Exact && want >= source.SampleLeast && questions[i].Places > 0 && len(f.Samples) == 0 {
			c.fail("survey %q: no samples of %d rows", questions[i].Range, want)
		}
		for _, s := range f.Samples {
			// 3. A sample must be a row of the range, and count itself.
			at := c.indexOf(s.Key)
			if at == len(c.all) || !bytes.Equal(c.all[at].key, s.Key) || !questions[i].Range.Contains(s.Key) || s.Rows < 1 {
				c.fail("survey %q: a sample %q of %d rows", questions[i].Range, s.Key, s.Rows)
			}
		}
	}
}

// cancellation checks ended contexts. If a context has ended, every call must return an error;
// if it ends in between, a call must return one unless the answer is whole.
func (c *checker) cancellation() {
	c.Helper()
	if len(c.all) == 0 {
		return
	}
	whole := triple.OrderRange(triple.SPO)
	want := len(c.rowsIn(whole))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	is := func(what string, err error) {
		c.Helper()
		if !errors.Is(err, context.Canceled) {
			c.fail("%s with a context that has ended: %v", what, err)
		}
	}
	// 1. A call must return the error of its context when this has ended.
	for _, reverse := range []bool{false, true} {
		rows, err := c.src.Scan(ended, whole, reverse)
		if err == nil {
			if rows.Next() {
				c.fail("scan with a context that has ended: a row")
			}
			err = rows.Err()
			_ = rows.Close()
		}
		is("scan", err)
	}
	is("look up", c.src.Lookup(ended, []triple.Range{whole}, func(int, []byte, []byte) error { return nil }))
	_, err := c.src.Count(ended, whole)
	is("count", err)
	_, _, err = c.src.Estimate(ended, whole)
	is("estimate", err)
	_, err = source.Survey(ended, c.src, []source.Question{{Range: whole, Places: 1}})
	is("survey", err)

	ends, cancel := context.WithCancel(context.Background())
	defer cancel()
	// 2. A look-up must notice if its context ends in a callback.
	is("look up", c.src.Lookup(ends, []triple.Range{whole}, func(int, []byte, []byte) error { cancel(); return nil }))

	ends, cancel = context.WithCancel(context.Background())
	defer cancel()
	// 3. A scan may finish if its context ends in between, because it may have read ahead. But
	// if it stops early, it must return the error.
	rows := c.scan(ends, whole, false)
	n := 0
	for rows.Next() {
		n++
		cancel()
	}
	if err := rows.Err(); err == nil && n != want || err != nil && !errors.Is(err, context.Canceled) {
		c.fail("a scan whose context ends: %d of %d rows, %v", n, want, err)
	}
	_ = rows.Close()
}

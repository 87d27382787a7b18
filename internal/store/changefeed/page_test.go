// Tests of pages.

package changefeed

import (
	"errors"
	"iter"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// request commits small requests and then one of adds triples.
func (l *log) request(small, adds int) {
	l.t.Helper()
	batch := l.db.NewBatch()
	defer batch.Close()
	c := l.f.Begin(batch)
	for i := range small + adds {
		t := triple.Triple{Subject: term("%06d", i), Predicate: term("p"), Object: term("o")}
		spo, _ := triple.AppendKey([]byte{keyspace.Storage}, triple.SPO, t)
		pos, _ := triple.AppendKey([]byte{keyspace.Storage}, triple.POS, t)
		at := triple.Stamp{Epoch: 1, Sequence: l.next + uint64(min(i, small))}
		require.NoError(l.t, c.Triple(feed.Add, at, spo, pos, nil))
	}
	l.next += uint64(small) + 1
	done, err := c.Finish()
	if err == nil {
		err = l.db.Commit(batch, true)
	}
	require.NoError(l.t, err)
	done()
}

// TestPages: pages have each change once and in order, also of requests of many rows, and each page
// is bounded.
func TestPages(t *testing.T) {
	rng := seed.Rand(t)
	l := newLog(t, Retention{})
	begin := l.f.At(0)
	total := 0
	for _, adds := range []int{1, 100_000, 1, 5, 60_000, 30_000, 2} {
		small := rng.IntN(4)
		l.request(small, adds)
		total += small + adds
	}
	// Even a page of one row may have several batches, because a change counts more than it takes.
	sizes := []int{1}
	for len(sizes) < 16 && (len(sizes) < 5 || !testing.Short()) {
		sizes = append(sizes, 1+rng.IntN(1<<20))
	}
	for _, most := range sizes {
		got, parts, last := 0, 0, triple.Stamp{}
		var key []byte
		for since, part := begin, uint32(0); ; {
			p, err := l.f.Page(t.Context(), since, part, most)
			if err != nil {
				t.Fatalf("%v", err)
			}
			size := 0
			for i := range p.Changes {
				c := &p.Changes[i]
				size += len(c.Key)
				if c.Stamp.Less(last) || c.Stamp == last && string(c.Key) <= string(key) {
					t.Fatalf("change %d of stamp %d follows one of stamp %d", got+i, c.Stamp.Sequence, last.Sequence)
				}
				last, key = c.Stamp, c.Key
			}
			// The keys of a row are shortened to some 8 bytes.
			if limit := 8 * (most + rowBytes + 1000); size > limit {
				t.Fatalf("a page of %d bytes of keys, most %d", size, limit)
			}
			if got += len(p.Changes); p.Part > 0 {
				parts++
			}
			want := len(p.Changes)
			if p.Part > 0 {
				want = 0
			}
			if n := covered(p.Changes, p.Position); n != want {
				t.Fatalf("position %d covers %d of %d changes of a page with part %d", p.Position.Sequence(0), n, len(p.Changes), p.Part)
			}
			if since, part = p.Position, p.Part; !p.More {
				break
			}
		}
		if got != total || parts == 0 {
			t.Errorf("%d changes in pages of %d bytes, want %d; %d pages end within a request", got, most, total, parts)
		}
	}
	// A position of another store, and one behind the end.
	other := begin
	other.Source++
	for _, since := range []feed.Position{other, l.f.At(l.next)} {
		if _, err := l.f.Page(t.Context(), since, 0, 1); !errors.Is(err, feed.ErrPosition) {
			t.Error(err)
		}
	}
}

// TestParts: a batch has complete requests or a part of one, never both, and has each change once.
func TestParts(t *testing.T) {
	rng := seed.Rand(t)
	l := newLog(t, Retention{})
	begin := l.f.At(0)
	total := 0
	for range 20 {
		small, adds := rng.IntN(20), 1+rng.IntN(20)
		l.request(small, adds)
		total += small + adds
	}
	l.request(3, 50_000) // a part of it ends a row
	total += 50_003
	for most := 1; most < 10_000_000; most = 3*most + rng.IntN(100) {
		got, parts, at := 0, 0, begin
		for b, err := range l.f.Changes(t.Context(), feed.Request{Since: begin, MaxBytes: most}) {
			if err != nil {
				t.Fatalf("%v", err)
			}
			n := covered(b.Changes, b.Position)
			switch {
			case b.Continued && (n != 0 || len(b.Changes) == 0 || !at.Reaches(b.Position)):
				t.Fatalf("at most %d bytes, a part of a commit at position %d: it covers %d of %d changes, and the position before is %d", most, b.Position.Sequence(0), n, len(b.Changes), at.Sequence(0))
			case !b.Continued && n != len(b.Changes):
				t.Fatalf("at most %d bytes, position %d covers %d of %d changes", most, b.Position.Sequence(0), n, len(b.Changes))
			case b.Continued:
				parts++
			case !b.Position.Reaches(at):
				t.Fatalf("the position moves back")
			}
			got, at = got+len(b.Changes), b.Position.Clone()
		}
		if end := l.f.At(l.next - 1); got != total || parts == 0 || !at.Reaches(end) {
			t.Errorf("%d changes, want %d; %d parts; the end is %v, want %v", got, total, parts, at, end)
		}
	}
}

// TestPartEndsAtOnce: behind a part of a commit the batch that ends it comes at once, although the filter selects
// nothing of the rest. The consumer must not wait for a heartbeat.
func TestPartEndsAtOnce(t *testing.T) {
	l := newLog(t, Retention{})
	begin := l.f.At(0)
	l.request(0, 20_000) // several rows
	first := feed.Filter{Pattern: triple.Pattern{Subject: triple.NewIRI(term("%06d", 0).Value())}}
	next, stop := iter.Pull2(l.f.Changes(t.Context(), feed.Request{Since: begin, Filter: first, Follow: true, MaxBytes: 1}))
	defer stop()
	for b, err, ok := next(); ; b, err, ok = next() {
		switch {
		case err != nil || !ok:
			t.Fatal(err)
		case b.Continued:
			continue
		case b.Position.Reaches(l.f.At(l.next - 1)):
			return
		}
	}
}

// covered returns how many changes lie at or before a position.
func covered(changes []feed.Change, p feed.Position) (n int) {
	for i := range changes {
		if p.Covers(changes[i].Sequencer, changes[i].Stamp) {
			n++
		}
	}
	return n
}

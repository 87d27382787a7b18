// Tests of the journal.

package replica

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

const journaledIRI = "http://example.org/linksTo"

func journalLink(i int) triple.Triple {
	return triple.Triple{Subject: iri("page%d", i), Predicate: triple.NewIRI(journaledIRI), Object: iri("page%d", i+1)}
}

// journalOf reads all of a journal after a number, in steps.
func journalOf(t testing.TB, s *Store, after uint64, most int) (all []JournalEntry) {
	t.Helper()
	for {
		some, next, ok := s.Journal().Entries(after, most)
		if !ok || next != after+uint64(len(some)) {
			t.Fatalf("behind %d: %d entries up to %d, %v", after, len(some), next, ok)
		}
		if len(some) == 0 {
			return all
		}
		all, after = append(all, some...), next
	}
}

// TestJournal: operations on triples with one of the predicates, in any graph and with terms of
// any length. They have the numbers of their arrival, and are committed when that is known.
func TestJournal(t *testing.T) {
	s := openJournal(t, store.Options{}, Options{Journal: []string{journaledIRI, "http://example.org/uid"}})
	j := idle(layoutOf(t, s, 0))
	if end := s.Journal().End(); end != 0 {
		t.Fatalf("an empty journal ends at %d", end)
	}
	named, long, uid, subject, object, literal := journalLink(1), journalLink(2), journalLink(3), journalLink(4), journalLink(5), journalLink(6)
	named.Graph = iri("g")
	long.Subject, long.Object = triple.NewIRI("http://e.x/"+strings.Repeat("s", 3000)), triple.NewIRI("http://e.x/"+strings.Repeat("o", 3000))
	uid.Predicate = triple.NewIRI("http://example.org/uid")
	literal.Object = triple.NewString("a\x00\x01b\x00")
	subject.Subject, subject.Predicate = triple.NewIRI(journaledIRI), iri("other")
	object.Object, object.Predicate = triple.NewIRI(journaledIRI), triple.NewIRI(journaledIRI+"o")
	shorter := journalLink(7)
	shorter.Predicate = triple.NewIRI(journaledIRI[:len(journaledIRI)-1])
	first := operations(store.OperationAdd, 2, 1, journalLink(0), named, student(1), long, subject, object, shorter, literal)
	second := operations(store.OperationDelete, 2, 20, journalLink(0), uid)
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: first})
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 2), Operations: second})
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: first}) // once more: nothing is new
	want := []Operation{first[0], first[1], first[3], first[7], second[0], second[1]}
	check := func(settled int) {
		t.Helper()
		if end := s.Journal().End(); end != uint64(len(want)) {
			t.Errorf("the journal ends at %d, want %d", end, len(want))
		}
		for after := range want {
			for _, most := range []int{1, 100, 1 << 20} {
				got := journalOf(t, s, uint64(after), most)
				same := func(e JournalEntry, o Operation) bool {
					return bytes.Equal(e.Key, o.Key) && e.Stamp == o.Stamp && e.Deleted == (o.Kind == store.OperationDelete)
				}
				if !slices.EqualFunc(got, want[after:], same) {
					t.Fatalf("behind %d: %v", after, got)
				}
				for i, e := range got {
					if e.Settled != (after+i < settled) {
						t.Fatalf("operation %d is settled: %v", after+i+1, e.Settled)
					}
				}
			}
		}
	}
	check(0)
	s.Settle(origin(7, 1, 1), nil, map[trie.MachineID]uint64{7: 1})
	check(4)
	if err := s.Forget(ctx, []UnsettledBatch{entryOf(s, origin(7, 1, 2))}); err != nil {
		t.Fatal(err)
	}
	check(6)
	for _, after := range []uint64{7, 8, 1 << 63, 1<<64 - 1} {
		if _, _, ok := s.Journal().Entries(after, 1); ok {
			t.Errorf("there is something behind %d", after)
		}
	}
	if some, next, ok := s.Journal().Entries(0, 0); len(some) != 0 || next != 0 || !ok {
		t.Errorf("no bytes: %v, %d, %v", some, next, ok)
	}
	// A bulk load has no single operations.
	loadTriples(t, s, "load", []triple.Triple{journalLink(50)})
	for after := range uint64(7) {
		if _, _, ok := s.Journal().Entries(after, 1<<20); ok {
			t.Errorf("the journal goes on from %d", after)
		}
	}
	end := s.Journal().End()
	if got := journalOf(t, s, end, 1); end <= 6 || len(got) != 0 {
		t.Errorf("the journal ends at %d, with %v behind it", end, got)
	}
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 3), Operations: operations(store.OperationAdd, 2, 40, journalLink(60))})
	if got := journalOf(t, s, end, 1); len(got) != 1 || s.Journal().End() != end+1 {
		t.Errorf("then %v comes", got)
	}
}

// Without predicates the journal is off, and a load leaves it off.
func TestJournalOff(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(layoutOf(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, journalLink(0))})
	loadTriples(t, s, "load", []triple.Triple{journalLink(50)})
	if _, _, ok := s.Journal().Entries(0, 1); ok || s.Journal().End() != 0 || s.journal.all != nil {
		t.Errorf("%+v", &s.journal)
	}
}

// TestJournalBound: the oldest operations go, and a reader that missed them gets an error.
func TestJournalBound(t *testing.T) {
	var j Journal
	j.init(new(inFlight), []string{journaledIRI}, 0)
	const kept = 10
	one := operation(store.OperationAdd, journalLink(10), 1, 1)
	j.most = kept * (int64(len(one.Key)) + journaledBytes)
	for n := uint64(1); n < 80; n++ {
		j.add(origin(1, 1, n), operations(store.OperationAdd, 1, n, journalLink(10+int(n)%50)), false)
		first := max(n, kept) - kept + 1
		if j.first != first || j.bytes > j.most || uint64(len(j.all)) != n-first+1 {
			t.Fatalf("after %d operations %d are kept from %d on, %d bytes", n, len(j.all), j.first, j.bytes)
		}
		for after := uint64(0); after < n+3; after++ {
			rest, ok := j.behind(after, 1<<30)
			if ok != (after+1 >= first && after <= n) || ok && uint64(len(rest)) != n-after {
				t.Fatalf("after %d operations: %d are behind %d, %v", n, len(rest), after, ok)
			}
			if len(rest) > 0 && rest[0].stamp.Sequence != after+1 {
				t.Fatalf("behind %d is %d", after, rest[0].stamp.Sequence)
			}
		}
	}
	// More at once than the limit.
	var many []triple.Triple
	for i := range 3 * kept {
		many = append(many, journalLink(10+i))
	}
	j.add(origin(1, 1, 100), operations(store.OperationAdd, 1, 1000, many...), false)
	if len(j.all) != kept || j.first != 79+2*kept+1 || j.all[0].stamp.Sequence != 1000+2*kept {
		t.Fatalf("%d are kept from %d on", len(j.all), j.first)
	}
	j.most = 0 // not even one fits
	j.add(origin(1, 1, 101), operations(store.OperationAdd, 1, 2000, journalLink(10)), false)
	if len(j.all) != 0 || j.bytes != 0 || j.first != 79+3*kept+2 {
		t.Fatalf("%d are kept from %d on, %d bytes", len(j.all), j.first, j.bytes)
	}
}

// Invalid keys are not in the journal.
func TestJournalOddKeys(t *testing.T) {
	var j Journal
	j.init(new(inFlight), []string{journaledIRI}, 0)
	whole := operation(store.OperationAdd, journalLink(0), 1, 1).Key
	pair, _ := triple.KeyPair(whole)
	for _, key := range [][]byte{nil, {}, {1}, {1, 0, 1}, pair, pair[:len(pair)-1], append(slices.Clone(pair), 0)} {
		j.add(origin(1, 1, 1), []Operation{{Kind: store.OperationAdd, Key: key}}, false)
	}
	j.add(origin(1, 1, 1), []Operation{{Kind: store.OperationAnnotate, Key: whole}}, false) // adds and deletes only
	if len(j.all) != 0 {
		t.Errorf("%q", j.all[0].key)
	}
	key := slices.Clone(whole)
	j.add(origin(1, 1, 1), []Operation{{Kind: store.OperationAdd, Key: key}}, false)
	clear(key)
	if len(j.all) != 1 || !bytes.Equal(j.all[0].key, whole) {
		t.Error("the journal keeps the caller's key")
	}
}

// TestJournalBeforeRows: if a reader sees a row, or its operation was answered, the journal must
// have it. A committed entry must be committed.
func TestJournalBeforeRows(t *testing.T) {
	s := openJournal(t, store.Options{}, Options{Journal: []string{journaledIRI}})
	j := idle(layoutOf(t, s, 0))
	tr := journalLink(1)
	key := operation(store.OperationAdd, tr, 0, 0).Key
	batches := uint64(fewer(200))
	come := make(chan uint64, batches)
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(come)
		for n := uint64(1); n <= batches; n++ {
			d := Delivery{Origin: origin(7, 1, n), Settled: n - 1, Operations: operations(store.OperationAdd, 2, n, tr)}
			if err := s.Deliver(ctx, &d, j); err != nil {
				t.Error(err)
				return
			}
			come <- n
		}
	})
	for n := range come {
		sn, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		value, err := sn.Value(append([]byte{keyspace.Storage}, key...))
		if err != nil {
			t.Fatal(err)
		}
		stamp, err := rowStamp(value)
		if err != nil {
			t.Fatal(err)
		}
		if end := s.Journal().End(); end < max(n, stamp.Sequence) {
			t.Fatalf("%d have come, row %d is seen, and the journal ends at %d", n, stamp.Sequence, end)
		}
		if changes, ok := s.Journal().Changes(); !ok || changes < max(n, stamp.Sequence) {
			t.Fatalf("%d have come, row %d is seen, and %d changes are counted", n, stamp.Sequence, changes)
		}
		for i, e := range journalOf(t, s, 0, 1<<20) {
			if e.Stamp.Sequence != uint64(i+1) || e.Settled && e.Stamp.Sequence > s.Heard()[0].Settled {
				t.Fatalf("operation %d: %+v", i+1, e)
			}
		}
		if err := sn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wait.Wait()
}

// An entry of a backfill is never committed, because it may be older than the entries before it.
func TestJournalFilled(t *testing.T) {
	s := new(Store)
	s.inFlight.init()
	s.journal.init(&s.inFlight, []string{journaledIRI}, 0)
	for i, filled := range []bool{false, true} {
		s.journal.add(origin(1, 1, 1), operations(store.OperationAdd, 1, 1, journalLink(i)), filled)
	}
	entries, _, ok := s.Journal().Entries(0, 1<<20)
	if !ok || len(entries) != 2 || !entries[0].Settled || entries[1].Settled {
		t.Errorf("%v, %v", entries, ok)
	}
}

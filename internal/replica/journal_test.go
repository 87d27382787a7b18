// Tests of the journal.

package replica

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
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
		some, next, err := s.Journal().Entries(after, most)
		if err != nil || next != after+uint64(len(some)) {
			t.Fatalf("behind %d: %d entries up to %d, %v", after, len(some), next, err)
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
		if _, _, err := s.Journal().Entries(after, 1); !errors.Is(err, ErrJournal) {
			t.Errorf("behind %d: %v", after, err)
		}
	}
	if some, next, err := s.Journal().Entries(0, 0); len(some) != 0 || next != 0 || err != nil {
		t.Errorf("no bytes: %v, %d, %v", some, next, err)
	}
	// A bulk load has no single operations.
	loadTriples(t, s, "load", []triple.Triple{journalLink(50)})
	for after := range uint64(7) {
		if _, _, err := s.Journal().Entries(after, 1<<20); !errors.Is(err, ErrJournal) {
			t.Errorf("the journal goes on from %d: %v", after, err)
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
	if _, _, err := s.Journal().Entries(0, 1); !errors.Is(err, ErrJournal) || s.Journal().End() != 0 || s.journal.all != nil {
		t.Errorf("%+v, %v", &s.journal, err)
	}
}

// TestJournalBound: the oldest runs go, and a reader that missed them gets an error.
func TestJournalBound(t *testing.T) {
	s := openJournal(t, store.Options{}, Options{Journal: []string{journaledIRI}})
	j := idle(layoutOf(t, s, 0))
	const kept = 10
	s.journal.most = kept
	// 1. Batches of two links and another triple between them.
	for n := uint64(1); n < 30; n++ {
		some := operations(store.OperationAdd, 2, 10*n, journalLink(10+int(n)), student(int(n)), journalLink(50))
		deliver(t, s, j, Delivery{Origin: origin(7, 1, n), Settled: n - 1, Operations: some})
		if first := 2*(max(n, kept)-kept) + 1; s.journal.first != first || len(s.journal.all) != int(min(n, kept)) || len(s.journal.held) != 0 {
			t.Fatalf("after %d batches %d are kept from %d on, %d in memory", n, len(s.journal.all), s.journal.first, len(s.journal.held))
		}
		for after := uint64(0); after < 2*n+3; after++ {
			rest, _, err := s.Journal().Entries(after, 1<<30)
			if errors.Is(err, ErrJournal) != (after+1 < s.journal.first || after > 2*n) || err == nil && uint64(len(rest)) != 2*n-after {
				t.Fatalf("after %d batches: %d are behind %d, %v", n, len(rest), after, err)
			}
			if len(rest) > 0 && rest[0].Stamp.Sequence != 10*(after/2+1)+2*(after%2) {
				t.Fatalf("behind %d is %d", after, rest[0].Stamp.Sequence)
			}
		}
	}
	if size := unsafe.Sizeof(run{}); size != 32 {
		t.Errorf("a run has %d bytes", size)
	}
}

// TestJournalPages: the rows of batches count for the limit of a page, because most of their operations
// may not be listed, and keys do not keep the rows in memory.
func TestJournalPages(t *testing.T) {
	s := openJournal(t, store.Options{}, Options{Journal: []string{journaledIRI}})
	j := idle(layoutOf(t, s, 0))
	const batches, others, most = 30, 500, 64 << 10
	for n := range uint64(batches) {
		some := []triple.Triple{journalLink(int(n))}
		for i := range others {
			some = append(some, student(i))
		}
		deliver(t, s, j, Delivery{Origin: origin(7, 1, n+1), Settled: n, Operations: operations(store.OperationAdd, 2, 1000*(n+1), some...)})
	}
	row := sizeOf(operations(store.OperationAdd, 2, 1, student(0))) * others
	for after := uint64(0); after < batches; {
		page, next, err := s.Journal().Entries(after, most)
		if err != nil || len(page) == 0 || len(page) > most/row+1 {
			t.Fatalf("%d entries behind %d, each in a row of some %d bytes; %v", len(page), after, row, err)
		}
		for i, e := range page {
			if want := operation(store.OperationAdd, journalLink(int(after)+i), 0, 0).Key; !bytes.Equal(e.Key, want) || cap(e.Key) > 2*len(want) {
				t.Fatalf("entry %d has %q in %d bytes", after, e.Key, cap(e.Key))
			}
		}
		after = next
	}
}

// TestJournalHeld: the operations of forgotten batches are in memory, so their bytes are bounded, and
// only listed ones stay. The oldest runs go first.
func TestJournalHeld(t *testing.T) {
	s := openJournal(t, store.Options{}, Options{Journal: []string{journaledIRI}})
	j := idle(layoutOf(t, s, 0))
	const batches, links, most = 40, 5, 20 << 10
	s.journal.mostHeld = most
	for n := range uint64(batches) {
		o := origin(7, 1, n+1)
		some := []triple.Triple{student(int(n))}
		for i := range links {
			some = append(some, journalLink(i))
		}
		deliver(t, s, j, Delivery{Origin: o, Operations: operations(store.OperationAdd, 2, 100*(n+1), some...)})
		if err := s.Forget(ctx, []UnsettledBatch{entryOf(s, o)}); err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, held := range s.journal.held {
			if size += heldSize(held); len(held) != links {
				t.Fatalf("%d operations are held", len(held))
			}
		}
		if size > most || size != s.journal.heldBytes {
			t.Fatalf("%d bytes are held, counted as %d", size, s.journal.heldBytes)
		}
	}
	kept := s.journal.all
	if len(kept) == 0 || len(kept) == batches {
		t.Fatalf("%d runs are kept", len(kept))
	}
	first := s.journal.first
	if got := journalOf(t, s, first-1, 1<<20); len(got) != links*len(kept) || got[0].Stamp.Sequence != 100*uint64(batches-len(kept)+1)+1 {
		t.Errorf("%d entries of %d runs, from %v", len(got), len(kept), got[0].Stamp)
	}
	if _, _, err := s.Journal().Entries(first-2, 1); !errors.Is(err, ErrJournal) {
		t.Error(err)
	}
}

// TestJournalTrimmed: when the log is trimmed, the journal does not reach back, and drops its runs.
func TestJournalTrimmed(t *testing.T) {
	s := openJournal(t, store.Options{FeedRetention: changefeed.Retention{Bytes: 64 << 10}}, Options{Journal: []string{journaledIRI}})
	j := idle(layoutOf(t, s, 0))
	var some []triple.Triple
	for i := range 40 {
		some = append(some, journalLink(10+i))
	}
	for n := uint64(1); n <= 100; n++ {
		deliver(t, s, j, Delivery{Origin: origin(7, 1, n), Settled: n - 1, Operations: operations(store.OperationAdd, 2, 100*n, some...)})
		if got := journalOf(t, s, s.Journal().End()-40, 1<<20); len(got) != 40 || got[0].Stamp.Sequence != 100*n {
			t.Fatalf("batch %d: %d entries", n, len(got))
		}
	}
	if _, _, err := s.Journal().Entries(0, 1); !errors.Is(err, ErrJournal) {
		t.Error(err)
	}
	first := s.journal.first
	if first == 1 || len(s.journal.all) == 100 || first+uint64(40*len(s.journal.all)) != 4001 {
		t.Errorf("%d runs are kept from %d on", len(s.journal.all), first)
	}
	if got := journalOf(t, s, first-1, 1<<10); len(got) != 40*len(s.journal.all) {
		t.Errorf("%d entries of %d runs", len(got), len(s.journal.all))
	}
}

// TestJournalParts: operations of one batch that come one after the other, by deliveries and by
// backfills, are listed at each arrival. Those of a backfill are never committed, because they may
// be older than the entries before them. If the batch is forgotten, they all stay.
func TestJournalParts(t *testing.T) {
	s := openJournal(t, store.Options{}, Options{Journal: []string{journaledIRI}})
	j := idle(layoutOf(t, s, 0))
	o := origin(7, 1, 1)
	all := operations(store.OperationAdd, 2, 1, journalLink(1), student(1), journalLink(2), journalLink(3), journalLink(4))
	come := func(op Operation) {
		row := fillRow(keyspace.Storage, op)
		row.Unsettled, row.Operation = o, &op
		fill(t, s, row)
	}
	come(all[2])
	deliver(t, s, j, Delivery{Origin: o, Operations: all[:2]})
	come(all[3])
	deliver(t, s, j, Delivery{Origin: o, Operations: all})
	want := []int{2, 0, 3, 0, 2, 3, 4}
	check := func(what string, settled bool) {
		t.Helper()
		got := journalOf(t, s, 0, 1)
		if len(got) != len(want) {
			t.Fatalf("%s: %d entries", what, len(got))
		}
		for i, e := range got {
			filled := i == 0 || i == 2
			if !bytes.Equal(e.Key, all[want[i]].Key) || e.Stamp != all[want[i]].Stamp || e.Settled != (settled && !filled) {
				t.Errorf("%s: entry %d is %+v", what, i, e)
			}
		}
	}
	check("in flight", false)
	if len(s.journal.held) != 0 {
		t.Errorf("%d runs in memory", len(s.journal.held))
	}
	if err := s.Forget(ctx, []UnsettledBatch{entryOf(s, o)}); err != nil {
		t.Fatal(err)
	}
	check("forgotten", true)
	// The batch comes again, with its operations in another order.
	deliver(t, s, j, Delivery{Origin: o, Operations: []Operation{all[4], all[0]}})
	want = append(want, 4, 0)
	check("forgotten, and here again", false)
	if err := s.Forget(ctx, []UnsettledBatch{entryOf(s, o)}); err != nil {
		t.Fatal(err)
	}
	check("forgotten twice", true)
}

// TestJournalForgottenMeanwhile: a reader misses no operation while batches are forgotten.
func TestJournalForgottenMeanwhile(t *testing.T) {
	s := openJournal(t, store.Options{}, Options{Journal: []string{journaledIRI}})
	j := idle(layoutOf(t, s, 0))
	batches := fewer(200)
	for n := range batches {
		deliver(t, s, j, Delivery{Origin: origin(7, 1, uint64(n+1)), Operations: operations(store.OperationAdd, 2, uint64(n+1), journalLink(n%50))})
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for n := range batches {
			if err := s.Forget(ctx, []UnsettledBatch{entryOf(s, origin(7, 1, uint64(n+1)))}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for forgotten := false; !forgotten; {
		forgotten = len(s.UnsettledBatches()) == 0
		for i, e := range journalOf(t, s, 0, 1<<20) {
			if e.Stamp.Sequence != uint64(i+1) {
				t.Fatalf("entry %d is %+v", i+1, e)
			}
		}
	}
	wait.Wait()
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

// Tests of the count of changes in the journal.

package replica

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/triple"
)

// noteOn is an annotation of a triple or its removal.
func noteOn(tr triple.Triple, id string, sequence uint64, data []byte) Operation {
	o := operation(store.OperationAnnotate, tr, 2, sequence)
	o.Note = &Note{ApplicationID: id, On: triple.Stamp{Epoch: 2, Sequence: 1}, Removed: data == nil, Data: data}
	return o
}

// TestJournalChanges: each change of triples with one of the predicates, or of their annotations,
// is counted, even if no operations are kept. Nothing else is counted.
func TestJournalChanges(t *testing.T) {
	for _, countOnly := range []bool{false, true} {
		fs := memdisk.New()
		o, journal := store.Options{FS: fs}, Options{Journal: []string{journaledIRI}, CountOnly: countOnly}
		s := openJournal(t, o, journal)
		if err := s.SetIdentity(store.Identity{Cluster: "c", ClusterID: "1"}); err != nil {
			t.Fatal(err)
		}
		j := idle(layoutOf(t, s, 0))
		link, other := journalLink(1), student(1)
		batch := uint64(0)
		come := func(o ...Operation) func() {
			return func() {
				batch++
				deliver(t, s, j, Delivery{Origin: origin(7, 1, batch), Operations: o})
			}
		}
		stage(t, s, "load", 5, journalLink(3), journalLink(4))
		if err := s.SetLoads(map[uint64]uint64{5: 3}); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			what                string
			do                  func()
			changes, operations uint64
		}{
			{"nothing", func() {}, 0, 0},
			{"an add", come(operation(store.OperationAdd, link, 2, 1)), 1, 1},
			{"another triple", come(operation(store.OperationAdd, other, 2, 2), noteOn(other, "a", 3, []byte("x"))), 0, 0},
			{"an annotation", come(noteOn(link, "a", 4, []byte("x"))), 1, 0},
			{"another one", come(noteOn(link, "a", 5, []byte("y"))), 1, 0},
			{"one that is removed", come(noteOn(link, "a", 6, nil)), 1, 0},
			{"a batch", come(noteOn(link, "b", 7, []byte("z")), operation(store.OperationAdd, journalLink(2), 2, 8), operation(store.OperationDelete, link, 2, 9)), 3, 2},
			{"the same again", func() { batch--; come(operation(store.OperationDelete, link, 2, 9))() }, 0, 0},
			{"what settles", func() { s.Settle(origin(7, 1, batch), nil, nil) }, 0, 0},
			{"a bulk load", func() {
				if err := s.Staging().TakeIn(ctx, "load", 5, "p"); err != nil {
					t.Fatal(err)
				}
			}, 1, 1},
			{"a repair", func() {
				done := s.Journal().Break()
				if _, ok := s.Journal().Changes(); ok {
					t.Error("changes are told while rows change that nobody tells of")
				}
				done()
				done()
			}, 1, 1},
			{"two at once", func() {
				first, second := s.Journal().Break(), s.Journal().Break()
				first()
				if _, ok := s.Journal().Changes(); ok {
					t.Error("changes are told while rows change that nobody tells of")
				}
				second()
			}, 2, 2},
		} {
			before, end := changesOf(t, s), s.Journal().End()
			step.do()
			if got := changesOf(t, s) - before; got != step.changes {
				t.Errorf("count only %v, %s: %d changes, want %d", countOnly, step.what, got, step.changes)
			}
			if got := s.Journal().End() - end; got != step.operations {
				t.Errorf("count only %v, %s: %d operations, want %d", countOnly, step.what, got, step.operations)
			}
			kept := !countOnly && step.what != "a bulk load" && step.what != "a repair" && step.what != "two at once"
			some, _, err := s.Journal().Entries(end, 1<<20)
			if ok := err == nil; ok != (kept || step.operations == 0) || ok && uint64(len(some)) != step.operations {
				t.Errorf("count only %v, %s: %d operations are kept, %v", countOnly, step.what, len(some), err)
			}
		}
		if countOnly && (s.journal.all != nil || len(s.journal.held) != 0) {
			t.Errorf("%d runs are kept", len(s.journal.all))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		// Another process counts from zero, so a reader must compare the process, too.
		if n := changesOf(t, openJournal(t, o, journal)); n != 0 {
			t.Errorf("count only %v: %d changes since the process began", countOnly, n)
		}
	}
}

func changesOf(t *testing.T, s *Store) uint64 {
	t.Helper()
	n, ok := s.Journal().Changes()
	if !ok {
		t.Fatal("changes are not told")
	}
	return n
}

// If changes are not counted, ok must be false.
func TestJournalChangesOff(t *testing.T) {
	s := openMem(t, store.Options{})
	s.Journal().Break()()
	if n, ok := s.Journal().Changes(); ok || n != 0 {
		t.Errorf("%d changes, %v", n, ok)
	}
}

package node

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

// This file is the journal: which operations on triples with some predicates have come
// to this machine since its process began, in memory. It is for those who keep copies of
// what other machines hold. While these are away, the journals of the others tell what
// has changed since, as every operation comes to all machines that hold its triple.
//
// Beside it changes are counted, annotations among them: while no machine's count grows,
// nothing changes of these triples.

// JournalMark is a place in a machine's journal: behind the operation of a number, as a
// process of the machine counts.
type JournalMark struct{ Incarnation, Number uint64 }

// ErrJournal says that a machine's journal does not reach back to a mark.
var ErrJournal = errors.New("the journal does not reach back")

// journalBytes bounds what is kept of the journal, where nobody says; the oldest operations
// go first.
const journalBytes = 64 << 20

// JournalEntry is an add or a delete.
type JournalEntry struct {
	Key     []byte // the triple's in SPO
	Deleted bool
	Stamp   triple.Stamp
	// Settled says that the operation was known to be settled when the journal was read, and
	// has come in its turn: after all older ones of its epoch on the same triple.
	Settled bool
}

// journaled is an operation in the journal.
type journaled struct {
	key     []byte
	deleted bool
	stamp   triple.Stamp
	origin  Origin
	filled  bool // brought by a walk, maybe behind what has come since
}

// journaledBytes is what an operation takes in the journal beside its key.
const journaledBytes = 96

// journal numbers operations 1, 2, 3 and so on. It is off where no predicate is named.
type journal struct {
	predicates [][]byte // keys of SPO have one behind their subject, with what ends that
	most       int64

	mu    sync.Mutex
	all   []journaled
	first uint64 // number of the first one that is kept
	bytes int64

	changes  uint64 // operations, those on annotations too, and what else has changed rows
	breaking int    // how many are changing rows that no operation tells of
}

// init begins a journal of which up to most bytes are kept: 0 is [journalBytes], and with
// less than that operations are counted only.
func (j *journal) init(predicates []string, most int64) {
	if most == 0 {
		most = journalBytes
	}
	j.first, j.most = 1, max(most, 0)
	for _, iri := range predicates {
		term, _ := triple.AppendTerm([]byte{0x00, 0x01}, triple.NewIRI(iri))
		j.predicates = append(j.predicates, term)
	}
}

// add takes in operations of a batch. Call it when they are in the list of what is not settled, and
// before anybody is told that they have come.
func (j *journal) add(origin Origin, operations []Operation, filled bool) {
	if len(j.predicates) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range operations {
		o := &operations[i]
		pair, ok := triple.KeyPair(o.Key)
		if !ok || !slices.ContainsFunc(j.predicates, func(p []byte) bool { return bytes.HasSuffix(pair, p) }) {
			continue
		}
		j.changes++
		switch {
		case o.Kind == OperationAnnotate:
		case j.most == 0:
			j.first++
		default:
			if o.Kind == OperationClaim {
				continue
			}
			j.all = append(j.all, journaled{bytes.Clone(o.Key), o.Kind == OperationDelete, o.Stamp, origin, filled})
			j.bytes += int64(len(o.Key)) + journaledBytes
		}
	}
	dropped := 0
	for j.bytes > j.most {
		j.bytes -= int64(len(j.all[dropped].key)) + journaledBytes
		dropped++
	}
	j.drop(dropped)
}

// drop forgets the oldest operations.
func (j *journal) drop(n int) {
	clear(j.all[:n])
	j.all = j.all[n:]
	j.first += uint64(n)
}

// any notes that there is more than is told one by one, as after a bulk load: nobody can
// go on from before.
func (j *journal) any() {
	if len(j.predicates) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget()
}

// forget forgets all, and one operation more.
func (j *journal) forget() {
	j.first += uint64(len(j.all)) + 1
	j.all, j.bytes = nil, 0
	j.changes++
}

// BreakJournal says that rows change that no operation tells of, as by a repair, until done
// is called: nobody can go on from before, and changes are not told meanwhile.
func (s *Store) BreakJournal() (done func()) {
	j := &s.journal
	if len(j.predicates) == 0 {
		return func() {}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.breaking++
	return sync.OnceFunc(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.breaking--
		j.forget()
	})
}

// JournalChanges counts what has changed of triples with one of [Options.Journal] on this
// machine since its process began: adds, deletes, annotations set or removed, bulk loads
// and repairs. A change is counted before anybody can see it, so that what was read since
// an equal count is still so, but for what had come and could not be seen yet when the
// count was taken ([Store.UnsettledBatches] has it). ok is false where nothing is counted,
// and while rows change that no operation tells of.
func (s *Store) JournalChanges() (count uint64, ok bool) {
	j := &s.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changes, len(j.predicates) > 0 && j.breaking == 0
}

// JournalEnd returns the number of the last operation in the journal.
func (s *Store) JournalEnd() uint64 {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return s.journal.first + uint64(len(s.journal.all)) - 1
}

// Journal returns the adds and deletes behind a number that have come to this machine, of
// triples with one of [Options.Journal]; of about most bytes. next is the number of the
// last one. Where ok is false, some of them are not known any more: the process has begun,
// or a bulk load was taken in, or there were more since than [Options.JournalBytes]. An operation is in the
// journal before it is settled; it may be there more than once, and in any order of
// stamps. Keys must not be modified.
func (s *Store) Journal(after uint64, most int) (entries []JournalEntry, next uint64, ok bool) {
	some, ok := s.journal.behind(after, most)
	if !ok {
		return nil, 0, false
	}
	entries = make([]JournalEntry, len(some))
	for i := range some {
		j := &some[i]
		entries[i] = JournalEntry{j.key, j.deleted, j.stamp, !j.filled && s.unsettled.isSettled(j.origin)}
	}
	return entries, after + uint64(len(some)), true
}

func (j *journal) behind(after uint64, most int) ([]journaled, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if after+1 < j.first || after+1 > j.first+uint64(len(j.all)) || len(j.predicates) == 0 {
		return nil, false
	}
	rest := j.all[after+1-j.first:]
	n := 0
	for ; n < len(rest) && most > 0; n++ {
		most -= len(rest[n].key)
	}
	return slices.Clone(rest[:n]), true
}

// isSettled reports whether a batch that has come is known to be settled.
func (u *unsettled) isSettled(origin Origin) bool {
	if u.count.Load() == 0 {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.streams[origin.stream()]
	if q == nil || origin.Batch <= q.heard.Settled {
		return true
	}
	_, found := q.find(origin.Batch)
	return !found
}

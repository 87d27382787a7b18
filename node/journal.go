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

// JournalMark is a place in a machine's journal: behind the operation of a number, as a
// process of the machine counts.
type JournalMark struct{ Incarnation, Number uint64 }

// ErrJournal says that a machine's journal does not reach back to a mark.
var ErrJournal = errors.New("the journal does not reach back")

// journalBytes bounds what is kept of the journal; the oldest operations go first.
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
	most       int64    // journalBytes, but for tests

	mu    sync.Mutex
	all   []journaled
	first uint64 // number of the first one that is kept
	bytes int64
}

func (j *journal) init(predicates []string) {
	j.first, j.most = 1, journalBytes
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
		if o.Kind == OperationAnnotate {
			continue
		}
		pair, ok := triple.KeyPair(o.Key)
		if ok && slices.ContainsFunc(j.predicates, func(p []byte) bool { return bytes.HasSuffix(pair, p) }) {
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
	j.first += uint64(len(j.all)) + 1
	j.all, j.bytes = nil, 0
}

// BreakJournal says that rows have changed that no operation told of, as by a repair:
// nobody can go on from before.
func (s *Store) BreakJournal() { s.journal.any() }

// JournalEnd returns the number of the last operation in the journal.
func (s *Store) JournalEnd() uint64 {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return s.journal.first + uint64(len(s.journal.all)) - 1
}

// Journal returns the adds and deletes behind a number that have come to this machine, of
// triples with one of [Options.Journal]; of about most bytes. next is the number of the
// last one. Where ok is false, some of them are not known any more: the process has begun,
// or a bulk load was taken in, or there were too many since. An operation is in the
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

// isSettled tells whether a batch that has come is known to be settled.
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

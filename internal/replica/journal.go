// The journal: the latest operations on some predicates, in memory.

package replica

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// The journal holds the operations on triples with some predicates since the process began. It
// serves machines that cache other machines' rows. When a machine is down, the journals of the
// others list its changes, because every operation reaches all holders of its triple.
//
// The journal also counts changes, annotations among them. If no machine's count grows, these
// triples do not change.

// JournalMark is a position in a machine's journal: after an operation, by the numbers of one
// process.
type JournalMark struct{ Incarnation, Number uint64 }

// ErrJournal means that a machine's journal does not reach back to a mark.
var ErrJournal = errors.New("the journal does not reach back")

// journalBytes is the default limit of the journal. When it is full, the oldest operations go
// first.
const journalBytes = 64 << 20

// JournalEntry is an add or a delete.
type JournalEntry struct {
	Key     []byte // the triple's in SPO
	Deleted bool
	Stamp   triple.Stamp
	// Settled means that the operation was committed when the journal was read, and came in order:
	// after all older ones of its epoch on the same triple.
	Settled bool
}

// journaled is an operation in the journal.
type journaled struct {
	key     []byte
	deleted bool
	stamp   triple.Stamp
	origin  Origin
	filled  bool // brought by a backfill, so it may be older than the entries before it
}

// journaledBytes is the memory of an operation in the journal beside its key.
const journaledBytes = 96

// Journal is the journal of one machine. It numbers operations from 1. It is off if no predicate is
// set. It is safe for concurrent use.
type Journal struct {
	inFlight   *inFlight
	predicates [][]byte // followed by the end of the subject, because a key of SPO has one there
	most       int64

	mu    sync.Mutex
	all   []journaled
	first uint64 // number of the first entry
	bytes int64

	changes  uint64 // operations, annotations too, and other changes of rows
	breaking int    // how many callers change rows without an operation
}

// init begins a journal of at most most bytes. If most is 0, the limit is [journalBytes]. If it is
// negative, operations are only counted.
func (j *Journal) init(batches *inFlight, predicates []string, most int64) {
	if most == 0 {
		most = journalBytes
	}
	j.inFlight, j.first, j.most = batches, 1, max(most, 0)
	for _, iri := range predicates {
		term, _ := triple.AppendTerm([]byte{0x00, 0x01}, triple.NewIRI(iri))
		j.predicates = append(j.predicates, term)
	}
}

// add appends the operations of a batch. It must be called when they are in the in-flight list,
// and before the delivery is answered.
func (j *Journal) add(origin Origin, operations []Operation, filled bool) {
	if len(j.predicates) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// 1. Keep the operations on one of the predicates. Annotations are only counted, because the
	// journal lists adds and deletes.
	for i := range operations {
		o := &operations[i]
		pair, ok := triple.KeyPair(o.Key)
		if !ok || !slices.ContainsFunc(j.predicates, func(p []byte) bool { return bytes.HasSuffix(pair, p) }) {
			continue
		}
		j.changes++
		switch {
		case o.Kind == store.OperationAnnotate:
		case j.most == 0:
			j.first++
		default:
			if o.Kind == store.OperationClaim {
				continue
			}
			j.all = append(j.all, journaled{bytes.Clone(o.Key), o.Kind == store.OperationDelete, o.Stamp, origin, filled})
			j.bytes += int64(len(o.Key)) + journaledBytes
		}
	}
	// 2. Drop the oldest entries when the journal is too large.
	dropped := 0
	for j.bytes > j.most {
		j.bytes -= int64(len(j.all[dropped].key)) + journaledBytes
		dropped++
	}
	j.drop(dropped)
}

// drop removes the n oldest operations.
func (j *Journal) drop(n int) {
	clear(j.all[:n])
	j.all = j.all[n:]
	j.first += uint64(n)
}

// any records changes without operations, as after a bulk load. No reader may continue from an
// earlier number.
func (j *Journal) any() {
	if len(j.predicates) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget()
}

// forget removes all entries and counts one more operation.
func (j *Journal) forget() {
	j.first += uint64(len(j.all)) + 1
	j.all, j.bytes = nil, 0
	j.changes++
}

// Break must be called before rows change without operations, as by a repair. No reader may
// continue from an earlier number, and changes are not counted until done is called.
func (j *Journal) Break() (done func()) {
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

// Changes counts the changes of triples with one of [Options.Journal] on this machine since
// its process began: adds, deletes, annotations set or removed, bulk loads and repairs. A change
// is counted before a reader can see it. If the count is unchanged, earlier reads are still valid,
// except for operations in flight when the count was taken ([Store.UnsettledBatches] has them). ok
// is false if nothing is counted, or when rows change without operations.
func (j *Journal) Changes() (count uint64, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changes, len(j.predicates) > 0 && j.breaking == 0
}

// End returns the number of the last operation in the journal.
func (j *Journal) End() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first + uint64(len(j.all)) - 1
}

// Entries returns the adds and deletes after a number, of triples with one of [Options.Journal].
// It returns about most bytes; next is the number of the last one. If ok is false, some entries
// are missing. The process has restarted, a bulk load was taken in, or there were more than
// [Options.JournalBytes]. An operation enters the journal before it is committed. It may be there
// more than once, and in any order of stamps. The caller must not modify keys.
func (j *Journal) Entries(after uint64, most int) (entries []JournalEntry, next uint64, ok bool) {
	some, ok := j.behind(after, most)
	if !ok {
		return nil, 0, false
	}
	entries = make([]JournalEntry, len(some))
	for i := range some {
		o := &some[i]
		entries[i] = JournalEntry{o.key, o.deleted, o.stamp, !o.filled && j.inFlight.isSettled(o.origin)}
	}
	return entries, after + uint64(len(some)), true
}

func (j *Journal) behind(after uint64, most int) ([]journaled, bool) {
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

// isSettled reports whether a received batch is committed.
func (u *inFlight) isSettled(origin Origin) bool {
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

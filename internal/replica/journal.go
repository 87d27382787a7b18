// The journal: the latest operations on some predicates, in the order of their arrival.

package replica

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"unsafe"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// The journal lists the operations on triples with some predicates since the process began, by
// their arrival. It serves machines that cache other machines' rows. When a machine is down, the
// journals of the others list its changes, because every operation reaches all holders of its
// triple. An operation is listed before it is committed.
//
// The journal is an index in memory. It has 32 bytes for each batch. The operations are read from
// the batches' rows, which the log keeps. See journal_read.go.
//
// The journal also counts changes, annotations among them. If no machine's count grows, these
// triples do not change.

// JournalMark is a position in a machine's journal: after an operation, by the numbers of one
// process.
type JournalMark struct{ Incarnation, Number uint64 }

// ErrJournal means that a machine's journal does not reach back to a mark.
var ErrJournal = errors.New("the journal does not reach back")

// The default limits of the journal: its runs, and the bytes of operations that it holds in memory.
// When it is full, the oldest runs go first.
const (
	journalRuns = 256 << 10
	journalHeld = 16 << 20
)

// JournalEntry is an add or a delete.
type JournalEntry struct {
	Key     []byte // the triple's in SPO
	Deleted bool
	Stamp   triple.Stamp
	// Settled means that the operation was committed when the journal was read, and came in order:
	// after all older ones of its epoch on the same triple.
	Settled bool
}

// run is operations of one batch that arrived together.
type run struct {
	stream *stream
	batch  uint64
	last   uint64 // the journal's number of the last listed operation
	// The run is the operations [from, to) of the batch's row. Some may not be listed.
	from, to uint32
}

func (r *run) origin() Origin { return Origin{r.stream.Machine, r.stream.Incarnation, r.batch} }

// filledRun is set in run.from if a backfill brought the operations. Such a run may be older than
// the runs before it.
const filledRun = 1 << 31

func (r *run) filled() bool { return r.from&filledRun != 0 }

func (r *run) begin() uint32 { return r.from &^ filledRun }

// Journal is the journal of one machine. It numbers the listed operations from 1. It is off if no
// predicate is set. It is safe for concurrent use, except that only one commit at a time may use
// add, hold, written and failed.
type Journal struct {
	store      *Store
	predicates [][]byte // followed by the end of the subject, because a key of SPO has one there
	most       int      // number of runs
	mostHeld   int      // bytes of held

	mu      sync.Mutex
	streams map[stream]*stream
	all     []run
	first   uint64 // number of the first listed operation
	// held has the listed operations of runs without a row in the log, by run.last; writing has all
	// operations of the runs of the present commit.
	//
	// Invariant: if a run is in neither, its row can be read, unless the log is trimmed.
	held, writing map[uint64][]Operation
	heldBytes     int // of held

	changes  uint64 // operations, annotations too, and other changes of rows
	breaking int    // how many callers change rows without an operation
}

// init begins a journal. If countOnly is set, it lists no operations.
func (j *Journal) init(s *Store, predicates []string, countOnly bool) {
	j.store, j.first, j.most, j.mostHeld = s, 1, journalRuns, journalHeld
	if countOnly {
		j.most = 0
	}
	j.streams, j.held, j.writing = map[stream]*stream{}, map[uint64][]Operation{}, map[uint64][]Operation{}
	for _, iri := range predicates {
		term, _ := triple.AppendTerm([]byte{0x00, 0x01}, triple.NewIRI(iri))
		j.predicates = append(j.predicates, term)
	}
}

// concerns reports whether the triple of an operation has one of the predicates.
func (j *Journal) concerns(o *Operation) bool {
	pair, ok := triple.KeyPair(o.Key)
	return ok && slices.ContainsFunc(j.predicates, func(p []byte) bool { return bytes.HasSuffix(pair, p) })
}

// lists reports whether the journal lists an operation. Annotations are only counted.
func (j *Journal) lists(o *Operation) bool {
	return (o.Kind == store.OperationAdd || o.Kind == store.OperationDelete) && j.concerns(o)
}

// add lists the operations that arrived of a batch. It must be called when the batch is in the
// in-flight list, and before its row is written.
func (j *Journal) add(a *arrived) {
	if len(j.predicates) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range a.operations {
		if j.concerns(&a.operations[i]) {
			j.changes++
		}
	}
	// 1. The first arrival of a batch is a run. Others may repeat operations of the row.
	row := a.batch.operations
	if !a.again {
		j.addRun(a, 0, len(row))
		return
	}
	// 2. Find each operation in the row. Consecutive ones are a run.
	from, to := 0, 0
	at := positions(row)
	for i := range a.operations {
		n := at(&a.operations[i])
		if n != to {
			j.addRun(a, from, to)
			from = n
		}
		to = n + 1
	}
	j.addRun(a, from, to)
}

// positions returns a function that returns the index of an operation in a batch.
func positions(row []Operation) func(*Operation) int {
	have := make(map[string][]int, len(row))
	for i := range row {
		have[string(row[i].Key)] = append(have[string(row[i].Key)], i)
	}
	return func(o *Operation) int {
		for _, i := range have[string(o.Key)] {
			if row[i].Stamp == o.Stamp && row[i].Kind == o.Kind {
				return i
			}
		}
		return 0 // cannot be: the row has all operations that arrived
	}
}

// addRun lists the operations [from, to) of a batch. j.mu must be held.
func (j *Journal) addRun(a *arrived, from, to int) {
	operations := a.batch.operations[from:to]
	listed := 0
	for i := range operations {
		if j.lists(&operations[i]) {
			listed++
		}
	}
	if listed == 0 {
		return
	}
	if j.most == 0 {
		j.first += uint64(listed)
		return
	}
	// 1. Append the run. Its operations are held until the row is written.
	id := a.batch.origin.stream()
	if j.streams[id] == nil {
		j.streams[id] = &id
	}
	r := run{stream: j.streams[id], batch: a.batch.origin.Batch, last: j.end() + uint64(listed), from: uint32(from), to: uint32(to)}
	if a.filled {
		r.from |= filledRun
	}
	j.all = append(j.all, r)
	j.writing[r.last] = operations
	// 2. Drop the oldest runs if there are too many, or if the log is trimmed behind them.
	n := max(len(j.all)-j.most, 0)
	for n < len(j.all) && j.lost(&j.all[n]) {
		n++
	}
	j.drop(n)
}

// lost reports whether the operations of a run cannot be read. j.mu must be held.
func (j *Journal) lost(r *run) bool {
	return j.held[r.last] == nil && j.writing[r.last] == nil && j.store.log.TrimmedBatch(*r.stream, r.batch)
}

// end returns the number of the last listed operation. j.mu must be held.
func (j *Journal) end() uint64 {
	if n := len(j.all); n > 0 {
		return j.all[n-1].last
	}
	return j.first - 1
}

// drop removes the n oldest runs. j.mu must be held.
func (j *Journal) drop(n int) {
	if n == 0 {
		return
	}
	for i := range j.all[:n] {
		last := j.all[i].last
		j.heldBytes -= heldSize(j.held[last])
		delete(j.held, last)
		delete(j.writing, last)
	}
	j.first = j.all[n-1].last + 1
	j.all = j.all[n:]
}

// hold keeps the operations of batches in memory, because the commit deletes their rows. It must be
// called before that. batches maps origins to the operations of the rows.
func (j *Journal) hold(batches map[Origin][]Operation) {
	if len(batches) == 0 || len(j.predicates) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// 1. A run of a batch that was forgotten before is held already, and the row is another one.
	for i := range j.all {
		r := &j.all[i]
		row, ok := batches[r.origin()]
		if !ok || j.held[r.last] != nil {
			continue
		}
		operations := j.writing[r.last]
		if operations == nil && int(r.to) <= len(row) {
			operations = row[r.begin():r.to]
		}
		delete(j.writing, r.last)
		j.keep(r.last, operations)
	}
	// 2. Drop the oldest runs until the held operations are within the limit.
	n, size := 0, j.heldBytes
	for ; n < len(j.all) && size > j.mostHeld; n++ {
		size -= heldSize(j.held[j.all[n].last])
	}
	j.drop(n)
}

// keep holds the listed operations of a run. They share no memory, because they may stay for long.
// j.mu must be held.
func (j *Journal) keep(last uint64, operations []Operation) {
	var listed []Operation
	for i := range operations {
		if o := &operations[i]; j.lists(o) {
			listed = append(listed, Operation{Kind: o.Kind, Stamp: o.Stamp, Key: bytes.Clone(o.Key)})
		}
	}
	j.held[last] = listed
	j.heldBytes += heldSize(listed)
}

// sizeOf returns about the bytes of operations in the row of a batch.
func sizeOf(operations []Operation) (bytes int) {
	for i := range operations {
		o := &operations[i]
		bytes += len(o.Key) + len(o.Long)
		if o.Note != nil {
			bytes += len(o.Note.Data)
		}
	}
	return bytes
}

// heldSize returns about the bytes of operations in memory.
func heldSize(operations []Operation) int {
	return sizeOf(operations) + len(operations)*int(unsafe.Sizeof(Operation{}))
}

// written must be called when the commit is written. From then on the operations are read from rows.
func (j *Journal) written() {
	if len(j.predicates) == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.writing)
}

// failed must be called when the commit has failed. Its runs stay as they are, and have no rows.
func (j *Journal) failed() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for last, operations := range j.writing {
		j.keep(last, operations)
	}
	clear(j.writing)
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

// forget removes all runs and counts one more operation.
func (j *Journal) forget() {
	j.first = j.end() + 2
	j.all = nil
	clear(j.held)
	clear(j.writing)
	clear(j.streams)
	j.heldBytes = 0
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
	return j.end()
}

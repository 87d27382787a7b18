// The in-flight list: batches that are not committed yet, and their sequencers.

package replica

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/trie"
)

// inFlight is a holder's list of batches in flight and of their sequencers, in memory.
//
// The rows of a batch are on the disk of this holder before it is known whether the other holders
// have them. If a reader returned such a row, and its sequencer and this holder were lost, a later
// reader would not find it: the triple would not be linearizable. So a reader must find out which
// batches in flight have rows in its range, and which of these are committed. It takes the others out of
// its rows (undo.go). And if a sequencer is lost, the others must find what it left, because its
// operations only go forward.
//
// Invariants:
//
//  1. An entry is in the list before its rows are visible in the database, and until its batch is
//     committed, by its own sequencer or by those that took its operations over.
//  2. heard.Settled, the watermark of a stream, never falls. All batches up to it are committed, and
//     none of them is in the list or enters it again.
//  3. A batch above the watermark that has left the list because it is committed is in done. So a
//     late repetition does not enter it again.
//  4. An entry loses no operation that was written. A repetition under another view, or a backfill, may
//     add some; that makes a new entry, because readers share the old one.
//  5. heard.Last counts a batch only when it is durable here: the leader takes it as proof.
//
// A commit of deliveries and a reader meet like this:
//
//	commitStamped, one at a time             reader
//	  settle: the watermarks of deliveries     take a snapshot
//	  enter each batch                         in(range): the batches in flight
//	  record what the rows overwrite           learn from their sequencers which are committed
//	  write rows, batches and streams as       return the rows of the snapshot, as they were before
//	    one Pebble batch, and sync               the batches that are not
//	  failed: leave each batch, unless
//	    its rows may be visible
//	  received(batch): it counts as proof
//
// The snapshot must come first. Then the batch of each row in it was entered before, by invariant 1,
// and is found unless it is committed. A batch that is found, but whose rows came after the snapshot,
// does no harm.
//
// Settle records a report in memory and marks the stream as dirty, because a sync for each report
// would cost as much as a write. The next commit writes the row of the stream. A crash before that
// puts some committed batches back into the list, and the sequencer reports them again. The batches
// themselves stay on the disk as the log of the change feed: only those above the watermark are in
// flight when a store opens (read).
type inFlight struct {
	count atomic.Int64 // of entries

	mu      sync.Mutex
	streams map[stream]*sequencer
	dirty   map[stream]bool // their rows must be written by the next commit
	index   inFlightIndex
	past    past
}

// sequencer is one incarnation of a sequencer.
type sequencer struct {
	heard   Heard
	entries []*batchEntry // ascending by batch
	// done are the batches above heard.Settled that are committed, ascending. They must not enter
	// again, because their rows are complete.
	done []uint64
}

// batchEntry is a batch in flight. Origin and operations are immutable, because readers share
// them: a merge makes a new entry. The list's mu guards the rest.
type batchEntry struct {
	origin     Origin
	epoch      uint64 // in which it was sent; 0 if unknown
	operations []Operation
	keys       [orderCount][]string // only in orders that were read
	// overwritten is what the rows of the batch have overwritten, ascending by key; nil if readers must wait
	// for the batch. If a row is missing, see ErrUnknownBefore.
	overwritten []overwritten
}

func newEntry(origin Origin, epoch uint64, operations []Operation) *batchEntry {
	return &batchEntry{origin: origin, epoch: epoch, operations: operations}
}

func (u *inFlight) init() {
	u.streams = map[stream]*sequencer{}
	u.dirty = map[stream]bool{}
	u.index.init()
}

func (u *inFlight) stream(id stream) *sequencer {
	q := u.streams[id]
	if q == nil {
		q = &sequencer{heard: Heard{Sequencer: id.Machine, Incarnation: id.Incarnation}}
		u.streams[id] = q
	}
	return q
}

func (q *sequencer) find(batch uint64) (int, bool) {
	return slices.BinarySearchFunc(q.entries, batch, func(e *batchEntry, batch uint64) int { return cmp.Compare(e.origin.Batch, batch) })
}

// enter adds operations to a batch, which was sent in an epoch; 0 is unknown, of a backfill. It
// returns the entry before and after. now is nil if nothing must be written, because the batch is
// committed or has the operations and the epoch already.
func (u *inFlight) enter(origin Origin, epoch uint64, operations []Operation) (before, now *batchEntry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.stream(origin.stream())
	if _, done := slices.BinarySearch(q.done, origin.Batch); done || origin.Batch <= q.heard.Committed || len(operations) == 0 {
		return nil, nil
	}
	at, ok := q.find(origin.Batch)
	if !ok {
		now = newEntry(origin, epoch, operations)
		q.entries = slices.Insert(q.entries, at, now)
		u.added(now)
		return nil, now
	}
	before = q.entries[at]
	all := merged(before.operations, operations)
	if len(all) == len(before.operations) && epoch <= before.epoch {
		return before, nil
	}
	now = newEntry(origin, max(epoch, before.epoch), all)
	q.entries[at] = now
	u.removed(before)
	u.added(now)
	return before, now
}

// leave reverts enter.
func (u *inFlight) leave(before, now *batchEntry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.stream(now.origin.stream())
	at, ok := q.find(now.origin.Batch)
	if !ok || q.entries[at] != now {
		return // committed meanwhile
	}
	u.removed(now)
	if before == nil {
		q.entries = slices.Delete(q.entries, at, at+1)
		return
	}
	again := newEntry(before.origin, before.epoch, before.operations)
	q.entries[at] = again
	u.added(again)
}

// merged returns operations, and each of more if it is new.
func merged(operations, more []Operation) []Operation {
	all := slices.Clip(operations)
	have := make(map[string][]int, len(all))
	for i := range all {
		have[string(all[i].Key)] = append(have[string(all[i].Key)], i)
	}
	for i := range more {
		o := &more[i]
		same := func(j int) bool { return all[j].Stamp == o.Stamp && all[j].Kind == o.Kind }
		if slices.ContainsFunc(have[string(o.Key)], same) {
			continue
		}
		have[string(o.Key)] = append(have[string(o.Key)], len(all))
		all = append(all, *o)
	}
	return all
}

// added and removed update the count and the index.
func (u *inFlight) added(e *batchEntry) {
	u.count.Add(1)
	u.index.add(e)
}

func (u *inFlight) removed(e *batchEntry) {
	e.overwritten = nil // the index may keep the entry for a while
	left := u.count.Add(-1)
	u.index.remove(e, int(left))
}

// commit marks the batches up to upTo as committed, except for the open ones, and records acks.
// The watermark is the greatest number with no open batch at or below it. The stream's row keeps
// the watermark. Entries above it are removed one by one, and are in flight again after a restart.
func (u *inFlight) commit(id stream, upTo uint64, open []uint64, acks map[trie.MachineID]uint64, ticks *CommitTicks) {
	u.mu.Lock()
	defer u.mu.Unlock()
	// 1. Raise the watermark. If it or the acks change, the stream's row must be written.
	watermark := upTo
	// The watermark must stay below the first open batch.
	if len(open) > 0 {
		watermark = min(upTo, open[0]-1)
	}
	q := u.stream(id)
	changed := q.acknowledge(watermark, acks)
	if watermark > q.heard.Committed {
		q.heard.Committed = watermark
		changed = true
	}
	if changed {
		u.dirty[id] = true
	}
	// 2. Remove the committed entries. Their rows stay, because the change feed reads them.
	end, ok := q.find(upTo)
	if ok {
		end++
	}
	left := slices.DeleteFunc(slices.Clone(q.entries[:end]), func(e *batchEntry) bool {
		if _, isOpen := slices.BinarySearch(open, e.origin.Batch); isOpen {
			return false
		}
		u.committed(q, e, ticks)
		return true
	})
	if len(left) < end {
		q.entries = append(left, q.entries[end:]...)
	}
	below, _ := slices.BinarySearch(q.done, q.heard.Committed+1)
	q.done = q.done[below:]
}

// committed moves an entry from the list to the past. The caller takes it out of the entries of q.
func (u *inFlight) committed(q *sequencer, e *batchEntry, ticks *CommitTicks) {
	u.past.add(e, ticks)
	u.removed(e)
	if n, found := slices.BinarySearch(q.done, e.origin.Batch); !found {
		q.done = slices.Insert(q.done, n, e.origin.Batch)
	}
}

// commitSome marks some batches as committed. They must ascend.
func (u *inFlight) commitSome(id stream, batches []uint64, ticks *CommitTicks) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.streams[id]
	if q == nil {
		return
	}
	for _, batch := range batches {
		if at, ok := q.find(batch); ok {
			e := q.entries[at]
			q.entries = slices.Delete(q.entries, at, at+1)
			u.committed(q, e, ticks)
		}
	}
}

// acknowledge records the acks of a watermark. A holder's ack only grows, because messages may
// overtake each other. If a holder is missing from acks, it is removed.
func (q *sequencer) acknowledge(committed uint64, acks map[trie.MachineID]uint64) (changed bool) {
	if acks == nil || committed < q.heard.Committed {
		return false
	}
	now := make(map[trie.MachineID]uint64, len(acks))
	for machine, batch := range acks {
		now[machine] = max(batch, q.heard.Acks[machine])
	}
	changed = !maps.Equal(now, q.heard.Acks)
	q.heard.Acks = now
	return changed
}

// covered reports whether the entry of a batch has no more operations than b had. This is enough
// because operations are only added. It is true if there is no entry.
func (u *inFlight) covered(b InFlightBatch) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.streams[b.Origin.stream()]
	if q == nil {
		return true
	}
	at, ok := q.find(b.Origin.Batch)
	return !ok || len(q.entries[at].operations) <= len(b.Operations)
}

// remove removes entries that another sequencer has committed.
func (u *inFlight) remove(origins []Origin) {
	u.mu.Lock()
	defer u.mu.Unlock()
	// Each list is gone through once, because there may be many entries.
	gone := map[*sequencer]map[uint64]bool{}
	for _, origin := range origins {
		if q := u.streams[origin.stream()]; q != nil {
			if gone[q] == nil {
				gone[q] = map[uint64]bool{}
			}
			gone[q][origin.Batch] = true
		}
	}
	for q, batches := range gone {
		q.entries = slices.DeleteFunc(q.entries, func(e *batchEntry) bool {
			if batches[e.origin.Batch] {
				u.removed(e)
			}
			return batches[e.origin.Batch]
		})
	}
}

// received records that a batch is durable on this machine.
func (u *inFlight) received(origin Origin) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.stream(origin.stream())
	q.heard.Last = max(q.heard.Last, origin.Batch)
}

// batches returns all entries, ascending by origin.
func (u *inFlight) batches() []InFlightBatch {
	if u.count.Load() == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var batches []InFlightBatch
	for _, id := range slices.SortedFunc(maps.Keys(u.streams), stream.Compare) {
		for _, e := range u.streams[id].entries {
			batches = append(batches, InFlightBatch{e.origin, e.operations})
		}
	}
	return batches
}

// sequencerStates returns copies of the state of all sequencers, in order.
func (u *inFlight) sequencerStates() []Heard {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []Heard
	for _, id := range slices.SortedFunc(maps.Keys(u.streams), stream.Compare) {
		h := u.streams[id].heard
		h.Acks = maps.Clone(h.Acks)
		all = append(all, h)
	}
	return all
}

// KeptIncarnations is the number of a sequencer's incarnations to keep without entries, the latest
// ones.
const KeptIncarnations = 4

// outdated returns the incarnations of a machine that may be dropped, because no batch of theirs is
// kept.
func (u *inFlight) outdated(machine trie.MachineID, kept func(stream) bool) []stream {
	u.mu.Lock()
	defer u.mu.Unlock()
	var done []stream
	for id, q := range u.streams {
		if id.Machine == machine && len(q.entries) == 0 {
			done = append(done, id)
		}
	}
	slices.SortFunc(done, stream.Compare)
	return slices.DeleteFunc(done[:max(len(done)-KeptIncarnations, 0)], kept)
}

func (u *inFlight) drop(streams []stream) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range streams {
		if q := u.streams[id]; q != nil && len(q.entries) == 0 {
			delete(u.streams, id)
			delete(u.dirty, id)
		}
	}
}

// take returns the streams whose rows the next commit must write. If it fails, give must return
// them.
func (u *inFlight) take() (dirty []stream) {
	u.mu.Lock()
	defer u.mu.Unlock()
	dirty = slices.SortedFunc(maps.Keys(u.dirty), stream.Compare)
	clear(u.dirty)
	return dirty
}

func (u *inFlight) give(dirty []stream) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range dirty {
		u.dirty[id] = true
	}
}

// lowest returns the lowest batch in flight of a stream, or batchlog.NoneInFlight.
func (u *inFlight) lowest(id stream) uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if q := u.streams[id]; q != nil && len(q.entries) > 0 {
		return q.entries[0].origin.Batch
	}
	return batchlog.NoneInFlight
}

// row returns the value of a sequencer's row when the batches up to last are durable.
func (u *inFlight) row(id stream, last uint64) []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.stream(id).heard
	h.Last = max(h.Last, last)
	return h.append(nil)
}

// read reads the sequencers, the batches in flight, and the index of the log.
func (u *inFlight) read(db *database.Database, log *batchlog.Log) error {
	// 1. Read the watermarks first, because they show which batches are committed.
	err := db.EachLocal(heardPrefix, func(key, value []byte) error {
		id, err := batchlog.ParseStream(key[1+len(heardPrefix):])
		if err != nil {
			return err
		}
		h, err := parseHeard(id, value)
		if err != nil {
			return err
		}
		u.stream(id).heard = *h
		return nil
	})
	if err != nil {
		return err
	}
	// 2. Read the batches above the watermarks: they are in flight.
	committed := func(id stream) uint64 {
		if q := u.streams[id]; q != nil {
			return q.heard.Committed
		}
		return 0
	}
	return log.Open(db, committed, func(id stream, number uint64, value []byte) (batchlog.Batch, error) {
		row, err := parseBatchRow(bytes.Clone(value))
		if err != nil {
			return batchlog.Batch{}, err
		}
		u.enter(Origin{id.Machine, id.Incarnation, number}, row.epoch, row.operations)
		return row.logged(id, number, len(value)), nil
	})
}

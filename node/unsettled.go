package node

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/trie"
)

// unsettled is what a holder has in memory of the batches that are not known to
// be settled, and of the sequencers that they come from.
//
// Invariant: an entry is here from before its rows can be seen in the database
// until its batch is settled.
type unsettled struct {
	count atomic.Int64 // of entries

	mu      sync.Mutex
	streams map[stream]*sequencer
	stale   []Origin        // whose rows are to be deleted by the next commit
	dirty   map[stream]bool // whose rows are to be written by the next commit
	index   unsettledIndex
}

// sequencer is one incarnation of a sequencer.
type sequencer struct {
	heard   Heard
	entries []*unsettledEntry // ascending by batch
}

// unsettledEntry is a batch that is not known to be settled. It is immutable: a merge makes
// a new one.
type unsettledEntry struct {
	origin     Origin
	operations []Operation
	keys       [orderCount][]string // in the orders that have been asked for
}

func newEntry(origin Origin, operations []Operation) *unsettledEntry {
	return &unsettledEntry{origin: origin, operations: operations}
}

func (u *unsettled) init() {
	u.streams = map[stream]*sequencer{}
	u.dirty = map[stream]bool{}
	u.index.init()
}

func (u *unsettled) stream(id stream) *sequencer {
	q := u.streams[id]
	if q == nil {
		q = &sequencer{heard: Heard{Sequencer: id.machine, Incarnation: id.incarnation}}
		u.streams[id] = q
	}
	return q
}

func (q *sequencer) find(batch uint64) (int, bool) {
	return slices.BinarySearchFunc(q.entries, batch, func(e *unsettledEntry, batch uint64) int { return cmp.Compare(e.origin.Batch, batch) })
}

// enter adds operations of a batch, to those that are there. It returns the entry
// as it was and as it is; now is nil where nothing is to be written: the batch is
// settled, or its entry has them all.
func (u *unsettled) enter(origin Origin, operations []Operation) (before, now *unsettledEntry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.stream(origin.stream())
	if origin.Batch <= q.heard.Settled || len(operations) == 0 {
		return nil, nil
	}
	at, ok := q.find(origin.Batch)
	if !ok {
		now = newEntry(origin, operations)
		q.entries = slices.Insert(q.entries, at, now)
		u.added(now)
		return nil, now
	}
	before = q.entries[at]
	all := merged(before.operations, operations)
	if len(all) == len(before.operations) {
		return before, nil
	}
	now = newEntry(origin, all)
	q.entries[at] = now
	u.removed(before)
	u.added(now)
	return before, now
}

// leave takes back what enter did.
func (u *unsettled) leave(before, now *unsettledEntry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.stream(now.origin.stream())
	at, ok := q.find(now.origin.Batch)
	if !ok || q.entries[at] != now {
		return // settled meanwhile
	}
	u.removed(now)
	if before == nil {
		q.entries = slices.Delete(q.entries, at, at+1)
		return
	}
	again := newEntry(before.origin, before.operations)
	q.entries[at] = again
	u.added(again)
}

// merged returns operations with those of more that are not among them.
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

// added and removed keep what depends on the entries.
func (u *unsettled) added(e *unsettledEntry) {
	u.count.Add(1)
	u.index.add(e)
}

func (u *unsettled) removed(e *unsettledEntry) {
	left := u.count.Add(-1)
	u.index.remove(e, int(left))
}

// settle takes that the batches up to a number are settled, except those that are
// open, and acks. The greatest number with nothing open below is the watermark,
// which the stream's row keeps; entries behind it go one by one.
func (u *unsettled) settle(id stream, upTo uint64, open []uint64, acks map[trie.MachineID]uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	watermark := upTo
	if len(open) > 0 {
		watermark = min(upTo, open[0]-1)
	}
	q := u.stream(id)
	changed := q.acknowledge(watermark, acks)
	if watermark > q.heard.Settled {
		q.heard.Settled = watermark
		changed = true
	}
	if changed {
		u.dirty[id] = true
	}
	end, ok := q.find(upTo)
	if ok {
		end++
	}
	left := slices.DeleteFunc(slices.Clone(q.entries[:end]), func(e *unsettledEntry) bool {
		if _, isOpen := slices.BinarySearch(open, e.origin.Batch); isOpen {
			return false
		}
		u.removed(e)
		u.stale = append(u.stale, e.origin)
		return true
	})
	if len(left) < end {
		q.entries = append(left, q.entries[end:]...)
	}
}

// acknowledge takes the acks that came with a watermark. Those of a holder only
// grow, also where messages overtake each other; a holder that is not named any
// more is gone.
func (q *sequencer) acknowledge(settled uint64, acks map[trie.MachineID]uint64) (changed bool) {
	if acks == nil || settled < q.heard.Settled {
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

// covered reports whether the entry of a batch has no operations but those that it had
// when batches returned it as b: they only become more.
func (u *unsettled) covered(b UnsettledBatch) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.streams[b.Origin.stream()]
	if q == nil {
		return true
	}
	at, ok := q.find(b.Origin.Batch)
	return !ok || len(q.entries[at].operations) <= len(b.Operations)
}

// remove removes entries that are settled in other ways.
func (u *unsettled) remove(origins []Origin) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, origin := range origins {
		q := u.streams[origin.stream()]
		if q == nil {
			continue
		}
		if at, ok := q.find(origin.Batch); ok {
			u.removed(q.entries[at])
			q.entries = slices.Delete(q.entries, at, at+1)
		}
	}
}

// received takes that a batch is durable here.
func (u *unsettled) received(origin Origin) {
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.stream(origin.stream())
	q.heard.Last = max(q.heard.Last, origin.Batch)
}

// batches returns all entries, ascending by origin.
func (u *unsettled) batches() []UnsettledBatch {
	if u.count.Load() == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var batches []UnsettledBatch
	for _, id := range slices.SortedFunc(maps.Keys(u.streams), compareStreams) {
		for _, e := range u.streams[id].entries {
			batches = append(batches, UnsettledBatch{e.origin, e.operations})
		}
	}
	return batches
}

// heard returns copies of what is known of all sequencers, in order.
func (u *unsettled) heard() []Heard {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []Heard
	for _, id := range slices.SortedFunc(maps.Keys(u.streams), compareStreams) {
		h := u.streams[id].heard
		h.Acks = maps.Clone(h.Acks)
		all = append(all, h)
	}
	return all
}

// KeptIncarnations is how many incarnations of a sequencer are kept of which no
// entry is left, the latest ones.
const KeptIncarnations = 4

// outdated returns the incarnations of a machine that need not be known any more.
func (u *unsettled) outdated(machine trie.MachineID) []stream {
	u.mu.Lock()
	defer u.mu.Unlock()
	var done []stream
	for id, q := range u.streams {
		if id.machine == machine && len(q.entries) == 0 {
			done = append(done, id)
		}
	}
	slices.SortFunc(done, compareStreams)
	return done[:max(len(done)-KeptIncarnations, 0)]
}

func (u *unsettled) drop(streams []stream) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range streams {
		if q := u.streams[id]; q != nil && len(q.entries) == 0 {
			delete(u.streams, id)
			delete(u.dirty, id)
		}
	}
}

// take returns what the next commit has to write beside its own: rows to delete,
// and the sequencers whose rows have changed. give gives it back.
func (u *unsettled) take() (stale []Origin, dirty []stream) {
	u.mu.Lock()
	defer u.mu.Unlock()
	stale, dirty = u.stale, slices.SortedFunc(maps.Keys(u.dirty), compareStreams)
	u.stale = nil
	clear(u.dirty)
	return stale, dirty
}

func (u *unsettled) give(stale []Origin, dirty []stream) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stale = append(stale, u.stale...)
	for _, id := range dirty {
		u.dirty[id] = true
	}
}

// row returns the value of a sequencer's row where the batches up to last are
// durable.
func (u *unsettled) row(id stream, last uint64) []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.stream(id).heard
	h.Last = max(h.Last, last)
	return h.append(nil)
}

// readUnsettled reads the sequencers and the batches that are not settled.
func (s *Store) readUnsettled() error {
	u := &s.unsettled
	err := s.eachLocal(heardPrefix, func(key, value []byte) error {
		id, err := parseStream(key[1+len(heardPrefix):])
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
	return s.eachLocal(unsettledPrefix, func(key, value []byte) error {
		origin, err := parseOriginKey(key)
		if err != nil {
			return err
		}
		operations, err := parseOperations(bytes.Clone(value), 0)
		if err != nil {
			return err
		}
		if _, now := u.enter(origin, operations); now == nil {
			u.stale = append(u.stale, origin)
		}
		return nil
	})
}

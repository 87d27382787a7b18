// The committer: groups of requests become one Pebble batch and one fsync.

package store

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// maxGroupBytes limits one commit. For a larger group the sync is a small part of the time, and
// the next group is prepared during the write.
const maxGroupBytes = 4 << 20

// runCommitter is the goroutine that commits. It takes all waiting requests, because requests of
// one group share one fsync.
func (s *Store) runCommitter() {
	var group []*request
	for {
		group = s.queue.take(group[:0], maxGroupBytes)
		if len(group) == 0 {
			return
		}
		s.commitMu.Lock()
		s.commitGroup(group)
		s.commitMu.Unlock()
		clear(group)
	}
}

// commitGroup commits the requests of a group in order and answers them when they are
// durable. If the group fails, every request gets the error. None is done then, unless the
// error says otherwise.
func (s *Store) commitGroup(group []*request) {
	start := time.Now()
	var size int64
	for _, r := range group {
		size += r.size
	}
	// 1. Reject the whole group if the store has failed or the disk is full.
	err := s.db.Err()
	if err == nil && s.db.Full() {
		err = fmt.Errorf("%w: %s", ErrDiskFull, s.dir)
	}
	if err == nil {
		if admitted := s.admit(group); len(admitted) > 0 {
			err = s.commitRows(admitted)
		}
	}
	// 2. After an error nothing counts as done. A request keeps its own error if it has one.
	if err != nil {
		for _, r := range group {
			r.undo()
			if r.err == nil {
				r.err = err
			}
		}
	}
	s.metrics.committed(group, size, time.Since(start))
	// 3. Answer only now, because the rows are durable.
	for _, r := range group {
		r.finish(r.err)
	}
	s.wrote(size)
}

// admit returns the requests with enough room on the disk: all, the ones that may use the reserved
// space, or none. The others get their error.
func (s *Store) admit(group []*request) []*request {
	size := int64(0)
	for _, r := range group {
		size += r.size
	}
	full := s.db.Room(size)
	if full == nil {
		return group
	}
	// The disk has no room for all. Some requests may use the reserved space, because they help to
	// free space or other machines rely on them.
	var reserved []*request
	size = 0
	for _, r := range group {
		if r.reserved() {
			reserved = append(reserved, r)
			size += r.size
		} else {
			r.err = full
		}
	}
	if len(reserved) > 0 {
		if full = s.db.Reserve(size); full == nil {
			return reserved
		}
	}
	for _, r := range reserved {
		r.err = full
	}
	return nil
}

// commit is the state of one group's commit.
type commit struct {
	store   *Store
	batch   *pebble.Batch
	refs    []ref             // all triples of the group by their SPO keys
	slots   []slot            // one for each distinct triple
	slotOf  [][]int32         // by request, or part of one, and item
	counted keyspace.Counters // the counters after the commit
	scratch []byte

	taken   map[Token]bool // the tokens in the batch
	request *request       // a change, which must be alone in its group
	moves   uint           // rows read for it
	adds    bool           // set if it has added
	cleared bool           // set if it has cleared graphs
}

// ref is a triple of a request.
type ref struct {
	key           []byte // in SPO
	request, item int32
}

// slot is the state of a triple at the current point of the commit.
type slot struct {
	exists bool
	// noted holds the application IDs of its annotations if notesKnown is set.
	noted      []string
	notesKnown bool
}

func (s *Store) commitRows(group []*request) (err error) {
	// 1. Jobs commit themselves. All other requests are rejected if the directory belongs to a
	// cluster.
	if group[0].job != nil {
		return s.commitJobs(group)
	}
	if err := s.alone(); err != nil {
		return err
	}
	// 2. Make a batch of about the right size, because growing a large one copies it.
	c := &commit{store: s, counted: s.counted}
	size := int64(0)
	for _, r := range group {
		size += r.size
	}
	if size > 1<<16 {
		c.batch = s.db.NewBatchWithSize(int(size) + 1<<10)
	} else {
		c.batch = s.db.NewBatch()
	}
	before := s.sequence
	defer func() {
		c.batch.Close()
		if err != nil { // nothing is written, or nothing will be written ever again
			s.sequence = before
		}
	}()
	// 3. Write the rows and tokens into the batch.
	if group[0].kind == kindApply {
		err = c.commitChange(group[0])
	} else {
		err = c.commitGroup(group)
	}
	if err != nil {
		return err
	}
	if err := s.writeTokens(c.batch, slices.Collect(maps.Keys(c.taken))); err != nil {
		return err
	}
	if c.batch.Empty() {
		return nil
	}
	// 4. The feed's entry must be in the same batch, because no change may be missed.
	noted, err := s.feed.note(c.batch)
	if err != nil {
		return err
	}
	if err := (&Commit{s}).Write(c.batch, c.counted, true); err != nil {
		return err
	}
	noted()
	if c.cleared {
		s.Cleared(group[0].removed)
	}
	return nil
}

func (c *commit) commitGroup(group []*request) error {
	// 1. Look up all triples of the group in one pass. The parts of an edit are looked up like
	// requests.
	all := group
	if slices.ContainsFunc(group, func(r *request) bool { return r.kind == kindEdit }) {
		all = nil
		for _, r := range group {
			if r.kind == kindEdit {
				all = append(all, r.parts...)
			} else {
				all = append(all, r)
			}
		}
	}
	if err := c.lookUp(all); err != nil {
		return err
	}
	// 2. Do the requests in order, because each sees the state that the earlier ones left.
	slotOf := c.slotOf
	for _, r := range group {
		var stamp triple.Stamp
		if r.kind != kindEdit {
			if err := c.do(r, slotOf[0], &stamp); err != nil {
				return err
			}
			slotOf = slotOf[1:]
			continue
		}
		// An edit may be tried a second time, so its counts must start from zero. If its token is
		// taken, it was done before.
		r.undo()
		done, err := c.begin(r.token)
		if err != nil {
			return err
		}
		if done {
			r.err = ErrDone
			slotOf = slotOf[len(r.parts):]
			continue
		}
		for i, part := range r.parts {
			if err := c.doPart(r, part, slotOf[i], &stamp); err != nil {
				return err
			}
		}
		slotOf = slotOf[len(r.parts):]
	}
	return nil
}

// doPart does one part of a change and adds its counts.
func (c *commit) doPart(r, part *request, slots []int32, stamp *triple.Stamp) error {
	if err := c.do(part, slots, stamp); err != nil {
		return err
	}
	if part.kind == kindDelete {
		r.removed += part.changed
	} else {
		r.changed += part.changed
	}
	return nil
}

// lookUp finds the existing triples of the group. It makes one pass over SPO in the order of its
// keys.
func (c *commit) lookUp(group []*request) error {
	// 1. Collect and sort the keys, because the iterator then moves only forward.
	total := 0
	for _, r := range group {
		total += len(r.items)
	}
	c.refs = make([]ref, 0, total)
	c.slotOf = make([][]int32, len(group))
	all := make([]int32, total)
	for i, r := range group {
		c.slotOf[i], all = all[:len(r.items)], all[len(r.items):]
		for j := range r.items {
			c.refs = append(c.refs, ref{r.key(&r.items[j], 0), int32(i), int32(j)})
		}
	}
	slices.SortFunc(c.refs, func(a, b ref) int { return bytes.Compare(a.key, b.key) })
	lower, upper := keyspace.StorageBounds(triple.OrderRange(triple.SPO))
	it, err := c.store.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer it.Close()
	// 2. Make one slot for each distinct triple. If the feed proves that a triple is still absent,
	// no read is needed.
	c.slots = make([]slot, 0, total)
	valid, sought := false, false
	for i, ref := range c.refs {
		switch same := i > 0 && bytes.Equal(ref.key, c.refs[i-1].key); {
		case same:
		case c.store.feed.stillAbsent(group[ref.request], ref.item):
			c.slots = append(c.slots, slot{})
		default:
			// If the last seek went past this key, its row is missing.
			if !sought || valid && bytes.Compare(it.Key(), ref.key) < 0 {
				valid, sought = it.SeekGE(ref.key), true
			}
			exists := valid && bytes.Equal(it.Key(), ref.key)
			if exists {
				value, err := it.ValueAndErr()
				if err != nil {
					return err
				}
				exists = !triple.IsTombstone(value)
			}
			if err := it.Error(); err != nil {
				return err
			}
			c.slots = append(c.slots, slot{exists: exists})
		}
		c.slotOf[ref.request][ref.item] = int32(len(c.slots) - 1)
		if err := c.goOn(); err != nil {
			return err
		}
	}
	return it.Error()
}

// do writes the rows of one request into the batch. It takes a stamp when it first needs one.
func (c *commit) do(r *request, slots []int32, stamp *triple.Stamp) error {
	r.changed, r.unchanged = 0, 0
	if r.kind == kindClaim {
		return c.claim(r)
	}
	var plain []byte // the value of a row without long terms
	var added []bool // by item, if they are many
	if r.kind == kindAdd && r.sorted[0] != nil {
		added = make([]bool, len(r.items))
	}
	// 1. Skip an item if its token was done before or its triple is in the wanted state already.
	for i := range r.items {
		it, slot := &r.items[i], &c.slots[slots[i]]
		if r.kind == kindAnnotate && !slot.exists {
			r.err = ErrNotFound
			return nil
		}
		if r.tokens != nil && r.kind != kindAnnotate {
			done, err := c.doneBefore(r.tokens[i])
			if err != nil {
				return err
			}
			if done {
				r.unchanged++
				continue
			}
		}
		if r.kind == kindAdd && slot.exists || r.kind == kindDelete && !slot.exists {
			r.unchanged++
			continue
		}
		// 2. All rows of a request share one stamp, so requests without changes take none.
		if stamp.Sequence == 0 {
			var err error
			if *stamp, err = c.store.sequence.take(c.batch); err != nil {
				return err
			}
		}
		if plain == nil {
			plain = (&triple.Value{Stamp: *stamp}).Append(nil)
		}
		var err error
		// 3. Write the rows. If items are many, addSorted writes the other orders at the end,
		// because Pebble inserts sorted keys faster.
		switch r.kind {
		case kindAdd:
			if added != nil {
				added[i] = true
			}
			err = c.add(r, it, slot, plain, *stamp, added == nil)
		case kindDelete:
			err = c.delete(r, it, slot)
		case kindAnnotate:
			err = c.annotate(r, it, slot, *stamp)
		}
		if err != nil {
			return err
		}
		if r.tokens != nil {
			c.take(r.tokens[i])
		}
		r.changed++
		if err := c.goOn(); err != nil {
			return err
		}
	}
	if added != nil && r.changed > 0 {
		return c.addSorted(r, added, plain, *stamp)
	}
	return nil
}

// claim takes the token of a request, unless it is taken already.
func (c *commit) claim(r *request) error {
	done, err := c.begin(r.tokens[0])
	if done {
		r.unchanged = 1
	}
	return err
}

// begin takes the token of a change. done is true if the change was done before.
func (c *commit) begin(token Token) (done bool, err error) {
	if token == (Token{}) {
		return false, nil
	}
	if done, err = c.doneBefore(token); !done && err == nil {
		c.take(token)
	}
	return done, err
}

// doneBefore reports whether the operation with a token was done, by this commit or recently.
func (c *commit) doneBefore(token Token) (bool, error) {
	if c.taken[token] {
		return true, nil
	}
	return c.store.hasToken(token)
}

func (c *commit) take(token Token) {
	if c.taken == nil {
		c.taken = map[Token]bool{}
	}
	c.taken[token] = true
}

// addSorted writes the rows of added items in all orders except SPO.
func (c *commit) addSorted(r *request, added []bool, plain []byte, stamp triple.Stamp) error {
	for i, places := range r.sorted {
		for _, at := range places {
			if !added[at] {
				continue
			}
			it := &r.items[at]
			value, err := r.value(it, plain, stamp)
			if err != nil {
				return err
			}
			if err := c.batch.Set(r.key(it, i+1), value, nil); err != nil {
				return err
			}
			if err := c.goOn(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *commit) add(r *request, it *item, slot *slot, plain []byte, stamp triple.Stamp, all bool) error {
	value, err := r.value(it, plain, stamp)
	if err != nil {
		return err
	}
	orders := len(triple.Orders)
	if !all {
		orders = 1
	}
	for i := range orders {
		if key := r.key(it, i); len(key) > 0 {
			if err := c.batch.Set(key, value, nil); err != nil {
				return err
			}
		}
	}
	slot.exists = true
	c.adds = true
	c.counted.Triples++
	return nil
}

func (c *commit) delete(r *request, it *item, slot *slot) error {
	for i := range triple.Orders {
		if key := r.key(it, i); len(key) > 0 {
			if err := c.batch.Delete(key, nil); err != nil {
				return err
			}
		}
	}
	slot.exists = false
	c.counted.Triples--
	if err := c.learnNotes(r, it, slot); err != nil {
		return err
	}
	for _, id := range slot.noted {
		if err := c.removeAnnotation(r, it, id); err != nil {
			return err
		}
		c.counted.Annotations--
	}
	slot.noted = nil
	return nil
}

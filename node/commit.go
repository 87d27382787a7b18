package node

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// maxGroupBytes bounds what is committed at a time: beyond that a sync is little of the
// time, and while one group is written those of the next are made.
const maxGroupBytes = 4 << 20

// runCommitter is the goroutine that commits. It takes all requests that wait,
// so that the more of them there are the more share one fsync.
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

// commitGroup does the requests of a group, one after the other, and answers
// them all once they are durable. An error is that of them all: none is done,
// unless it says otherwise.
func (s *Store) commitGroup(group []*request) {
	start := time.Now()
	var size int64
	for _, r := range group {
		size += r.size
	}
	err := s.health.err()
	if err == nil && s.health.full.Load() {
		err = fmt.Errorf("%w: %s", ErrDiskFull, s.dir)
	}
	if err == nil {
		if admitted := s.admit(group); len(admitted) > 0 {
			err = s.commitRows(admitted)
		}
	}
	if err != nil {
		for _, r := range group {
			r.undo()
			if r.err == nil {
				r.err = err
			}
		}
	}
	s.metrics.committed(group, size, time.Since(start))
	for _, r := range group {
		r.finish(r.err)
	}
	s.wrote(size)
}

// admit returns the requests of a group that the disk has room for: all, those
// that may use what is kept free, or none. The others get their error.
func (s *Store) admit(group []*request) []*request {
	size := int64(0)
	for _, r := range group {
		size += r.size
	}
	full := s.disk.room(size)
	if full == nil {
		return group
	}
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
		if full = s.disk.reserve(size); full == nil {
			return reserved
		}
	}
	for _, r := range reserved {
		r.err = full
	}
	return nil
}

// commit is a group's commit, step by step.
type commit struct {
	store   *Store
	batch   *pebble.Batch
	refs    []ref     // all triples of the group by their SPO keys
	slots   []slot    // one for each distinct triple
	slotOf  [][]int32 // by request, or part of one, and item
	counted counters  // as they will be
	scratch []byte

	taken   map[Token]bool // what the batch has of tokens
	request *request       // a change, which is alone in its group
	moves   uint           // rows looked at for it
	adds    bool           // it has added
	cleared bool           // it has cleared graphs
}

// ref is a triple of a request.
type ref struct {
	key           []byte // in SPO
	request, item int32
}

// slot is what is known of a triple at the point that the commit has reached.
type slot struct {
	exists bool
	// noted holds the application ids of its annotations once they are known.
	noted      []string
	notesKnown bool
}

func (s *Store) commitRows(group []*request) (err error) {
	switch group[0].kind {
	case kindStamped:
		return s.commitStamped(group)
	case kindSweep:
		return s.commitSweep(group[0])
	case kindPurge:
		return s.commitPurge(group[0])
	}
	if err := s.alone(); err != nil {
		return err
	}
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
		if err != nil { // nothing of it is written, or nothing will be ever again
			s.sequence = before
		}
	}()
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
	if c.counted != s.counted {
		if err := c.batch.Set(rowCounters, c.counted.append(nil), nil); err != nil {
			return err
		}
	}
	noted, err := s.feed.note(c.batch)
	if err != nil {
		return err
	}
	if err := s.apply(c.batch); err != nil {
		return err
	}
	noted()
	s.counted = c.counted
	if c.cleared {
		s.afterClear(group[0].removed)
	}
	return nil
}

func (c *commit) commitGroup(group []*request) error {
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

// doPart does a part of a change.
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

// lookUp finds which triples of the group exist: one pass over SPO in the order
// of its keys.
func (c *commit) lookUp(group []*request) error {
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
	lower, upper := storageBounds(triple.OrderRange(triple.SPO))
	it, err := c.store.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer it.Close()
	c.slots = make([]slot, 0, total)
	valid, sought := false, false
	for i, ref := range c.refs {
		switch same := i > 0 && bytes.Equal(ref.key, c.refs[i-1].key); {
		case same:
		case c.store.feed.stillAbsent(group[ref.request], ref.item):
			c.slots = append(c.slots, slot{})
		default:
			// Where the last seek went past this key, nothing is there.
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

// do writes the rows of one request into the batch, with a stamp that is taken
// when it is first needed.
func (c *commit) do(r *request, slots []int32, stamp *triple.Stamp) error {
	r.changed, r.unchanged = 0, 0
	if r.kind == kindClaim {
		return c.claim(r)
	}
	var plain []byte // the value of a version without long terms
	var added []bool // by item, where they are many
	if r.kind == kindAdd && r.sorted[0] != nil {
		added = make([]bool, len(r.items))
	}
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

// claim takes the token of a request, unless it is taken.
func (c *commit) claim(r *request) error {
	done, err := c.begin(r.tokens[0])
	if done {
		r.unchanged = 1
	}
	return err
}

// begin takes the token of a change, or reports that it was done before.
func (c *commit) begin(token Token) (done bool, err error) {
	if token == (Token{}) {
		return false, nil
	}
	if done, err = c.doneBefore(token); !done && err == nil {
		c.take(token)
	}
	return done, err
}

// doneBefore reports whether the operation with a token was done, by this commit or
// lately.
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

// addSorted writes the rows of added items, in all orders but SPO.
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
	c.counted.triples++
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
	c.counted.triples--
	if err := c.learnNotes(r, it, slot); err != nil {
		return err
	}
	for _, id := range slot.noted {
		if err := c.removeAnnotation(r, it, id); err != nil {
			return err
		}
		c.counted.annotations--
	}
	slot.noted = nil
	return nil
}

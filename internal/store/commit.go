// The batch of one commit: which triples exist, and the rows that change.

package store

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// commit is the state of one group's commit.
type commit struct {
	to      *Committer
	batch   *pebble.Batch
	refs    []ref             // all triples of the group by their SPO keys
	states  []tripleState     // one for each distinct triple
	stateOf [][]int32         // by request, or part of one, and item
	log     changefeed.Commit // the feed's part of the batch
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

// tripleState is the state of a triple at the current point of the commit.
type tripleState struct {
	exists bool
	// annotations holds its annotations if annotationsRead is set.
	annotations     []annotationState
	annotationsRead bool
}

// annotationState is the state of an annotation at the current point of the commit.
type annotationState struct {
	id      string
	version triple.Stamp
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
	stateOf := c.stateOf
	for _, r := range group {
		var stamp triple.Stamp
		c.log.SetDepth(0)
		if r.kind != kindEdit {
			if err := c.do(r, stateOf[0], &stamp); err != nil {
				return err
			}
			stateOf = stateOf[1:]
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
			stateOf = stateOf[len(r.parts):]
			continue
		}
		c.log.SetDepth(r.token.Depth())
		for i, part := range r.parts {
			if err := c.doPart(r, part, stateOf[i], &stamp); err != nil {
				return err
			}
		}
		stateOf = stateOf[len(r.parts):]
	}
	return nil
}

// doPart does one part of a change and adds its counts.
func (c *commit) doPart(r, part *request, states []int32, stamp *triple.Stamp) error {
	if err := c.do(part, states, stamp); err != nil {
		return err
	}
	if part.kind == KindDelete {
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
	c.stateOf = make([][]int32, len(group))
	all := make([]int32, total)
	for i, r := range group {
		c.stateOf[i], all = all[:len(r.items)], all[len(r.items):]
		for j := range r.items {
			c.refs = append(c.refs, ref{r.key(&r.items[j], 0), int32(i), int32(j)})
		}
	}
	slices.SortFunc(c.refs, func(a, b ref) int { return bytes.Compare(a.key, b.key) })
	lower, upper := keyspace.StorageBounds(triple.OrderRange(triple.SPO))
	it, err := c.to.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer it.Close()
	// 2. Make one state for each distinct triple. If the feed proves that a triple is still absent,
	// no read is needed.
	c.states = make([]tripleState, 0, total)
	valid, sought := false, false
	for i, ref := range c.refs {
		switch same := i > 0 && bytes.Equal(ref.key, c.refs[i-1].key); {
		case same:
		case c.stillAbsent(group[ref.request], ref.item):
			c.states = append(c.states, tripleState{})
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
			c.states = append(c.states, tripleState{exists: exists})
		}
		c.stateOf[ref.request][ref.item] = int32(len(c.states) - 1)
		if err := c.goOn(); err != nil {
			return err
		}
	}
	return it.Error()
}

// stillAbsent reports whether the feed proves that an item is absent, because its request knows a
// sequence of the feed at which it was.
func (c *commit) stillAbsent(r *request, at int32) bool {
	it := &r.items[at]
	return it.absent && c.to.feed.StillAbsent(r.key(it, orderPOS), r.absentSince)
}

// do writes the rows of one request into the batch. It takes a stamp when it first needs one.
func (c *commit) do(r *request, states []int32, stamp *triple.Stamp) error {
	r.changed, r.unchanged = 0, 0
	if r.kind == KindClaim {
		return c.claim(r)
	}
	var plain []byte // the value of a row without long terms
	var added []bool // by item, if they are many
	if r.kind == KindAdd && r.sorted[0] != nil {
		added = make([]bool, len(r.items))
	}
	// 1. Skip an item if its token was done before or its triple is in the wanted state already.
	for i := range r.items {
		it, state := &r.items[i], &c.states[states[i]]
		if r.tokens != nil {
			c.log.SetDepth(r.tokens[i].Depth())
			done, err := c.doneBefore(r.tokens[i])
			if err != nil {
				return err
			}
			if done {
				r.unchanged++
				continue
			}
		}
		if r.kind == KindAnnotate {
			if refused, err := c.refused(r, it, state); err != nil || refused {
				return err
			}
		}
		if r.kind == KindAdd && state.exists || r.kind == KindDelete && !state.exists {
			r.unchanged++
			continue
		}
		// 2. All rows of a request share one stamp, so requests without changes take none.
		if err := c.takeStamp(stamp); err != nil {
			return err
		}
		if plain == nil {
			plain = (&triple.Value{Stamp: *stamp}).Append(nil)
		}
		var err error
		// 3. Write the rows. If items are many, addSorted writes the other orders at the end,
		// because Pebble inserts sorted keys faster.
		switch r.kind {
		case KindAdd:
			if added != nil {
				added[i] = true
			}
			err = c.add(r, it, state, plain, *stamp, added == nil)
		case KindDelete:
			err = c.delete(r, it, state, *stamp)
		case KindAnnotate:
			err = c.annotate(r, it, state, *stamp)
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

// takeStamp takes the stamp of a request, unless it has one.
func (c *commit) takeStamp(stamp *triple.Stamp) (err error) {
	if stamp.Sequence == 0 {
		*stamp, err = c.to.sequence.take(c.batch)
	}
	return err
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
	return c.to.tokens.has(token)
}

func (c *commit) take(token Token) {
	if c.taken == nil {
		c.taken = map[Token]bool{}
	}
	c.taken[token] = true
}

// addSorted writes the rows of added items in all orders except SPO.
func (c *commit) addSorted(r *request, added []bool, plain []byte, stamp triple.Stamp) error {
	for i, sorted := range r.sorted {
		for _, at := range sorted {
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

func (c *commit) add(r *request, it *item, state *tripleState, plain []byte, stamp triple.Stamp, all bool) error {
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
	state.exists = true
	c.adds = true
	c.counted.Count(r.key(it, 0)[1:], 1)
	return c.log.Triple(feed.Add, stamp, r.key(it, 0), r.key(it, orderPOS), it.long)
}

func (c *commit) delete(r *request, it *item, state *tripleState, stamp triple.Stamp) error {
	for i := range triple.Orders {
		if key := r.key(it, i); len(key) > 0 {
			if err := c.batch.Delete(key, nil); err != nil {
				return err
			}
		}
	}
	state.exists = false
	c.counted.Count(r.key(it, 0)[1:], -1)
	if err := c.readAnnotations(r, it, state); err != nil {
		return err
	}
	for _, a := range state.annotations {
		if err := c.removeAnnotation(r, it, a.id); err != nil {
			return err
		}
		c.counted.Annotations--
	}
	state.annotations = nil
	return c.log.Triple(feed.Delete, stamp, r.key(it, 0), r.key(it, orderPOS), it.long)
}

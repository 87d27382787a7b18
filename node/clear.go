package node

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// clearing is what a change clears.
type clearing struct {
	all, defaultGraph bool
	graphs            map[string]bool // encoded terms
	ranges            []triple.Range  // of the graphs, in GSPO, ascending
}

func newClearing(changes Changes) (clearing, error) {
	k := clearing{all: changes.ClearAll, defaultGraph: changes.ClearDefault}
	for i, g := range changes.ClearGraphs {
		err := g.Check()
		if err == nil && g.Kind() != triple.IRI && g.Kind() != triple.Blank {
			err = fmt.Errorf("%w: the name of a graph is an IRI or a blank node", ErrInvalid)
		}
		if err != nil {
			return k, fmt.Errorf("graph to clear, number %d: %w", i, err)
		}
		name, _ := triple.AppendTerm(nil, g)
		if k.graphs[string(name)] {
			continue
		}
		scan, err := triple.Pattern{Graph: g}.Scan(triple.GSPO)
		if err != nil {
			return k, err
		}
		if k.graphs == nil {
			k.graphs = map[string]bool{}
		}
		k.graphs[string(name)] = true
		k.ranges = append(k.ranges, scan.Range)
	}
	slices.SortFunc(k.ranges, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	return k, nil
}

func (k *clearing) none() bool { return !k.all && !k.defaultGraph && len(k.graphs) == 0 }

// covers reports whether triples of a graph, an encoded term, are cleared.
func (k *clearing) covers(graph []byte) bool {
	return k.all || len(graph) == 0 && k.defaultGraph || len(graph) > 0 && k.graphs[string(graph)]
}

// clear removes what a change clears, and makes the slots say so.
func (c *commit) clear(k *clearing) error {
	if k.none() {
		return nil
	}
	for i := range c.refs {
		ref := &c.refs[i]
		_, terms, err := triple.SplitKey(ref.key[1:])
		if err != nil {
			return err
		}
		if k.covers(terms[triple.Graph]) {
			c.slots[c.slotOf[ref.request][ref.item]] = slot{notesKnown: true}
		}
	}
	c.cleared = true
	if k.all {
		return c.clearAll()
	}
	if k.defaultGraph {
		named, err := c.any(triple.OrderRange(triple.GSPO))
		if err != nil {
			return err
		}
		if !named {
			return c.clearAll()
		}
		return c.sweep(k)
	}
	return c.clearGraphs(k)
}

// any reports whether a range has a row.
func (c *commit) any(r triple.Range) (bool, error) {
	it, err := c.iterate(r)
	if err != nil {
		return false, err
	}
	defer it.Close()
	return it.First(), it.Error()
}

func (c *commit) iterate(r triple.Range) (*pebble.Iterator, error) {
	lower, upper := storageBounds(r)
	return c.store.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// clearAll removes all rows; the counters know how many they are.
func (c *commit) clearAll() error {
	some, err := c.any(triple.Range{})
	if err != nil {
		return err
	}
	if !some && c.counted == (counters{}) {
		return nil
	}
	c.request.removed += c.counted.triples
	c.counted = counters{}
	lower, upper := storageBounds(triple.Range{})
	return c.batch.DeleteRange(lower, upper, nil)
}

// rangeRows is the number of rows in a row that go by a range deletion: fewer go
// one by one, since every read looks at every range deletion that is near.
const rangeRows = 128

// clearGraphs removes named graphs: where they are a large part of the store by
// a look at all of its rows, otherwise by their own.
func (c *commit) clearGraphs(k *clearing) error {
	it, err := c.iterate(triple.OrderRange(triple.GSPO))
	if err != nil {
		return err
	}
	defer it.Close()
	rows, size := int64(0), int64(0)
	perGraph := make([]int64, len(k.ranges))
	if err := c.eachGraphRow(it, k.ranges, func(i int, key, _ []byte) error {
		perGraph[i]++
		rows++
		size += int64(3*len(key)) + itemBytes
		return nil
	}); err != nil {
		return err
	}
	if rows > c.counted.triples/4 && rows > rangeRows || size > c.request.limit/2 {
		return c.sweep(k)
	}
	for i, r := range k.ranges {
		if perGraph[i] >= rangeRows {
			lower, upper := storageBounds(r)
			if err := c.batch.DeleteRange(lower, upper, nil); err != nil {
				return err
			}
		}
	}
	return c.eachGraphRow(it, k.ranges, func(i int, key, value []byte) error {
		return c.clearRow(key, value, perGraph[i] < rangeRows)
	})
}

// eachGraphRow calls do with every row of ranges of GSPO, which ascend: its
// Pebble key and value.
func (c *commit) eachGraphRow(it *pebble.Iterator, ranges []triple.Range, do func(i int, key, value []byte) error) error {
	for i, r := range ranges {
		lower, upper := storageBounds(r)
		for valid := it.SeekGE(lower); valid && bytes.Compare(it.Key(), upper) < 0; valid = it.Next() {
			value, err := it.ValueAndErr()
			if err == nil {
				err = do(i, it.Key(), value)
			}
			if err == nil {
				err = c.goOn()
			}
			if err != nil {
				return err
			}
		}
		if err := it.Error(); err != nil {
			return err
		}
	}
	return nil
}

// clearRow removes a row of GSPO from the other orders, and where own is set
// from this one.
func (c *commit) clearRow(key, value []byte, own bool) error {
	version, id := key[1:], []byte(nil)
	isNote := triple.IsAnnotation(value)
	if isNote {
		version, id, _ = triple.CutAnnotation(version)
	}
	_, terms, err := triple.SplitKey(version)
	if err != nil {
		return err
	}
	c.count(value)
	for _, o := range triple.Orders {
		if o == triple.GSPO && !own {
			continue
		}
		c.scratch = append(c.scratch[:0], tableStorage)
		c.scratch = triple.AppendKeyOf(c.scratch, o, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
		if isNote {
			c.scratch = triple.AppendAnnotationKey(c.scratch, nil, string(id))
		}
		if err := c.batch.Delete(c.scratch, nil); err != nil {
			return err
		}
	}
	return nil
}

// count counts a row that is cleared.
func (c *commit) count(value []byte) {
	switch {
	case triple.IsAnnotation(value):
		c.counted.annotations--
	case !triple.IsTombstone(value):
		c.counted.triples--
		c.request.removed++
	}
}

// sweep looks at all rows of all orders and removes those that are cleared, runs
// of them by range deletions.
func (c *commit) sweep(k *clearing) error {
	for _, o := range triple.Orders {
		if err := c.sweepOrder(o, k); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) sweepOrder(o triple.Order, k *clearing) error {
	it, err := c.iterate(triple.OrderRange(o))
	if err != nil {
		return err
	}
	defer it.Close()
	var run run
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		version := it.Key()[1:]
		if triple.IsAnnotation(value) {
			version, _, _ = triple.CutAnnotation(version)
		}
		_, terms, err := triple.SplitKey(version)
		if err != nil {
			return err
		}
		if k.covers(terms[triple.Graph]) {
			run.add(it.Key())
			if o == triple.SPO {
				c.count(value)
			}
		} else if err := run.end(c.batch, it.Key()); err != nil {
			return err
		}
		if err := c.goOn(); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	_, upper := storageBounds(triple.OrderRange(o))
	return run.end(c.batch, upper)
}

// run is rows that follow one another and are to be removed.
type run struct {
	rows int
	keys []byte // of the first rangeRows
	ends []int  // of each in keys
}

func (r *run) add(key []byte) {
	if r.rows++; r.rows <= rangeRows {
		r.keys = append(r.keys, key...)
		r.ends = append(r.ends, len(r.keys))
	}
}

// end removes the rows of the run, which ends before a key, and begins anew.
func (r *run) end(batch *pebble.Batch, before []byte) error {
	if r.rows >= rangeRows {
		if err := batch.DeleteRange(r.keys[:r.ends[0]], before, nil); err != nil {
			return err
		}
	} else {
		from := 0
		for _, to := range r.ends {
			if err := batch.Delete(r.keys[from:to], nil); err != nil {
				return err
			}
			from = to
		}
	}
	r.rows, r.keys, r.ends = 0, r.keys[:0], r.ends[:0]
	return nil
}

// flushCleared is the number of triples from which on a clear is flushed: when
// its range deletions are in a table, Pebble drops what lies under them.
const flushCleared = 10_000

// afterClear makes a clear show in estimates and, before long, on the disk.
func (s *Store) afterClear(removed int64) {
	s.density.forget()
	if removed < flushCleared {
		return
	}
	if _, err := s.db.AsyncFlush(); err != nil {
		s.options.Logger.Error("a clear could not be flushed; it is in the log", "error", err)
	}
}

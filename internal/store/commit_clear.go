// Clearing graphs in a change.

package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// clearing is the set of graphs that a change clears.
type clearing struct {
	all, defaultGraph bool
	graphs            map[string]bool // encoded terms
	names             []triple.Term   // of graphs
	ranges            []triple.Range  // of the graphs, in GSPO, ascending
}

func newClearing(changes Steps) (clearing, error) {
	k := clearing{all: changes.ClearAll, defaultGraph: changes.ClearDefault}
	// Each named graph counts once, however often it is listed.
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
		k.names = append(k.names, g)
		k.ranges = append(k.ranges, scan.Range)
	}
	slices.SortFunc(k.ranges, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	return k, nil
}

func (k *clearing) isEmpty() bool { return !k.all && !k.defaultGraph && len(k.graphs) == 0 }

// covers reports whether a graph is cleared. graph is an encoded term; it is empty for the default
// graph.
func (k *clearing) covers(graph []byte) bool {
	return k.all || len(graph) == 0 && k.defaultGraph || len(graph) > 0 && k.graphs[string(graph)]
}

// clear deletes the cleared graphs and updates the states. It takes a stamp if it deletes something.
func (c *commit) clear(k *clearing, stamp *triple.Stamp) error {
	if k.isEmpty() {
		return nil
	}
	// 1. The states must show the cleared triples as absent, because adds of the same change
	// follow.
	for i := range c.refs {
		ref := &c.refs[i]
		_, terms, err := triple.SplitKey(ref.key[1:])
		if err != nil {
			return err
		}
		if k.covers(terms[triple.Graph]) {
			c.states[c.stateOf[ref.request][ref.item]] = tripleState{annotationsRead: true}
		}
	}
	c.cleared = true
	// 2. Choose the cheapest way: one range deletion for all, a pass over all orders if the
	// default graph goes, or the rows of the named graphs.
	if k.all {
		return c.clearAll(k, stamp)
	}
	if k.defaultGraph {
		named, err := c.any(triple.OrderRange(triple.GSPO))
		if err != nil {
			return err
		}
		if !named {
			return c.clearAll(k, stamp)
		}
		return c.sweep(k, stamp)
	}
	return c.clearGraphs(k, stamp)
}

// logClear appends a Clear to the feed. It takes the stamp of the change. predicates are those of
// the cleared rows; nil if they are unknown.
func (c *commit) logClear(k *clearing, stamp *triple.Stamp, predicates feed.Predicates) error {
	if err := c.takeStamp(stamp); err != nil {
		return err
	}
	return c.log.Clear(*stamp, feed.ClearInfo{All: k.all, Default: k.defaultGraph, Graphs: k.names, Predicates: predicates})
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
	lower, upper := keyspace.StorageBounds(r)
	return c.to.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// clearAll deletes all rows. The counters give their number.
func (c *commit) clearAll(k *clearing, stamp *triple.Stamp) error {
	some, err := c.any(triple.Range{})
	if err != nil {
		return err
	}
	if !some && c.counted == (keyspace.Counters{}) {
		return nil
	}
	c.request.removed += c.counted.Triples
	c.counted = keyspace.Counters{}
	lower, upper := keyspace.StorageBounds(triple.Range{})
	if err := errors.Join(c.batch.DeleteRange(lower, upper, nil), c.batch.Delete(keyspace.RowInexact, nil)); err != nil {
		return err
	}
	return c.logClear(k, stamp, nil)
}

// rangeRows is the number of consecutive rows for a range deletion. Fewer rows are deleted one by
// one, because every read checks all range deletions nearby.
const rangeRows = 128

// clearGraphs deletes named graphs. If they are a large part of the store, it reads all rows;
// otherwise it reads only the graphs' rows.
func (c *commit) clearGraphs(k *clearing, stamp *triple.Stamp) error {
	it, err := c.iterate(triple.OrderRange(triple.GSPO))
	if err != nil {
		return err
	}
	defer it.Close()
	// 1. Count the rows of each graph, because the count decides how they are deleted.
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
	// 2. If the graphs are large, or their deletes would fill the batch, one pass over all orders
	// is cheaper.
	if rows > c.counted.Triples/4 && rows > rangeRows || size > c.request.limit/2 {
		return c.sweep(k, stamp)
	}
	if rows == 0 {
		return nil
	}
	if err := c.takeStamp(stamp); err != nil {
		return err
	}
	// 3. Delete a large graph's rows of GSPO by range. Their rows in the other orders are spread,
	// so they go one by one.
	for i, r := range k.ranges {
		if perGraph[i] >= rangeRows {
			lower, upper := keyspace.StorageBounds(r)
			if err := c.batch.DeleteRange(lower, upper, nil); err != nil {
				return err
			}
		}
	}
	return c.eachGraphRow(it, k.ranges, func(i int, key, value []byte) error {
		return c.clearRow(key, value, perGraph[i] < rangeRows, *stamp)
	})
}

// eachGraphRow calls do with the Pebble key and value of every row in ranges of GSPO. The ranges
// must ascend.
func (c *commit) eachGraphRow(it *pebble.Iterator, ranges []triple.Range, do func(i int, key, value []byte) error) error {
	for i, r := range ranges {
		lower, upper := keyspace.StorageBounds(r)
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

// clearRow deletes a row of GSPO from the other orders. If own is set, it deletes the row itself,
// too. The feed gets a Delete of each triple.
func (c *commit) clearRow(key, value []byte, own bool, stamp triple.Stamp) error {
	// 1. Find the triple of the row, which may be an annotation's.
	version, id := key[1:], []byte(nil)
	isAnnotation := triple.IsAnnotation(value)
	if isAnnotation {
		version, id, _ = triple.CutAnnotation(version)
	}
	_, terms, err := triple.SplitKey(version)
	if err != nil {
		return err
	}
	c.count(version, value)
	// 2. Delete its rows.
	var spo, pos []byte
	for _, o := range triple.Orders {
		row := triple.AppendKeyOf([]byte{keyspace.Storage}, o, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
		switch o {
		case triple.SPO:
			spo = row
		case triple.POS:
			pos = row
		case triple.GSPO:
			if !own {
				continue
			}
		}
		if isAnnotation {
			row = triple.AppendAnnotationKey(nil, row, string(id))
		}
		if err := c.batch.Delete(row, nil); err != nil {
			return err
		}
	}
	// 3. The Delete of the triple implies that its annotations are gone.
	if isAnnotation || triple.IsTombstone(value) {
		return nil
	}
	long, err := longTerms(spo, value)
	if err != nil {
		return err
	}
	return c.log.Triple(feed.Delete, stamp, spo, pos, long)
}

// longTerms returns the value with the long terms of a row and stamp 0, or nil if it has none.
func longTerms(key, value []byte) ([]byte, error) {
	if !triple.HasLong(key) {
		return nil, nil
	}
	v, err := triple.DecodeValue(value)
	if err != nil {
		return nil, err
	}
	return (&triple.Value{Long: v.Long}).Append(nil), nil
}

// count counts a cleared row with a key, without the byte of its table.
func (c *commit) count(key, value []byte) {
	switch {
	case triple.IsAnnotation(value):
		c.counted.Annotations--
	case !triple.IsTombstone(value):
		c.counted.Count(key, -1)
		c.request.removed++
	}
}

// sweep reads all rows of all orders and deletes the cleared ones, runs of them by range
// deletions.
func (c *commit) sweep(k *clearing, stamp *triple.Stamp) error {
	before := c.counted
	var predicates rdfload.PredicateCounter
	for _, o := range triple.Orders {
		if err := c.sweepOrder(o, k, &predicates); err != nil {
			return err
		}
	}
	if c.counted == before {
		return nil
	}
	return c.logClear(k, stamp, predicates.Counts())
}

// sweepOrder deletes the cleared rows of an order. In POS it counts them by predicate.
func (c *commit) sweepOrder(o triple.Order, k *clearing, predicates *rdfload.PredicateCounter) error {
	it, err := c.iterate(triple.OrderRange(o))
	if err != nil {
		return err
	}
	defer it.Close()
	// Extend the run of cleared rows; a row that stays ends it. Count in SPO only, because each
	// triple has one row there.
	var run run
	var predicate []byte // of the last cleared row in POS
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
			switch {
			case o == triple.SPO:
				c.count(version, value)
			case o == triple.POS:
				if !bytes.Equal(terms[triple.Predicate], predicate) {
					predicate = append(predicate[:0], terms[triple.Predicate]...)
					predicates.Begin(predicate)
				}
				predicates.Count()
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
	// The last run ends with the order.
	_, upper := keyspace.StorageBounds(triple.OrderRange(o))
	return run.end(c.batch, upper)
}

// run is consecutive rows to delete.
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

// end deletes the rows of the run, which ends before a key, and begins a new one.
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

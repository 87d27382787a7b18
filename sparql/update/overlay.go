// A source with a delta over it, as later operations read it.

package update

import (
	"bytes"
	"context"
	"sort"
	"unsafe"

	"github.com/tidwall/btree"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// overlay is a source with a delta on top: the base's rows without those of
// cleared graphs and of deleted triples, and the rows of added ones.
type overlay struct {
	base    source.Source
	rows    *btree.Map[string, row] // in all orders
	cleared *clearing

	adds, deletes int // triples in rows
}

// changes reports whether triples with a predicate may be others than those of the base; "" stands for any predicate. It
// reads the rows of the operations before, so it stays the same while this operation writes.
func (o *overlay) changes(predicate string) bool {
	if predicate == "" || o.cleared.any() {
		return true
	}
	keys, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(predicate)}}.KeyRange()
	if err != nil {
		return true // an invalid IRI: the base reports it
	}
	at := cursor{iter: o.rows.Iter(), bounds: keys.Range}
	at.first()
	return at.valid
}

// hides reports whether a row of the base is one of a cleared graph.
func (o *overlay) hides(key []byte) (bool, error) {
	if !o.cleared.any() {
		return false, nil
	}
	if o.cleared.all() {
		return true, nil
	}
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return false, err
	}
	return o.cleared.hides(terms[triple.Graph]), nil
}

// Scan iterates over a range.
func (o *overlay) Scan(ctx context.Context, r triple.Range, reverse bool) (source.Rows, error) {
	m := &merged{ctx: ctx, overlay: o, reverse: reverse}
	if !o.cleared.all() {
		base, err := o.base.Scan(ctx, r, reverse)
		if err != nil {
			return nil, err
		}
		m.base = base
	}
	m.delta = cursor{iter: o.rows.Iter(), bounds: r, reverse: reverse}
	return m, ctx.Err()
}

// Lookup calls each for the rows of all ranges.
func (o *overlay) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	l := lookup{delta: cursor{iter: o.rows.Iter()}, ranges: ranges, each: each, at: -1}
	// 1. Read the base. Rows of the delta are given before the first greater key of the base.
	if !o.cleared.all() {
		err := o.base.Lookup(ctx, ranges, func(i int, key, value []byte) error {
			hidden, err := o.hides(key)
			if err != nil {
				return err
			}
			written, err := l.rowsBefore(i, key)
			if err != nil || written || hidden {
				return err
			}
			return each(i, key, value)
		})
		if err != nil {
			return err
		}
	}
	// 2. Give the delta's rows after the base's last row.
	for l.at < len(ranges) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.rest(); err != nil {
			return err
		}
	}
	return nil
}

// lookup merges the delta's rows into those of a look-up.
type lookup struct {
	delta  cursor
	ranges []triple.Range
	each   func(i int, key, value []byte) error
	at     int // the current range of delta
}

// rest gives the rest of the delta's current range and moves to the next one.
func (l *lookup) rest() error {
	for ; l.at >= 0 && l.delta.valid; l.delta.next() {
		if err := l.give(); err != nil {
			return err
		}
	}
	if l.at++; l.at < len(l.ranges) {
		l.delta.bounds = l.ranges[l.at]
		l.delta.first()
	}
	return nil
}

func (l *lookup) give() error {
	if r := l.delta.row(); !r.deleted {
		return l.each(l.at, l.delta.key(), bytesOf(r.value))
	}
	return nil
}

// rowsBefore gives the delta's rows before a key of range i. written is true if the delta has the
// key itself. Then before gives this row too, if it is not deleted.
func (l *lookup) rowsBefore(i int, key []byte) (written bool, err error) {
	for l.at < i {
		if err := l.rest(); err != nil {
			return false, err
		}
	}
	for ; l.delta.valid; l.delta.next() {
		order := bytes.Compare(l.delta.key(), key)
		if order > 0 {
			break
		}
		written = order == 0
		if err := l.give(); err != nil {
			return false, err
		}
	}
	return written, nil
}

// Count returns how many rows a range has.
func (o *overlay) Count(ctx context.Context, r triple.Range) (int64, error) {
	// 1. If graphs were cleared, the base's own count is of no use, because it includes their
	// rows.
	switch {
	case o.cleared.all():
		return o.changedRows(r), ctx.Err()
	case o.cleared.any():
		return o.countMerged(ctx, r)
	}
	total, err := o.base.Count(ctx, r)
	if err != nil {
		return 0, err
	}
	// If the base has a row of the delta, subtract it, because an added row must count once and
	// a deleted one not at all.
	var points []triple.Range
	c := cursor{iter: o.rows.Iter(), bounds: r}
	for c.first(); c.valid; c.next() {
		if !c.row().deleted {
			total++
		}
		key := c.key()
		points = append(points, triple.Range{Lo: key, Hi: append(key[:len(key):len(key)], 0)})
		if len(points) == lookupRanges {
			// Keys are looked up many at a time, because each call may be a message.
			known, err := o.known(ctx, points)
			if err != nil {
				return 0, err
			}
			total -= known
			points = points[:0]
		}
	}
	known, err := o.known(ctx, points)
	return total - known, err
}

// lookupRanges is how many ranges are looked up at once.
const lookupRanges = 1024

// known returns the number of the base's rows in ranges.
func (o *overlay) known(ctx context.Context, points []triple.Range) (n int64, err error) {
	if len(points) == 0 {
		return 0, nil
	}
	err = o.base.Lookup(ctx, points, func(int, []byte, []byte) error {
		n++
		return nil
	})
	return n, err
}

func (o *overlay) countMerged(ctx context.Context, r triple.Range) (n int64, err error) {
	rows, err := o.Scan(ctx, r, false)
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		n++
	}
	err = rows.Err()
	if e := rows.Close(); err == nil {
		err = e
	}
	return n, err
}

// Estimate returns about how many rows a range has: those of the base and of the delta there.
// If only some of the base's rows are cleared, all count. The delta's rows count as added or
// deleted in its overall ratio.
func (o *overlay) Estimate(ctx context.Context, r triple.Range) (rows int64, exact bool, err error) {
	if o.cleared.all() {
		return o.changedRows(r), true, ctx.Err()
	}
	rows, exact, err = o.base.Estimate(ctx, r)
	rows, exact = o.estimate(r, rows, exact)
	return rows, exact, err
}

// estimate returns about how many rows a range has if the base has base there.
func (o *overlay) estimate(r triple.Range, base int64, exact bool) (int64, bool) {
	changed := o.changedRows(r)
	if o.cleared.all() { // nothing is deleted
		return changed, true
	}
	if changed > 0 {
		share := float64(o.adds-o.deletes) / float64(o.adds+o.deletes)
		base = max(base+int64(share*float64(changed)), 0)
	}
	return base, exact && changed == 0 && !o.cleared.any()
}

// Survey estimates many ranges at once. Samples are the base's.
func (o *overlay) Survey(ctx context.Context, questions []source.Question) (found []source.Finding, err error) {
	if o.cleared.all() {
		found, err = make([]source.Finding, len(questions)), ctx.Err()
	} else {
		found, err = source.Survey(ctx, o.base, questions)
	}
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Rows, found[i].Exact = o.estimate(questions[i].Range, found[i].Rows, found[i].Exact)
	}
	return found, nil
}

// changedRows returns how many rows the delta has in a range.
func (o *overlay) changedRows(r triple.Range) int64 {
	before := func(key []byte) int {
		return sort.Search(o.rows.Len(), func(i int) bool {
			at, _, _ := o.rows.GetAt(i)
			return at >= string(key)
		})
	}
	end := o.rows.Len()
	if r.Hi != nil {
		end = before(r.Hi)
	}
	return int64(max(end-before(r.Lo), 0))
}

// cursor goes through the rows of a range of the delta.
type cursor struct {
	iter    btree.MapIter[string, row]
	bounds  triple.Range
	reverse bool
	valid   bool
}

// key returns the row's key. The caller must not write to it.
func (c *cursor) key() []byte { return bytesOf(c.iter.Key()) }
func (c *cursor) row() row    { return c.iter.Value() }

// bytesOf returns the bytes of s. The caller must not write to them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// first moves to the first row of the range, in the cursor's direction.
func (c *cursor) first() {
	if !c.reverse {
		c.valid = c.iter.Seek(string(c.bounds.Lo))
	} else if c.bounds.Hi == nil || !c.iter.Seek(string(c.bounds.Hi)) {
		c.valid = c.iter.Last()
	} else {
		c.valid = c.iter.Prev()
	}
	c.check()
}

// next moves on; the cursor is valid.
func (c *cursor) next() {
	if c.reverse {
		c.valid = c.iter.Prev()
	} else {
		c.valid = c.iter.Next()
	}
	c.check()
}

// seek moves to the first row at or after key in the cursor's direction.
func (c *cursor) seek(key []byte) {
	switch {
	case !c.reverse && bytes.Compare(key, c.bounds.Lo) < 0, c.reverse && c.bounds.Hi != nil && bytes.Compare(key, c.bounds.Hi) >= 0:
		c.first()
		return
	case !c.reverse:
		c.valid = c.iter.Seek(string(key))
	case !c.iter.Seek(string(key)):
		c.valid = c.iter.Last()
	case c.iter.Key() == string(key):
		c.valid = true
	default:
		c.valid = c.iter.Prev()
	}
	c.check()
}

// check ends the cursor if it left the range.
func (c *cursor) check() {
	if !c.valid {
		return
	}
	key := c.iter.Key()
	c.valid = key >= string(c.bounds.Lo) && (c.bounds.Hi == nil || key < string(c.bounds.Hi))
}

// The triples added and deleted by a request so far.

package update

import (
	"fmt"

	"github.com/tidwall/btree"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// quad is a triple as the delta takes it: the key forms of its terms, and the value of its
// rows.
type quad struct {
	terms triple.KeyTerms
	value string
}

// plainValue is the value of rows without long terms.
var plainValue = string(triple.AppendValue(nil, triple.Stamp{}, triple.Triple{}))

func quadOf(t triple.Triple) quad {
	var q quad
	for position, term := range [4]triple.Term{t.Subject, t.Predicate, t.Object, t.Graph} {
		q.terms[position], _ = triple.AppendTerm(nil, term)
	}
	q.value = valueString(triple.AppendValue(nil, triple.Stamp{}, t))
	return q
}

func valueString(value []byte) string {
	if string(value) == plainValue {
		return plainValue
	}
	return string(value)
}

// home returns the order of a triple's own row.
func (q *quad) home() triple.Order {
	if len(q.terms[triple.Graph]) > 0 {
		return triple.GSPO
	}
	return triple.SPO
}

func (q *quad) key(dst []byte, o triple.Order) []byte {
	return triple.AppendKeyOf(dst, o, q.terms[triple.Subject], q.terms[triple.Predicate], q.terms[triple.Object], q.terms[triple.Graph])
}

// row is the delta's value of a key.
type row struct {
	value   string
	op      int32 // the operation of its last write, in the triple's own row
	deleted bool
}

// clearing is the set of cleared graphs of the base.
type clearing struct {
	unnamed bool // the default graph
	named   bool // all named graphs; graphs is empty then
	graphs  map[string]triple.Term
}

func (c *clearing) any() bool { return c.unnamed || c.named || len(c.graphs) > 0 }
func (c *clearing) all() bool { return c.unnamed && c.named }

// hides reports whether a graph, by its form in keys, is cleared.
func (c *clearing) hides(graph []byte) bool {
	if len(graph) == 0 {
		return c.unnamed
	}
	if c.named {
		return true
	}
	_, ok := c.graphs[string(graph)]
	return ok
}

// delta is the effect of a request so far. Invariants: a triple must not be both added and
// deleted; no triple of a cleared graph is deleted.
type delta struct {
	rows    *btree.Map[string, row]
	cleared clearing

	adds, deletes int // triples
	bytes, limit  int64
	lent          int64 // of bytes, the part of tree nodes with a second copy while an overlay reads

	op      int32
	indexed bool // triples are written in all orders
	scratch []byte
}

// rowBytes is the size of a row without its key and value: the item in a node of the tree, and
// its part of the free space in nodes.
const rowBytes = 80

func newDelta(limit int64) *delta {
	return &delta{rows: &btree.Map[string, row]{}, limit: limit}
}

// begin begins another operation. indexed is true if a later one has a WHERE. When it is false
// it must stay so, because rows of other orders are then left stale and are never read again.
func (d *delta) begin(indexed bool) {
	d.op++
	d.indexed = indexed
	d.bytes -= d.lent
	d.lent = 0
}

// lend returns a copy of the tree, for as long as the operation goes on.
func (d *delta) lend() *btree.Map[string, row] {
	if d.lent == 0 {
		d.lent = rowBytes * int64(d.rows.Len())
		d.bytes += d.lent
	}
	return d.rows.Copy()
}

// changed reports whether there are changes.
func (d *delta) changed() bool { return d.rows.Len() > 0 || d.cleared.any() }

// applyTo returns the state of base with the delta. It stays as it is while the
// delta is written to, but for graphs cleared.
func (d *delta) applyTo(base source.Source) source.Source {
	if !d.changed() {
		return base
	}
	return &overlay{base: base, rows: d.lend(), cleared: &d.cleared, adds: d.adds, deletes: d.deletes}
}

// add adds a triple.
func (d *delta) add(q *quad) error { return d.put(q, false) }

// remove deletes a triple, but if this operation adds it: of one operation,
// deletions come first.
func (d *delta) remove(q *quad) error { return d.put(q, true) }

func (d *delta) put(q *quad, deleted bool) error {
	d.scratch = q.key(d.scratch[:0], q.home())
	key := string(d.scratch)
	old, ok := d.rows.Get(key)
	// 1. Return if nothing changes. A deletion needs no row if its graph was cleared.
	switch {
	case ok && deleted && (old.deleted || old.op == d.op):
		return nil
	case deleted && d.cleared.hides(q.terms[triple.Graph]):
		// If the request itself added the triple, its row must go.
		if ok {
			d.drop(key, old)
		}
		return nil
	}
	// 2. Count the new row instead of the old one.
	next := row{value: q.value, op: d.op, deleted: deleted}
	if ok && old.deleted == deleted {
		d.rows.Set(key, next) // added again: this operation's deletions do not undo it
		return nil
	}
	if ok {
		d.count(old, -1)
	}
	d.count(next, 1)
	// 3. Write it. If the orders are in use, it must be in all of them.
	if err := d.set(key, next); err != nil || !d.indexed {
		return err
	}
	for _, o := range triple.Orders {
		if d.scratch = q.key(d.scratch[:0], o); len(d.scratch) > 0 && o != q.home() {
			if err := d.set(string(d.scratch), next); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *delta) count(r row, n int) {
	if r.deleted {
		d.deletes += n
	} else {
		d.adds += n
	}
}

func (d *delta) set(key string, next row) error {
	if _, replaced := d.rows.Set(key, next); replaced {
		return nil
	}
	return d.grow(sizeOf(key, next))
}

func sizeOf(key string, r row) int64 {
	bytes := len(key) + len(key)/8 + rowBytes // as the allocator rounds up
	if r.value != plainValue {
		bytes += len(r.value)
	}
	return int64(bytes)
}

func (d *delta) grow(bytes int64) error {
	if d.bytes += bytes; d.bytes > d.limit {
		return fmt.Errorf("%w: its %d triples so far take more than the limit of %d bytes; "+
			"nothing was changed: make several requests of it, load large data by another way, or raise the memory of updates",
			ErrMemory, d.adds+d.deletes, d.limit)
	}
	return nil
}

// drop removes a triple's rows. The base must not have the triple.
func (d *delta) drop(key string, old row) {
	d.count(old, -1)
	d.unset(key)
	if !d.indexed {
		return
	}
	home, terms, err := triple.SplitKey([]byte(key))
	if err != nil {
		panic(fmt.Sprintf("update: a key of the delta: %v", err)) // put made it
	}
	q := quad{terms: terms}
	for _, o := range triple.Orders {
		if d.scratch = q.key(d.scratch[:0], o); len(d.scratch) > 0 && o != home {
			d.unset(string(d.scratch))
		}
	}
}

func (d *delta) unset(key string) {
	if old, ok := d.rows.Delete(key); ok {
		d.bytes -= sizeOf(key, old)
	}
}

// graphRange returns the range of the rows of a graph, by its form in keys; of
// the default graph those rows without a fourth term.
func graphRange(graph []byte) triple.Range {
	if len(graph) == 0 {
		return triple.OrderRange(triple.SPO)
	}
	lo := append([]byte{byte(triple.GSPO)}, graph...)
	return triple.Range{Lo: append(lo[:len(lo):len(lo)], 0, 1), Hi: append(lo[:len(lo):len(lo)], 0, 2)}
}

// ownRows calls each with the triples of a range of SPO or GSPO by their own rows.
func (d *delta) ownRows(r triple.Range, each func(key string, r row, terms triple.KeyTerms) bool) {
	hi := string(r.Hi)
	d.rows.Ascend(string(r.Lo), func(key string, row row) bool {
		if key >= hi {
			return false
		}
		o, terms, err := triple.SplitKey([]byte(key))
		if err != nil {
			panic(fmt.Sprintf("update: a key of the delta: %v", err)) // put made it
		}
		if o == triple.SPO && len(terms[triple.Graph]) > 0 {
			return true
		}
		return each(key, row, terms)
	})
}

// clearRange drops the triples of a range.
func (d *delta) clearRange(r triple.Range) {
	var keys []string
	var rows []row
	d.ownRows(r, func(key string, row row, _ triple.KeyTerms) bool {
		keys, rows = append(keys, key), append(rows, row)
		return true
	})
	for i, key := range keys {
		d.drop(key, rows[i])
	}
}

// clear clears one graph; the zero Term is the default graph.
func (d *delta) clear(graph triple.Term) error {
	key, _ := triple.AppendTerm(nil, graph)
	d.clearRange(graphRange(key))
	switch {
	case graph.IsZero():
		d.cleared.unnamed = true
	case !d.cleared.hides(key):
		if d.cleared.graphs == nil {
			d.cleared.graphs = map[string]triple.Term{}
		}
		d.cleared.graphs[string(key)] = graph
		return d.grow(int64(len(key)+len(graph.Value())) + rowBytes)
	}
	return nil
}

// clearNamed clears all named graphs.
func (d *delta) clearNamed() {
	d.clearRange(triple.OrderRange(triple.GSPO))
	for key, graph := range d.cleared.graphs {
		d.bytes -= int64(len(key)+len(graph.Value())) + rowBytes
	}
	d.cleared.named, d.cleared.graphs = true, nil
}

// clearAll clears everything.
func (d *delta) clearAll() {
	d.rows = &btree.Map[string, row]{}
	d.cleared = clearing{unnamed: true, named: true}
	d.adds, d.deletes, d.bytes, d.lent = 0, 0, 0, 0
}

// mark is a state of the delta to go back to.
type mark struct{ delta delta }

// mark returns the state, as long as no graph is cleared after it.
func (d *delta) mark() mark {
	rows := d.lend()
	m := mark{*d}
	m.delta.rows = rows
	return m
}

// restore goes back to a state, once.
func (d *delta) restore(m mark) { *d = m.delta }

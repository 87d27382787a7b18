// The pairs of a repetition whose ends are both free, by numbers of columns.

package path

import (
	"math"
	"slices"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// Closure gives the pairs of nodes that a repetition connects. It searches from each node in ascending
// order, and holds the nodes that one start reaches.
type Closure struct {
	Exec     *exec.Execution
	Lists    []*columns.Lists // the edges: a node is connected with its values in each
	Empty    bool             // no edge connects a node with itself; all numbers are of nodes
	Once     bool             // no more than one edge connects nodes
	From, To int              // slots of the ends
	Plan     *explain.Plan
	memory.Holder

	keys   []columns.KeyRange // by list: those behind the next start
	places []int              // by list: of the next start; negative: none
	start  uint32             // the node that ends are reached from
	ends   []uint32
	given  int      // of ends
	seen   []uint64 // a bit for each number: it is in ends
	empty  []string
	reads  int
}

// ClosureLists returns the lists of a path that is an edge or one of several, if v has columns with short
// terms of all of them; else nil.
func ClosureLists(v *columns.View, p ast.Path) []*columns.Lists {
	return (&Walker{Columns: v}).alternatives(nil, p, true)
}

// alternatives appends the lists of a path's alternatives to found; nil if a part has none.
func (w *Walker) alternatives(found []*columns.Lists, p ast.Path, forward bool) []*columns.Lists {
	switch p := p.(type) {
	case *ast.PathIRI:
		if l := w.lists(p.IRI, forward); l != nil {
			return append(found, l)
		}
	case *ast.PathInverse:
		return w.alternatives(found, p.Arg, !forward)
	case *ast.PathAlternative:
		for _, part := range p.Parts {
			if found = w.alternatives(found, part, forward); found == nil {
				return nil
			}
		}
		return found
	}
	return nil
}

func (c *Closure) Next(out *solution.Batch) error {
	defer c.countReads()
	if c.empty == nil {
		c.empty = make([]string, c.Exec.Width)
	}
	for !out.Full() {
		// 1. Search from the next start.
		if c.given == len(c.ends) {
			if ok, err := c.search(); err != nil || !ok {
				return err
			}
		}
		// 2. Give its pairs.
		start := c.Exec.Arena.Number(c.start)
		for ; c.given < len(c.ends) && !out.Full(); c.given++ {
			row := out.Add(c.empty, 0)
			row[c.From], row[c.To] = start, c.Exec.Arena.Number(c.ends[c.given])
		}
	}
	return nil
}

// CountPairs gives one row with the number of pairs.
type CountPairs struct {
	*Closure
	Slots []int // of the number
	done  bool
}

func (c *CountPairs) Next(out *solution.Batch) error {
	if c.done {
		return nil
	}
	c.done = true
	defer c.countReads()
	pairs := int64(0)
	for {
		if ok, err := c.search(); err != nil {
			return err
		} else if !ok {
			break
		}
		pairs += int64(len(c.ends))
	}
	c.Plan.Rows += pairs
	row := out.Add(make([]string, c.Exec.Width), 0)
	for _, slot := range c.Slots {
		row[slot] = solution.Encode(expr.FromInt(pairs).Term())
	}
	return nil
}

func (c *CountPairs) Reset() { c.done = false; c.Closure.Reset() }

func (c *Closure) countReads() {
	c.Plan.AddReads(c.reads)
	c.reads = 0
}

// search finds the ends of the next start; ok is false if there is none.
func (c *Closure) search() (ok bool, err error) {
	// 1. Forget the ends of the start before. The first search makes room for all.
	if c.seen == nil {
		c.keys, c.places, c.seen = make([]columns.KeyRange, len(c.Lists)), make([]int, len(c.Lists)), make([]uint64, c.Exec.Terms.Len()/64+1)
		if err := c.Grow(8 * len(c.seen)); err != nil {
			return false, err
		}
		for i, l := range c.Lists {
			c.keys[i] = l.All()
			c.advance(i)
		}
	}
	for _, end := range c.ends {
		c.seen[end/64] &^= 1 << (end % 64)
	}
	c.ends, c.given = c.ends[:0], 0
	// 2. The next start is the least of the next keys; if no edge is needed, the next number.
	next := uint32(math.MaxUint32)
	if c.Empty {
		next = c.start + 1
		ok = int(next) <= c.Exec.Terms.Len()
	}
	for i, l := range c.Lists {
		if !c.Empty && c.places[i] >= 0 {
			next, ok = min(next, l.Key(c.places[i])), true
		}
	}
	if !ok {
		return false, nil
	}
	// 3. Reach the start itself and its neighbours, then those of each reached node.
	c.start = next
	if c.Empty {
		err = c.add(next)
	}
	for i, l := range c.Lists {
		if place := c.places[i]; err == nil && place >= 0 && l.Key(place) == next {
			c.advance(i)
			err = c.reach(l, place)
		}
	}
	for i := 0; i < len(c.ends) && !c.Once && err == nil; i++ {
		if c.ends[i] == next {
			continue // its neighbours are reached
		}
		for _, l := range c.Lists {
			if place, ok := l.Find(c.ends[i], 0); ok && err == nil {
				err = c.reach(l, place)
			}
		}
	}
	return true, err
}

// advance moves to the next start of a list.
func (c *Closure) advance(i int) {
	var ok bool
	if c.places[i], ok = c.Lists[i].Next(&c.keys[i]); !ok {
		c.places[i] = -1
	}
}

// reach adds the values of the key at a place to the ends.
func (c *Closure) reach(l *columns.Lists, place int) error {
	for at, end := l.Bounds(place); at < end; at++ {
		if err := c.add(l.Value(at)); err != nil {
			return err
		}
	}
	return nil
}

// add adds a node to the ends, unless it is one.
func (c *Closure) add(number uint32) error {
	if c.reads++; c.reads >= solution.BatchRows {
		c.countReads()
		if err := c.Exec.Check(); err != nil {
			return err
		}
	}
	if c.seen[number/64]&(1<<(number%64)) != 0 {
		return nil
	}
	c.seen[number/64] |= 1 << (number % 64)
	if len(c.ends) == cap(c.ends) {
		more := max(cap(c.ends), solution.BatchRows)
		if err := c.Grow(4 * more); err != nil {
			return err
		}
		c.ends = slices.Grow(c.ends, more)
	}
	c.ends = append(c.ends, number)
	return nil
}

func (c *Closure) Reset() {
	c.places, c.start, c.seen, c.ends, c.given = nil, 0, nil, nil, 0
	c.Free()
}

func (c *Closure) Close() { c.Reset() }

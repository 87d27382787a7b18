// The counts of a join over columns, without its rows.

package exec

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// CountJoin gives the numbers of rows of a join over columns: in one row, or in a row for each number of a
// variable. It makes no rows of the join. If no other step uses the value of a step, all its matches are taken
// at once: they multiply the matches of the others.
type CountJoin struct {
	*ColumnJoin
	Counts []JoinCount
	Key    int           // the variable of GROUP BY, which a step binds to a number; negative: all rows are one group
	Holder memory.Holder // of the groups

	key    int    // the place of Key in the numbers
	alone  []bool // by step: no other step uses its value, or the value is bound
	rows   int64
	byKey  map[uint32]int // places of groups, by the number of Key
	groups []uint32
	sums   []int64 // the counts of the first group, then of the next ones
	at     int     // the group to give
	last   int     // the group of the last rows
	done   bool
	small  [64]string // encoded numbers
}

// JoinCount is a number of rows of a join.
type JoinCount struct {
	Slot     int // of the number
	Optional int // the OptionalStep that must have a match in a row; negative: all rows are counted
}

// CountGroupBytes are counted for a group, and for each of its counts.
const CountGroupBytes = 32

// errManyRows means that a count has no integer of 64 bits.
var errManyRows = errors.New("COUNT exceeds the greatest integer of 64 bits: add a condition that leaves fewer solutions")

func (c *CountJoin) Next(out *solution.Batch) error {
	if !c.done {
		c.done = true
		if err := c.countAll(out); err != nil {
			return err
		}
	}
	empty := make([]string, c.Exec.Width)
	for ; c.at < len(c.groups) && !out.Full(); c.at++ {
		row := out.Add(empty, 0)
		if c.Key >= 0 {
			row[c.Key] = c.Exec.Arena.Number(c.groups[c.at])
		}
		for i := range c.Counts {
			row[c.Counts[i].Slot] = c.encode(c.sums[c.at*len(c.Counts)+i])
		}
	}
	return nil
}

// encode returns the binding of a number.
func (c *CountJoin) encode(n int64) string {
	if n >= int64(len(c.small)) {
		return solution.Encode(expr.FromInt(n).Term())
	}
	if c.small[n] == "" {
		c.small[n] = solution.Encode(expr.FromInt(n).Term())
	}
	return c.small[n]
}

// countAll counts the rows of all of the input.
func (c *CountJoin) countAll(out *solution.Batch) error {
	defer c.countReads()
	// 1. Find the steps whose values are not read.
	if c.alone == nil {
		for i := range c.Steps {
			c.alone = append(c.alone, c.isAlone(i))
		}
	}
	if c.key = c.placeOf(c.Key); c.Key < 0 {
		c.groups, c.sums = append(c.groups, 0), make([]int64, len(c.Counts))
	}
	// 2. Count the rows of each row of the input.
	for {
		ok, err := c.begin(out)
		if err == nil && ok {
			err = c.count(0, 1)
		}
		if err != nil || !ok {
			c.Plan.Rows += c.rows
			return err
		}
	}
}

// isAlone reports whether the value of a step need not be read.
func (c *CountJoin) isAlone(i int) bool {
	value := c.Steps[i].Value
	if !value.Free || c.Steps[i].Kind != InnerStep {
		return true // a test has its own variable, and no step uses that of an OPTIONAL
	}
	return value.Slot != c.Key && !slices.ContainsFunc(c.Steps[i+1:], func(s ColumnStep) bool {
		return !s.Key.Free && s.Key.Slot == value.Slot || !s.Value.Free && s.Value.Slot == value.Slot
	})
}

// count counts the rows of the steps from depth on. Each is that of weight rows, because the steps before
// have as many matches with the present numbers.
func (c *CountJoin) count(depth int, weight int64) error {
	if depth == len(c.Steps) {
		return c.add(weight)
	}
	s, at := &c.Steps[depth], &c.places[depth]
	if err := c.enter(depth); err != nil {
		return err
	}
	if !s.Key.Free {
		return c.values(depth, weight)
	}
	for c.nextKey(s, at) {
		if err := c.values(depth, weight); err != nil {
			return err
		}
	}
	return nil
}

// values counts the rows of the steps from depth on for the present key of the step there.
func (c *CountJoin) values(depth int, weight int64) error {
	if c.reads++; c.reads >= solution.BatchRows {
		c.countReads()
		if err := c.Exec.Check(); err != nil {
			return err
		}
	}
	s, at := &c.Steps[depth], &c.places[depth]
	// 1. A step that is alone has a number of matches, which is 1 of a test that passes.
	n := at.end - at.value
	switch s.Kind {
	case OptionalStep:
		at.passed = n > 0
		n = max(n, 1)
	case ExistsStep:
		n = min(n, 1)
	case NotExistsStep:
		n = 1 - min(n, 1)
	}
	if c.alone[depth] {
		high, product := bits.Mul64(uint64(weight), uint64(n))
		if high > 0 || product > math.MaxInt64 {
			return errManyRows
		}
		if n == 0 {
			return nil
		}
		return c.count(depth+1, int64(product))
	}
	// 2. The next steps read the values of all others.
	c.reads += n
	for at.value < at.end {
		c.take(s, at)
		if err := c.count(depth+1, weight); err != nil {
			return err
		}
	}
	return nil
}

// add counts rows with the present matches.
func (c *CountJoin) add(rows int64) error {
	if c.rows += rows; c.rows < 0 {
		return errManyRows
	}
	if c.Key >= 0 {
		if err := c.find(c.numbers[c.key]); err != nil {
			return err
		}
	}
	for i := range c.Counts {
		if one := &c.Counts[i]; one.Optional < 0 || c.places[one.Optional].passed {
			c.sums[c.last*len(c.Counts)+i] += rows
		}
	}
	return nil
}

// find moves to the group of a number.
func (c *CountJoin) find(number uint32) error {
	// 1. Neighbours are often of one group.
	if c.last < len(c.groups) && c.groups[c.last] == number {
		return nil
	}
	at, ok := c.byKey[number]
	if c.last = at; ok {
		return nil
	}
	// 2. Count a new one before it is made.
	if err := c.Holder.Grow(CountGroupBytes * (1 + len(c.Counts))); err != nil {
		return err
	}
	if c.byKey == nil {
		c.byKey = map[uint32]int{}
	}
	c.last = len(c.groups)
	c.byKey[number] = c.last
	c.groups = append(c.groups, number)
	for range c.Counts {
		c.sums = append(c.sums, 0)
	}
	return nil
}

func (c *CountJoin) Reset() {
	c.done, c.rows, c.byKey, c.groups, c.sums, c.at, c.last = false, 0, nil, nil, nil, 0, 0
	c.Holder.Free()
	c.ColumnJoin.Reset()
}

func (c *CountJoin) Close() {
	c.Holder.Free()
	c.ColumnJoin.Close()
}

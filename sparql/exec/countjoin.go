// The counts of a join over columns, without its rows.

package exec

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// CountJoin gives one row with the numbers of rows of a join over columns. It makes no rows. If no other
// step uses the value of a step, all its matches are taken at once: they multiply the matches of the others.
type CountJoin struct {
	*ColumnJoin
	Counts []JoinCount

	alone []bool // by step: no other step uses its value, or the value is bound
	rows  int64
	done  bool
}

// JoinCount is a number of rows of a join.
type JoinCount struct {
	Slot     int // of the number
	Optional int // the OptionalStep that must have a match in a row; negative: all rows are counted
	rows     int64
}

// errManyRows means that a count has no integer of 64 bits.
var errManyRows = errors.New("COUNT exceeds the greatest integer of 64 bits: add a condition that leaves fewer solutions")

func (c *CountJoin) Next(out *solution.Batch) error {
	if c.done {
		return nil
	}
	c.done = true
	defer c.countReads()
	// 1. Find the steps whose values are not read.
	if c.alone == nil {
		for i := range c.Steps {
			c.alone = append(c.alone, c.isAlone(i))
		}
	}
	// 2. Count the rows of each row of the input.
	for {
		if ok, err := c.begin(out); err != nil {
			return err
		} else if !ok {
			break
		}
		if err := c.count(0, 1); err != nil {
			return err
		}
	}
	// 3. Give the numbers.
	c.Plan.Rows += c.rows
	row := out.Add(make([]string, c.Exec.Width), 0)
	for i := range c.Counts {
		row[c.Counts[i].Slot] = solution.Encode(expr.FromInt(c.Counts[i].rows).Term())
	}
	return nil
}

// isAlone reports whether the value of a step need not be read.
func (c *CountJoin) isAlone(i int) bool {
	value := c.Steps[i].Value
	if !value.Free || c.Steps[i].Kind != InnerStep {
		return true // a test has its own variable, and no step uses that of an OPTIONAL
	}
	return !slices.ContainsFunc(c.Steps[i+1:], func(s ColumnStep) bool {
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
	for i := range c.Counts {
		if one := &c.Counts[i]; one.Optional < 0 || c.places[one.Optional].passed {
			one.rows += rows
		}
	}
	return nil
}

func (c *CountJoin) Reset() {
	c.done, c.rows = false, 0
	for i := range c.Counts {
		c.Counts[i].rows = 0
	}
	c.ColumnJoin.Reset()
}

// The counts of a join over columns, without its rows.

package columnjoin

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
	*Join
	Counts []JoinCount
	Key    int           // the variable of GROUP BY, which a step binds to a number; negative: all rows are one group
	Holder memory.Holder // of the groups

	key    int         // the place of Key in the numbers
	alone  []bool      // by step: no other step uses its value, or the value is bound
	kept   []keptCount // by step: of the rows of it and the next ones
	into   *int64      // nil, or what rows are added to in place of the groups
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
	// 1. Find the steps whose values are not read, and those whose counts are kept.
	if c.alone == nil {
		for i := range c.Steps {
			c.alone, c.kept = append(c.alone, c.isAlone(i)), append(c.kept, keptCount{place: c.dependsOn(i)})
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
	return value.Slot != c.Key && !slices.ContainsFunc(c.Steps[i+1:], func(s Step) bool {
		return !s.Key.Free && s.Key.Slot == value.Slot || !s.Value.Free && s.Value.Slot == value.Slot
	})
}

// keptCount has the counts of the rows of a step and the next ones, by the number of the only variable that
// they share with the steps before.
type keptCount struct {
	place        int // of the variable; negative: none are kept
	of           map[uint32]int64
	hits, misses int
}

// Counts are kept for up to maxKeptCounts numbers, and no more if fewer than half of the first minKeptCounts
// were used again.
const (
	maxKeptCounts  = 1 << 16
	minKeptCounts  = 1 << 8
	keptCountBytes = 40
)

// dependsOn returns the place of the only variable that the steps from depth on share with those before;
// negative if there is not one, or the group of a row or a count depends on these steps.
func (c *CountJoin) dependsOn(depth int) int {
	if depth == 0 || depth > len(c.Steps)-2 || slices.ContainsFunc(c.Counts, func(n JoinCount) bool { return n.Optional >= depth }) {
		return -1
	}
	shared, own := -1, map[int]bool{}
	for i := depth; i < len(c.Steps); i++ {
		for _, e := range [...]*End{&c.Steps[i].Key, &c.Steps[i].Value} {
			switch {
			case e.Slot < 0 || own[e.Slot]:
			case e.Free:
				own[e.Slot] = true
			case shared >= 0 && shared != e.Slot:
				return -1
			default:
				shared = e.Slot
			}
		}
	}
	// Keys of the first step come once, and so do the values of one key.
	once := c.Steps[0].Key
	if !once.Free {
		once = c.Steps[0].Value
	}
	if shared < 0 || own[c.Key] || once.Free && once.Slot == shared {
		return -1
	}
	return c.placeOf(shared)
}

// count counts the rows of the steps from depth on. Each is that of weight rows, because the steps before
// have as many matches with the present numbers.
func (c *CountJoin) count(depth int, weight int64) error {
	if depth == len(c.Steps) {
		return c.add(weight)
	}
	kept := &c.kept[depth]
	if kept.place < 0 || c.numbers[kept.place] == 0 {
		return c.search(depth, weight)
	}
	// 1. Count the rows of a number once.
	number := c.numbers[kept.place]
	n, ok := kept.of[number]
	if ok {
		kept.hits++
	} else {
		above := c.into
		c.into = &n
		err := c.search(depth, 1)
		if c.into = above; err == nil {
			err = c.keep(kept, number, n)
		}
		if err != nil {
			return err
		}
	}
	// 2. They are rows of all that came before.
	rows, err := times(weight, n)
	if err != nil || rows == 0 {
		return err
	}
	return c.add(rows)
}

// keep keeps a count, and gives all up if few are used again.
func (c *CountJoin) keep(kept *keptCount, number uint32, n int64) error {
	if kept.misses++; kept.misses >= minKeptCounts && kept.hits < kept.misses {
		kept.place, kept.of = -1, nil
		return nil
	}
	if len(kept.of) == maxKeptCounts {
		return nil
	}
	if err := c.Holder.Grow(keptCountBytes); err != nil {
		return err
	}
	if kept.of == nil {
		kept.of = map[uint32]int64{}
	}
	kept.of[number] = n
	return nil
}

// times multiplies two counts.
func times(a, b int64) (int64, error) {
	high, product := bits.Mul64(uint64(a), uint64(b))
	if high > 0 || product > math.MaxInt64 {
		return 0, errManyRows
	}
	return int64(product), nil
}

// search is count without what is kept.
func (c *CountJoin) search(depth int, weight int64) error {
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
		rows, err := times(weight, int64(n))
		if err != nil || rows == 0 {
			return err
		}
		return c.count(depth+1, rows)
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
	if c.into != nil {
		if *c.into += rows; *c.into < 0 {
			return errManyRows
		}
		return nil
	}
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
	c.alone, c.kept = nil, nil
	c.done, c.rows, c.byKey, c.groups, c.sums, c.at, c.last = false, 0, nil, nil, nil, 0, 0
	c.Holder.Free()
	c.Join.Reset()
}

func (c *CountJoin) Close() {
	c.Holder.Free()
	c.Join.Close()
}

package exec

import (
	"math"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/triple"
)

// What operators take, in microseconds on the machine of docs/BENCHMARKS.md.
// Only their proportions matter.
const (
	costRow   = 0.35 // to read a row and give a solution
	costStep  = 0.15 // to pass over a row
	costSeek  = 2.0  // to find a row elsewhere
	costKey   = 0.2  // to make a range of a binding and sort it
	costBuild = 0.8  // to put a row into a hash table
	costProbe = 0.35 // to look into one
	costSort  = 0.6  // to sort a row
)

// candidate is a pattern of a basic graph pattern that is being planned.
type candidate struct {
	pat  *pattern
	text string
	vars algebra.Set
	// rows is how many rows match it by itself, about.
	rows float64
	// distinct is how many terms those rows have at a position, about.
	distinct [4]float64
	local    [4]int // variables of the positions, as the planner numbers them; negative for none
	same     bool   // a variable stands at two positions
}

// fan returns about how many matches a pattern has for each row of a set that has
// so many distinct bindings of variables; 0 for variables that it does not bind.
// Of two sets of terms the smaller is taken to lie in the larger.
func (one *candidate) fan(distinct []float64) float64 {
	f := one.rows
	for position, v := range one.local {
		if v >= 0 && distinct[v] > 0 && !one.repeated(position) {
			f /= max(one.distinct[position], distinct[v], 1)
		}
	}
	return f
}

// repeated tells whether a position's variable stands at an earlier one too.
func (one *candidate) repeated(position int) bool {
	if !one.same {
		return false
	}
	for _, v := range one.local[:position] {
		if v == one.local[position] {
			return true
		}
	}
	return false
}

// estimate sets how many rows match the pattern, and what is known of their terms
// without reading any.
func (c *compiler) estimate(one *candidate) error {
	pat := one.pat
	rows, err := c.base(pat)
	if err != nil {
		return err
	}
	one.rows = max(rows, 0.05)
	free := 0
	for _, at := range pat.place[:triple.Graph] {
		if at.slot >= 0 {
			free++
		}
	}
	// A subject has few rows of a predicate, an object more, a predicate many.
	shares := [4]float64{0.6, 0, 0.3, 0}
	if free == 3 {
		shares = [4]float64{0.1, 0, 0.3, 0}
	}
	for position, at := range pat.place {
		switch {
		case at.slot < 0:
		case position == triple.Predicate || position == triple.Graph:
			one.distinct[position] = min(one.rows, 30)
		case free == 1:
			one.distinct[position] = one.rows
		default:
			one.distinct[position] = max(1, one.rows*shares[position])
		}
	}
	return nil
}

// base returns about how many rows match a pattern by itself.
func (c *compiler) base(pat *pattern) (float64, error) {
	if c.query.src == nil {
		return 0, nil
	}
	empty := make([]string, c.query.width)
	a := pat.access(pat.mask(empty))
	total := 0.0
	ranges, _ := pat.ranges(nil, nil, a, empty)
	for _, r := range ranges {
		rows, _, err := c.query.src.Estimate(c.query.ctx, r)
		if err != nil {
			return 0, err
		}
		total += float64(rows)
	}
	for range a.consts {
		total = math.Sqrt(total)
	}
	return total, nil
}

// sortedBy returns the order in which a scan of a pattern gives the terms of a
// variable in sequence, the pattern's terms all in the scan's range; 0 for none.
func (one *candidate) sortedBy(slot int) triple.Order {
	pat := one.pat
	switch pat.graphs.mode {
	case oneGraph, eachGraph:
		return 0
	}
	terms := 0
	for _, at := range pat.place {
		if at.key != "" {
			terms++
		}
	}
	for _, o := range [...]triple.Order{triple.SPO, triple.POS, triple.OSP} {
		positions := o.Positions()
		n := 0
		for n < 3 && pat.place[positions[n]].key != "" {
			n++
		}
		if n == terms && n < 3 && pat.place[positions[n]].slot == slot {
			return o
		}
	}
	return 0
}

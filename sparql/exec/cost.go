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
	met      []Sample
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

// repeated reports whether a position's variable stands at an earlier one too.
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

// estimate sets how many rows match patterns, and what is known of their terms.
// With places, those that are sampled get their samples at once.
func (c *compiler) estimate(list []candidate, places int) error {
	if err := c.survey(list, places); err != nil {
		return err
	}
	for i := range list {
		list[i].guess()
	}
	return nil
}

// guess sets about how many distinct terms the rows have.
func (one *candidate) guess() {
	pat := one.pat
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
}

// survey sets about how many rows match each pattern by itself, and asks for
// samples in some places of those that are sampled: all patterns in one question.
func (c *compiler) survey(list []candidate, places int) error {
	if c.query.src == nil {
		for i := range list {
			list[i].rows = leastRows
		}
		return nil
	}
	empty := make([]string, c.query.width)
	var asked []Question
	ends, consts := make([]int, len(list)), make([]int, len(list))
	for i := range list {
		pat := list[i].pat
		a := pat.access(pat.mask(empty))
		ranges, _ := pat.ranges(nil, nil, a, empty)
		for n, r := range ranges {
			one := Question{Range: r}
			if list[i].sampled() && n < 2 { // of many ranges, the first ones
				one.Places = places / min(len(ranges), 2)
			}
			asked = append(asked, one)
		}
		ends[i], consts[i] = len(asked), len(a.consts)
	}
	found, err := c.query.survey(asked)
	if err != nil {
		return err
	}
	at := 0
	for i := range list {
		one := &list[i]
		one.rows, one.met = 0, nil
		for ; at < ends[i]; at++ {
			one.rows += float64(found[at].Rows)
			if asked[at].Places > 0 {
				one.met = append(one.met, found[at].Samples...)
			}
		}
		for range consts[i] {
			one.rows = math.Sqrt(one.rows)
		}
		one.rows = max(one.rows, leastRows)
	}
	return nil
}

// leastRows is what a pattern without rows is taken to have.
const leastRows = 0.05

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

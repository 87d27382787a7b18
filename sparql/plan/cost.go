// The expected cost of patterns and operators.

package plan

import (
	"math"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// The cost of operators, in microseconds on the machine of docs/BENCHMARKS.md. Only the
// proportions matter, because plans are only compared with each other.
const (
	costRow   = 0.35 // to read a row and give a solution
	costStep  = 0.15 // to pass over a row
	costSeek  = 2.0  // to find a row elsewhere
	costKey   = 0.2  // to make a range of a binding and sort it
	costBuild = 0.8  // to put a row into a hash table
	costProbe = 0.35 // to look into one
	costSort  = 0.6  // to sort a row

	costMake   = 0.8 // to make a triple term
	costUnfold = 0.2 // to take one apart

	costColumnRow   = 0.03 // to take the next value of a column
	costColumnProbe = 0.1  // to find a key of one
)

// candidate is a pattern of a basic graph pattern being planned.
type candidate struct {
	pat  *pattern.Pattern
	text func() string
	vars algebra.Set
	// rows is how many rows match it by itself, about.
	rows float64
	// distinct is how many terms those rows have at a position, about.
	distinct [4]float64
	local    [4]int // variables of the positions, as the search numbers them; negative for none
	same     bool   // a variable stands at two positions
	met      []source.Sample
	column   *column // nil if its rows must be read
}

// fan returns about how many matches a pattern has for each row of a set. distinct has the
// set's number of distinct bindings by variable; 0 if the set does not bind it. Of two sets of
// terms the smaller is assumed to lie in the larger.
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

// estimate sets the expected rows of patterns, and the knowledge of their terms. With places, a
// pattern gets its samples at once if it is one to sample.
func (e *estimator) estimate(list []candidate, places int) error {
	if err := e.survey(list, places); err != nil {
		return err
	}
	for i := range list {
		if one := &list[i]; one.column != nil {
			one.measure()
		} else {
			one.guess()
		}
	}
	return nil
}

// guess sets about how many distinct terms the rows have.
func (one *candidate) guess() {
	pat := one.pat
	free := 0
	for _, at := range pat.Places[:triple.Graph] {
		if at.Slot >= 0 {
			free++
		}
	}
	// A subject has few rows of a predicate, an object more, a predicate many.
	shares := [4]float64{0.6, 0, 0.3, 0}
	if free == 3 {
		shares = [4]float64{0.1, 0, 0.3, 0}
	}
	for position, at := range pat.Places {
		switch {
		case at.Slot < 0:
		case position == triple.Predicate || position == triple.Graph:
			one.distinct[position] = min(one.rows, 30)
		case free == 1:
			one.distinct[position] = one.rows
		default:
			one.distinct[position] = max(1, one.rows*shares[position])
		}
	}
}

// survey sets about how many rows match each pattern by itself, and requests samples if a
// pattern is sampled: all patterns in one question.
func (e *estimator) survey(list []candidate, places int) error {
	if e.exec.Source == nil {
		for i := range list {
			list[i].rows = leastRows
		}
		return nil
	}
	// 1. Collect one question for each range of each pattern.
	empty := make([]string, e.exec.Width)
	var asked []source.Question
	ends, consts := make([]int, len(list)), make([]int, len(list))
	shares := make([]float64, len(list)) // how many times the surveyed ranges a pattern has
	for i := range list {
		pat := list[i].pat
		if list[i].column != nil {
			ends[i] = len(asked)
			continue
		}
		a := pat.Access(pat.Mask(empty))
		ranges, _ := pat.Ranges(nil, nil, a, empty)
		shares[i] = 1
		if n := len(ranges); n > surveyedRanges {
			some := make([]triple.Range, surveyedRanges)
			for k := range some {
				some[k] = ranges[k*n/surveyedRanges]
			}
			ranges, shares[i] = some, float64(n)/surveyedRanges
		}
		for n, r := range ranges {
			one := source.Question{Range: r}
			if list[i].sampled() && n < 2 { // of many ranges, the first ones
				one.Places = places / min(len(ranges), 2)
			}
			asked = append(asked, one)
		}
		ends[i], consts[i] = len(asked), len(a.Consts)
	}
	// 2. Ask them together, because each message to another machine takes a round trip.
	found, err := e.ask(asked)
	if err != nil {
		return err
	}
	at := 0
	for i := range list {
		one := &list[i]
		if one.column != nil {
			one.measure()
			continue
		}
		one.rows, one.met = 0, nil
		for ; at < ends[i]; at++ {
			one.rows += float64(found[at].Rows)
			if asked[at].Places > 0 {
				one.met = append(one.met, found[at].Samples...)
			}
		}
		one.rows *= shares[i]
		// 3. A term behind the prefix is a filter: it is taken to leave the square root of the
		// rows.
		for range consts[i] {
			one.rows = math.Sqrt(one.rows)
		}
		one.rows = max(one.rows, leastRows)
	}
	return nil
}

// surveyedRanges is of how many ranges of a pattern the rows are estimated at most. The others are taken to have as many.
const surveyedRanges = 64

// leastRows is the assumed number of rows if a pattern has none.
const leastRows = 0.05

// sortedBy returns an order if a scan of a pattern in it gives the terms of a variable in
// sequence; 0 for none. The scan's range must fix all terms of the pattern.
func (one *candidate) sortedBy(slot int) triple.Order {
	pat := one.pat
	switch pat.Graphs.Mode {
	case pattern.OneGraph, pattern.EachGraph:
		return 0
	}
	terms := 0
	for _, at := range pat.Places {
		if at.Key != "" {
			terms++
		}
	}
	for _, o := range [...]triple.Order{triple.SPO, triple.POS, triple.OSP} {
		positions := o.Positions()
		n := 0
		for n < 3 && pat.Places[positions[n]].Key != "" {
			n++
		}
		if n == terms && n < 3 && pat.Places[positions[n]].Slot == slot {
			return o
		}
	}
	return 0
}

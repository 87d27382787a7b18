// The expected rows of patterns, and the cost of operators.

package cost

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
	Row   = 0.35 // to read a row and give a solution
	Step  = 0.15 // to pass over a row
	Seek  = 2.0  // to find a row elsewhere
	Key   = 0.2  // to make a range of a binding and sort it
	Build = 0.8  // to put a row into a hash table
	Probe = 0.35 // to look into one
	Sort  = 0.6  // to sort a row

	Make   = 0.8 // to make a triple term
	Unfold = 0.2 // to take one apart

	ColumnRow   = 0.03 // to take the next value of a column
	ColumnProbe = 0.1  // to find a key of one
)

// RowBytes is the approximate size of a row in a hash table.
const RowBytes = 256

// Candidate is a pattern of a basic graph pattern being planned.
type Candidate struct {
	Pat  *pattern.Pattern
	Text func() string
	Vars algebra.Set
	// Rows is how many rows match it by itself, about.
	Rows float64
	// Distinct is how many terms those rows have at a position, about.
	Distinct [4]float64
	Local    [4]int // variables of the positions, as the model of joins numbers them; negative for none
	Same     bool   // a variable stands at two positions
	met      []source.Sample
	Column   *Column // nil if its rows must be read
}

// Fan returns about how many matches a pattern has for each row of a set. distinct has the
// set's number of distinct bindings by variable; 0 if the set does not bind it. Of two sets of
// terms the smaller is assumed to lie in the larger.
func (one *Candidate) Fan(distinct []float64) float64 {
	f := one.Rows
	for position, v := range one.Local {
		if v >= 0 && distinct[v] > 0 && !one.Repeated(position) {
			f /= max(one.Distinct[position], distinct[v], 1)
		}
	}
	return f
}

// Repeated reports whether a position's variable stands at an earlier one too.
func (one *Candidate) Repeated(position int) bool {
	if !one.Same {
		return false
	}
	for _, v := range one.Local[:position] {
		if v == one.Local[position] {
			return true
		}
	}
	return false
}

// Estimate sets the expected rows of patterns, and the knowledge of their terms. With places, a
// pattern gets its samples at once if it is one to sample.
func (e *Estimator) Estimate(list []Candidate, places int) error {
	if err := e.Survey(list, places); err != nil {
		return err
	}
	for i := range list {
		if one := &list[i]; one.Column != nil {
			one.measure()
		} else {
			one.guess()
		}
	}
	return nil
}

// guess sets about how many distinct terms the rows have.
func (one *Candidate) guess() {
	pat := one.Pat
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
			one.Distinct[position] = min(one.Rows, 30)
		case free == 1:
			one.Distinct[position] = one.Rows
		default:
			one.Distinct[position] = max(1, one.Rows*shares[position])
		}
	}
}

// Survey sets about how many rows match each pattern by itself, and requests samples if a
// pattern is sampled: all patterns in one question.
func (e *Estimator) Survey(list []Candidate, places int) error {
	if e.Exec.Source == nil {
		for i := range list {
			list[i].Rows = LeastRows
		}
		return nil
	}
	// 1. Collect one question for each range of each pattern.
	empty := make([]string, e.Exec.Width)
	var requests []source.Question
	ends, consts := make([]int, len(list)), make([]int, len(list))
	shares := make([]float64, len(list)) // how many times the surveyed ranges a pattern has
	for i := range list {
		pat := list[i].Pat
		if list[i].Column != nil {
			ends[i] = len(requests)
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
			requests = append(requests, one)
		}
		ends[i], consts[i] = len(requests), len(a.Consts)
	}
	// 2. Send them together, because each message to another machine takes a round trip.
	found, err := e.request(requests)
	if err != nil {
		return err
	}
	at := 0
	for i := range list {
		one := &list[i]
		if one.Column != nil {
			one.measure()
			continue
		}
		one.Rows, one.met = 0, nil
		for ; at < ends[i]; at++ {
			one.Rows += float64(found[at].Rows)
			if requests[at].Places > 0 {
				one.met = append(one.met, found[at].Samples...)
			}
		}
		one.Rows *= shares[i]
		// 3. A term behind the prefix is a filter: it is taken to leave the square root of the
		// rows.
		for range consts[i] {
			one.Rows = math.Sqrt(one.Rows)
		}
		one.Rows = max(one.Rows, LeastRows)
	}
	return nil
}

// surveyedRanges is of how many ranges of a pattern the rows are estimated at most. The others are taken to have as many.
const surveyedRanges = 64

// LeastRows is the assumed number of rows if a pattern has none.
const LeastRows = 0.05

// SortedBy returns an order if a scan of a pattern in it gives the terms of a variable in
// sequence; 0 for none. The scan's range must fix all terms of the pattern.
func (one *Candidate) SortedBy(slot int) triple.Order {
	pat := one.Pat
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

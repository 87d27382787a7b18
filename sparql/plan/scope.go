// What a part of a plan inherits, and what is requested of its rows.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/optimize"
)

// scope is what a part of a plan inherits from the nodes around it. It is a value: a node passes another one on to its
// inputs, made by one of the methods below, and never changes its own.
type scope struct {
	graphs pattern.Graphs // that patterns match
	outer  *outer         // the rows around a part that runs again for each of them; nil for none
	depth  int            // of nodes around this one
	// looped: the part runs again for other graphs, and nothing may be kept from one to the next.
	looped    bool
	projected bool        // a projection or a group drops the variables that the rest does not use
	nodes     algebra.Set // variables of the rows around an OPTIONAL that are surely IRIs or blank nodes
	// ranges of keys by variable, from the FILTERs above: patterns need no other rows.
	ranges  map[int]pattern.Restriction
	waiting []*condition // of the FILTERs above; the rows of all operators up to them pass
	unfolds []*unfolding // of the join around
}

// outer is the rows around a part that runs again for each batch of them. All leaves of the part start from the feed.
type outer struct {
	feed                       *exec.Feed
	certain, possible, numbers algebra.Set // as those of a stream
	// substitute: every group begins with the feed's row (ContextSolution in SPARQL 1.2), in an EXISTS or LATERAL:
	// filters see its bindings wherever they stand.
	substitute bool
	seeds      algebra.Set // certain in the rows around the EXISTS or LATERAL
	// mixed is set if an operator of the EXISTS or LATERAL joins rows of different rows of the feed: then the feed must
	// give one row at a time.
	mixed *bool
}

// forNode returns the scope for what stands below n. Conditions of a FILTER pass through operators that neither change
// nor drop bindings of rows. Unfoldings are of one join: the patterns in its other arguments are not theirs.
func (at scope) forNode(n algebra.Node) scope {
	at.depth++
	switch n.(type) {
	case *algebra.BGP, *algebra.Join, *algebra.Filter, *algebra.SemiJoin, *algebra.LeftJoin, *algebra.Extend, *algebra.Minus:
	default:
		at.waiting = nil
	}
	switch n.(type) {
	case *algebra.BGP, *algebra.Path, *algebra.Table, *algebra.LinkJoin:
	default:
		at.unfolds = nil
	}
	return at
}

// unfiltered returns the scope of a node whose rows filters above do not see: a group, or a modifier of solutions.
func (at scope) unfiltered() scope {
	at.ranges, at.waiting = nil, nil
	return at
}

// filtered returns the scope below a FILTER.
func (at scope) filtered(ranges map[int]pattern.Restriction, waiting []*condition) scope {
	at.ranges, at.waiting = ranges, waiting
	return at
}

// projecting returns the scope below a projection or a group.
func (at scope) projecting() scope {
	at.projected = true
	return at.unfiltered()
}

// standalone returns the scope of a node that must not start from the rows so far. Under substitution it still starts from
// the row whose terms replace variables.
func (at scope) standalone() scope {
	if !at.substitutes() {
		at.outer = nil
	}
	return at.unfiltered()
}

// withFeed returns the scope of a part that starts from a feed of the rows of s.
func (at scope) withFeed(s stream) scope {
	around := outer{}
	if at.outer != nil {
		around = *at.outer
	}
	around.feed = &exec.Feed{}
	around.certain, around.possible, around.numbers = s.certain, s.possible, s.numbers
	at.outer = &around
	return at.unfiltered()
}

// correlated returns the scope of an EXISTS or LATERAL over the rows of s, with copies of their variables.
func (at scope) correlated(s stream, copies []algebra.Copy) scope {
	for _, one := range copies {
		if s.certain.Has(one.From) {
			s.certain = s.certain.With(one.To)
		}
		if s.possible.Has(one.From) {
			s.possible = s.possible.With(one.To)
		}
		if s.numbers.Has(one.From) {
			s.numbers = s.numbers.With(one.To)
		}
	}
	at = at.withFeed(s)
	at.outer.substitute, at.outer.seeds, at.outer.mixed = true, s.certain, new(bool)
	return at
}

// withGraphs returns the scope with another graph.
func (at scope) withGraphs(g pattern.Graphs) scope {
	at.graphs = g
	return at
}

// lateral reports whether the part starts from a feed.
func (at scope) lateral() bool { return at.outer != nil }

// substitutes reports whether groups begin with the feed's row.
func (at scope) substitutes() bool { return at.outer != nil && at.outer.substitute }

// begin returns the input of a leaf.
func (at scope) begin() stream {
	if at.outer == nil {
		return stream{op: &exec.Unit{}, rows: 1, start: true, sequence: true}
	}
	return stream{
		op: &exec.FeedReader{Feed: at.outer.feed}, certain: at.outer.certain, possible: at.outer.possible, numbers: at.outer.numbers,
		rows: solution.BatchRows, start: true, sequence: true,
		plan: &explain.Plan{Operator: "rows of the outer pattern", Estimate: -1},
	}
}

// mayStart reports whether n may start from rows with possible bindings. In an EXISTS all nodes see the row around it.
func (at scope) mayStart(of *optimize.Variables, n algebra.Node, possible algebra.Set) bool {
	if at.substitutes() {
		possible = possible.Minus(at.outer.seeds)
	}
	return of.Lateral(n, possible)
}

// request is what the operators above would like of a part's rows. The zero request is for all rows in any order. A part
// may ignore it, and then its stream is not sorted.
type request struct {
	goal     int64     // number of rows probably needed; 0 if it is not known
	sequence *sequence // nil for any
}

// sequence is a request for rows in the store's order of a variable.
type sequence struct {
	slot       int
	descending bool
	top        int64 // rows needed
}

// isOf reports whether the sequence of a variable is requested.
func (r request) isOf(slot int) bool { return r.sequence != nil && r.sequence.slot == slot }

// anySequence returns the request without its sequence.
func (r request) anySequence() request { return request{goal: r.goal} }

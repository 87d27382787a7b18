// What a part of a plan inherits.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// Scope is what a part of a plan inherits from the nodes around it. It is a value: a node passes another one on to its
// inputs, made by one of the methods below, and never changes its own.
type Scope struct {
	Graphs pattern.Graphs // that patterns match
	Outer  *outer         // the rows around a part that runs again for each of them; nil for none
	Depth  int            // of nodes around this one
	// Looped: the part runs again for other graphs, and nothing may be kept from one to the next.
	Looped    bool
	projected bool        // a projection or a group drops the variables that the rest does not use
	Nodes     algebra.Set // variables of the rows around an OPTIONAL that are surely IRIs or blank nodes
	// Ranges of keys by variable, from the FILTERs above: patterns need no other rows.
	Ranges  map[int]pattern.Restriction
	Waiting []*order.Condition // of the FILTERs above; the rows of all operators up to them pass
	Unfolds []*order.Unfolding // of the join around
}

// outer is the rows around a part that runs again for each batch of them. All leaves of the part start from the feed.
type outer struct {
	Feed                       *exec.Feed
	Certain, Possible, Numbers algebra.Set // as those of a stream
	// substitute: every group begins with the feed's row (ContextSolution in SPARQL 1.2), in an EXISTS or LATERAL:
	// filters see its bindings wherever they stand.
	substitute bool
	seeds      algebra.Set // certain in the rows around the EXISTS or LATERAL
	// Mixed is set if an operator of the EXISTS or LATERAL joins rows of different rows of the feed: then the feed must
	// give one row at a time.
	Mixed *bool
}

// ForNode returns the scope for what stands below n. Conditions of a FILTER pass through operators that neither change
// nor drop bindings of rows. Unfoldings are of one join: the patterns in its other arguments are not theirs.
func (at Scope) ForNode(n algebra.Node) Scope {
	at.Depth++
	switch n.(type) {
	case *algebra.BGP, *algebra.Join, *algebra.Filter, *algebra.SemiJoin, *algebra.LeftJoin, *algebra.Extend, *algebra.Minus:
	default:
		at.Waiting = nil
	}
	switch n.(type) {
	case *algebra.BGP, *algebra.Path, *algebra.Table, *algebra.LinkJoin:
	default:
		at.Unfolds = nil
	}
	return at
}

// Unfiltered returns the scope of a node whose rows filters above do not see: a group, or a modifier of solutions.
func (at Scope) Unfiltered() Scope {
	at.Ranges, at.Waiting = nil, nil
	return at
}

// Filtered returns the scope below a FILTER.
func (at Scope) Filtered(ranges map[int]pattern.Restriction, waiting []*order.Condition) Scope {
	at.Ranges, at.Waiting = ranges, waiting
	return at
}

// Projecting returns the scope below a projection or a group.
func (at Scope) Projecting() Scope {
	at.projected = true
	return at.Unfiltered()
}

// Standalone returns the scope of a node that must not start from the rows so far. Under substitution it still starts from
// the row whose terms replace variables.
func (at Scope) Standalone() Scope {
	if !at.Substitutes() {
		at.Outer = nil
	}
	return at.Unfiltered()
}

// WithFeed returns the scope of a part that starts from a feed of the rows of s.
func (at Scope) WithFeed(s Stream) Scope {
	around := outer{}
	if at.Outer != nil {
		around = *at.Outer
	}
	around.Feed = &exec.Feed{}
	around.Certain, around.Possible, around.Numbers = s.Certain, s.Possible, s.Numbers
	at.Outer = &around
	return at.Unfiltered()
}

// Correlated returns the scope of an EXISTS or LATERAL over the rows of s, with copies of their variables.
func (at Scope) Correlated(s Stream, copies []algebra.Copy) Scope {
	for _, one := range copies {
		if s.Certain.Has(one.From) {
			s.Certain = s.Certain.With(one.To)
		}
		if s.Possible.Has(one.From) {
			s.Possible = s.Possible.With(one.To)
		}
		if s.Numbers.Has(one.From) {
			s.Numbers = s.Numbers.With(one.To)
		}
	}
	at = at.WithFeed(s)
	at.Outer.substitute, at.Outer.seeds, at.Outer.Mixed = true, s.Certain, new(bool)
	return at
}

// WithGraphs returns the scope with another graph.
func (at Scope) WithGraphs(g pattern.Graphs) Scope {
	at.Graphs = g
	return at
}

// Lateral reports whether the part starts from a feed.
func (at Scope) Lateral() bool { return at.Outer != nil }

// Substitutes reports whether groups begin with the feed's row.
func (at Scope) Substitutes() bool { return at.Outer != nil && at.Outer.substitute }

// Begin returns the input of a leaf.
func (at Scope) Begin() Stream {
	if at.Outer == nil {
		return Stream{Op: &exec.Unit{}, Rows: 1, Start: true, Sequence: true}
	}
	return Stream{
		Op: &exec.FeedReader{Feed: at.Outer.Feed}, Certain: at.Outer.Certain, Possible: at.Outer.Possible, Numbers: at.Outer.Numbers,
		Rows: solution.BatchRows, Start: true, Sequence: true,
		Plan: &explain.Plan{Operator: "rows of the outer pattern", Estimate: -1},
	}
}

// MayStart reports whether n may start from rows with possible bindings. In an EXISTS all nodes see the row around it.
func (at Scope) MayStart(of *optimize.Variables, n algebra.Node, possible algebra.Set) bool {
	if at.Substitutes() {
		possible = possible.Minus(at.Outer.seeds)
	}
	return of.Lateral(n, possible)
}

// The walk over the algebra: each node becomes an operator, joined with those before it.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// A compiler makes operators of algebra.
//
// The problem. The algebra of a query is evaluated from the inside out: each node has solutions of its own, which its
// parent joins. Done so, a pattern of a million rows beside one of ten reads a million rows. So a plan runs from left
// to right instead: the rows so far are the input of the next node, whose patterns look up what fits them. That has the
// same solutions only if the node's own solutions do not depend on the rows so far. The compiler knows which nodes may
// start from which rows, and executes all others on their own and hashes them.
//
// The route of a query, from [Start] on:
//
//	body    = optimize.Body(body)                  passes from algebra to algebra, which need no estimates
//	stream  = compile(body.Root, unit, scope, request)
//
//	compile(n, in, at, want):
//	    at = at.ForNode(n)
//	    if in has rows, and n must not see them:   hash join of in with compile(n, unit, at.Standalone())
//	    leaf (pattern, path, values, ...):         an operator over in                      build.Part
//	    join:                                      joinPlan: arguments in order of cost
//	        rows of the query; what has few rows; patterns; paths and functions; all others
//	        patterns                               Part.Patterns: an order of steps, and an operator for each
//	            candidates, with ranges and columns
//	            estimates of each                  cost.Estimator
//	            the cheapest order                 order.Orders
//	            after each step: Ready()           FILTERs whose variables are bound, triple terms
//	    OPTIONAL, UNION, LATERAL, EXISTS:          the right side starts from a feed of the rows: at.WithFeed(in)
//	    GROUP BY, ORDER BY, DISTINCT, ...:         over compile(input, in, at.Unfiltered(), another request)
//	    Tally:                                     the first way to count without rows that the source or the join knows
//
// Three values go with each node, and no node changes those of another:
//
//   - stream, upwards: an operator, with what is known of its rows: variables bound by each row and by some rows,
//     numbers in place of terms, their estimated number, their order.
//   - scope, downwards: what a node inherits and must respect: graphs, the rows around, ranges and conditions of the
//     FILTERs above.
//   - request, downwards: what saves the nodes above time: first rows early, or rows in a sequence. If a node does not
//     pass it on, the plan loses time, but no rows.
//
// Invariants. A stream's rows are the join of in with n, each as often as SPARQL says. Each row binds the certain
// variables; no row binds one that is not possible. All leaves of a lateral part start from its feed. A condition of a
// FILTER runs once, in the join below or in the filter itself. Terms and numbers of one variable never meet: Terms and
// SameForms turn numbers into terms before.
//
// Three things change while a plan is made. A condition and an unfolding are marked when they run. An operator that mixes
// rows sets Outer.Mixed of its EXISTS. The estimator keeps the answers of the source, because each costs a round trip.
type compiler struct {
	*build.Query
	dataset Dataset
}

// compile returns the join of in with n.
func (c *compiler) compile(n algebra.Node, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	// Depth must be bounded, because compile recurses for each operator.
	if at.Depth > maxDepth {
		return build.Stream{}, fmt.Errorf("%w: more than %d groups, and OPTIONAL, MINUS or LATERAL behind one another; make two queries of it", ErrTooDeep, maxDepth)
	}
	if err := c.Exec.Check(); err != nil {
		return build.Stream{}, err
	}
	at = at.ForNode(n)
	// 1. If a node must not see the solutions so far, it is executed on its own.
	if !in.Start && !at.MayStart(c.Variables, n, in.Possible) {
		return c.hashed(n, in, at)
	}
	// 2. All others start from the solutions so far. Some read terms only.
	switch n.(type) {
	case *algebra.Graph, *algebra.Service:
		in = c.Terms(in, in.Numbers)
	}
	switch n := n.(type) {
	case *algebra.Unit:
		return in, nil
	case *algebra.BGP:
		return c.part(at, want).Patterns(n.Patterns, in)
	case *algebra.Path:
		return c.part(at, want).Path(n, in)
	case *algebra.Table:
		return c.part(at, want).Table(n, in)
	case *algebra.LinkJoin:
		return c.part(at, want).LinkJoin(n, in)
	case *algebra.TextJoin:
		return c.part(at, want).TextJoin(n, in)
	case *algebra.Seek:
		return c.seek(n, in, at, want)
	case *algebra.Unfold:
		return c.join([]algebra.Node{n}, in, at, want)
	case *algebra.Join:
		return c.join(n.Args, in, at, want)
	case *algebra.Union:
		return c.union(n, in, at, want)
	case *algebra.LeftJoin:
		return c.leftJoin(n, in, at, want)
	case *algebra.Lateral:
		return c.lateral(n, in, at)
	case *algebra.Filter:
		return c.filter(n, in, at, want)
	case *algebra.SemiJoin:
		return c.semiJoin(n, in, at, want)
	case *algebra.Extend:
		return c.extend(n, in, at, want)
	case *algebra.Graph:
		return c.graph(n, in, at, want)
	case *algebra.Minus:
		return c.minus(n, in, at, want)
	case *algebra.Service:
		return c.service(n, in, at)
	}
	return c.modifier(n, in, at, want)
}

// modifier is compile for groups and solution modifiers.
func (c *compiler) modifier(n algebra.Node, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	switch n := n.(type) {
	case *algebra.Group:
		return c.group(n, nil, in, at)
	case *algebra.Tally:
		return c.tally(n, in, at, want)
	case *algebra.OrderBy:
		return c.orderBy(n.Input, n.Keys, ast.NoLimit, in, at)
	case *algebra.Top:
		return c.orderBy(n.Input, n.Keys, n.Count, in, at)
	case *algebra.Project:
		return c.project(n, in, at, want)
	case *algebra.Distinct:
		return c.distinct(n.Input, in, at, want)
	case *algebra.Reduced:
		return c.reduced(n.Input, in, at)
	case *algebra.Slice:
		return c.slice(n, in, at)
	case *algebra.LinkRank:
		return c.linkRank(n, in, at)
	}
	return build.Stream{}, fmt.Errorf("no operator for %T", n)
}

// hashed joins in with n. n is executed on its own.
func (c *compiler) hashed(n algebra.Node, in build.Stream, at build.Scope) (build.Stream, error) {
	right, err := c.inner(n, at)
	if err != nil {
		return build.Stream{}, err
	}
	return c.HashJoin(blocking.InnerJoin, in, right, at, nil, nil), nil
}

// inner returns n executed on its own.
func (c *compiler) inner(n algebra.Node, at build.Scope) (build.Stream, error) {
	at = at.Standalone()
	return c.compile(n, at.Begin(), at, order.Request{})
}

// part returns the part of the plan at a place.
func (c *compiler) part(at build.Scope, want order.Request) *build.Part {
	return &build.Part{Query: c.Query, At: at, Want: want}
}

// The walk of the passes over a tree.

package optimize

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/columns"
)

// A pass returns what stands for a node, or the node itself. It looks at the node and what it needs of its inputs; the
// walk then goes on with the inputs of the result. The result must have the same solutions.
type pass struct {
	name string
	rule func(*passes, algebra.Node, place) algebra.Node
}

// inOrder are the passes in the order in which each node goes through them: top needs the offset that is left.
var inOrder = []pass{{"exists", exists}, {"counts", counts}, {"offset", offset}, {"top", top}}

// Body returns a body with the same solutions, and the variables of its nodes. view has the columns of the source's
// default graph, if that is the query's; nil if there are none. The body stays as it is.
func Body(body *algebra.Body, view *columns.View) (*algebra.Body, *Variables) {
	p := &passes{body: body, vars: VariablesOf(body), list: inOrder}
	out := p.run(view)
	p.vars.body = out // nodes that are in both bodies keep what is known of them
	return out, p.vars
}

// passes is one walk over a body.
type passes struct {
	body *algebra.Body
	vars *Variables
	list []pass
}

// place is where a node stands.
type place struct {
	columns *columns.View // of the active graph; nil if it has none
	// outer is set in the pattern of an EXISTS and on the right of LATERAL: groups there begin with a solution from
	// outside, so rows cannot be counted by themselves.
	outer bool
}

func (p *passes) run(view *columns.View) *algebra.Body {
	out := &algebra.Body{Root: p.node(p.body.Root, place{columns: view}), Scope: p.body.Scope}
	for _, x := range p.body.Exists {
		// The pattern of an EXISTS may stand in a GRAPH, so it must not rely on columns.
		out.Exists = append(out.Exists, algebra.ExistsPattern{Pattern: p.node(x.Pattern, place{outer: true}), Copies: x.Copies})
	}
	return out
}

// node returns what stands for a node. Nodes that no pass changes are shared with the body.
func (p *passes) node(n algebra.Node, at place) algebra.Node {
	for _, one := range p.list {
		n = one.rule(p, n, at)
	}
	if tally, ok := n.(*algebra.Tally); ok {
		return algebra.WithInputs(tally, []algebra.Node{p.withInputs(tally.Rows, at)}) // the node itself is done
	}
	return p.withInputs(n, at)
}

// withInputs returns a node over what stands for its inputs.
func (p *passes) withInputs(n algebra.Node, at place) algebra.Node {
	inputs := algebra.Inputs(n)
	changed := false
	for i, in := range inputs {
		below := at
		switch n.(type) {
		case *algebra.Graph:
			below.columns = nil
		case *algebra.Lateral:
			below.outer = at.outer || i == 1
		}
		inputs[i] = p.node(in, below)
		changed = changed || inputs[i] != in
	}
	if !changed {
		return n
	}
	return algebra.WithInputs(n, inputs)
}

// lonePattern returns the only pattern of a node; nil if it has none or several.
func lonePattern(n algebra.Node) *algebra.TriplePattern {
	if bgp, ok := n.(*algebra.BGP); ok && len(bgp.Patterns) == 1 {
		return &bgp.Patterns[0]
	}
	return nil
}

// column returns the column of a pattern; ok is false if it has none. It needs a predicate with a column and two different
// ends.
func (at place) column(p *algebra.TriplePattern) (column *columns.Column, ok bool) {
	if at.columns == nil || p.Predicate.IsVar() || p.Subject.IsVar() && p.Subject.Slot == p.Object.Slot {
		return nil, false
	}
	return at.columns.Column(p.Predicate.Key)
}

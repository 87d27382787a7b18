// The walk over the algebra, with the knowledge at each node.

package plan

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/optimize"
)

// compiler makes operators of algebra. A compiler of a lateral run has a feed. All leaves must
// start from it.
type compiler struct {
	query   *exec.Execution
	body    *algebra.Body
	dataset Dataset
	feed    *exec.Feed
	// Of the feed's rows.
	certain, possible, numbers algebra.Set
	nodes                      algebra.Set // those that are surely IRIs or blank nodes
	// substitute: every group begins with the feed's row (ContextSolution in SPARQL 1.2), in an EXISTS or LATERAL:
	// filters see its bindings wherever they stand.
	substitute bool
	seeds      algebra.Set // certain in the rows around the EXISTS or LATERAL
	mixed      *bool       // set if an operator joins rows of different rows of the feed
	// looped: it is run again for other graphs, and nothing may be kept from one to
	// the next.
	looped bool

	visible   *optimize.Variables // of the whole query
	columns   *columns.View       // nil if the source has none
	projected bool                // a projection or a group drops the variables that the rest does not use
	estimator *estimator
	orders    *orders
	spans     map[int]pattern.Restriction
	unfolds   []*unfolding     // of the join around, see unfold
	waiting   []*condition     // of the FILTERs above; the rows of all operators up to them pass
	keys      map[ast.Expr]int // slots of equalities
	want      *sequence
	goal      int64 // number of rows probably needed; 0 if it is not known
}

// sequence requests rows in the store's order of a variable.
type sequence struct {
	slot       int
	descending bool
	top        int64
	got        bool
}

// begin returns the input of a leaf.
func (c *compiler) begin() stream {
	if c.feed == nil {
		return stream{op: &exec.Unit{}, rows: 1, start: true, sequence: true}
	}
	return stream{
		op: &exec.FeedReader{Feed: c.feed}, certain: c.certain, possible: c.possible, numbers: c.numbers,
		rows: solution.BatchRows, start: true, sequence: true,
		plan: &explain.Plan{Operator: "rows of the outer pattern", Estimate: -1},
	}
}

// traced puts an operator into the plan, over the plans of its inputs. detail is that of
// [explain.Plan].
func (c *compiler) traced(s stream, op exec.Operator, name string, detail func() string, inputs ...*explain.Plan) stream {
	s.plan = newPlan(name, detail, s.rows, inputs...)
	c.query.Attach(op, s.plan)
	c.query.Account.AddOperator()
	s.op = &exec.Traced{Operator: op, Exec: c.query, Plan: s.plan}
	s.start, s.join, s.taken, s.pairs = false, nil, nil, nil
	return s
}

func newPlan(name string, detail func() string, rows float64, inputs ...*explain.Plan) *explain.Plan {
	p := &explain.Plan{Operator: name, Detail: detail, Estimate: rows}
	for _, in := range inputs {
		if in != nil {
			p.Inputs = append(p.Inputs, in)
		}
	}
	return p
}

// compile returns the join of in with n.
func (c *compiler) compile(n algebra.Node, in stream, g pattern.Graphs, depth int) (stream, error) {
	// Depth must be bounded, because compile recurses for each operator.
	if depth > maxDepth {
		return stream{}, fmt.Errorf("%w: more than %d groups, and OPTIONAL, MINUS or LATERAL behind one another; make two queries of it", ErrTooDeep, maxDepth)
	}
	if err := c.query.Check(); err != nil {
		return stream{}, err
	}
	depth++
	// 1. Conditions of a FILTER pass through operators that neither change nor drop bindings of rows.
	switch n.(type) {
	case *algebra.BGP, *algebra.Join, *algebra.Filter, *algebra.SemiJoin, *algebra.LeftJoin, *algebra.Extend, *algebra.Minus:
	default:
		if c.waiting != nil {
			sub := *c
			sub.waiting = nil
			c = &sub
		}
	}
	// Unfoldings are of one join: the patterns in its other arguments are not theirs.
	switch n.(type) {
	case *algebra.BGP, *algebra.Path, *algebra.Table, *algebra.LinkJoin:
	default:
		if c.unfolds != nil {
			sub := *c
			sub.unfolds = nil
			c = &sub
		}
	}
	// 2. If a node must not see the solutions so far, it is executed on its own.
	if !in.start && !c.mayStart(n, in.possible) {
		return c.hashed(n, in, g, depth)
	}
	// 3. All others start from the solutions so far. Some read terms only.
	switch n.(type) {
	case *algebra.Graph, *algebra.Service:
		in = c.terms(in, in.numbers)
	}
	switch n := n.(type) {
	case *algebra.Unit:
		return in, nil
	case *algebra.BGP:
		return c.bgp(n.Patterns, in, g)
	case *algebra.Path:
		return c.path(n, in, g)
	case *algebra.Table:
		return c.table(n, in)
	case *algebra.Unfold:
		return c.join(&algebra.Join{Args: []algebra.Node{n}}, in, g, depth)
	case *algebra.Join:
		return c.join(n, in, g, depth)
	case *algebra.Union:
		return c.union(n, in, g, depth)
	case *algebra.LeftJoin:
		return c.leftJoin(n, in, g, depth)
	case *algebra.Lateral:
		return c.lateral(n, in, g, depth)
	case *algebra.Filter:
		return c.filter(n, in, g, depth)
	case *algebra.Extend:
		return c.extend(n, in, g, depth)
	case *algebra.Graph:
		return c.graph(n, in, depth)
	case *algebra.Minus:
		return c.minus(n, in, g, depth)
	case *algebra.Group:
		return c.group(n, in, g, depth)
	case *algebra.OrderBy:
		return c.orderBy(n.Input, n.Keys, ast.NoLimit, in, g, depth)
	case *algebra.Top:
		return c.orderBy(n.Input, n.Keys, n.Count, in, g, depth)
	case *algebra.Project:
		return c.project(n, in, g, depth)
	case *algebra.Distinct:
		return c.distinct(n.Input, in, g, depth)
	case *algebra.SemiJoin:
		return c.semiJoins(n, in, g, depth)
	case *algebra.Tally:
		return c.tally(n, in, g, depth)
	case *algebra.Seek:
		return c.seek(n, in, g)
	case *algebra.Reduced:
		return c.reduced(n.Input, in, g, depth)
	case *algebra.Slice:
		return c.slice(n, in, g, depth)
	case *algebra.Service:
		return c.service(n, in, g, depth)
	case *algebra.LinkJoin:
		return c.linkJoin(n, in)
	case *algebra.TextJoin:
		return c.textJoin(n, in, g)
	case *algebra.LinkRank:
		return c.linkRank(n, in, g, depth)
	}
	return stream{}, fmt.Errorf("no operator for %T", n)
}

// mayStart reports whether n may start from rows with possible bindings of outer. In an EXISTS
// all nodes see the row around it.
func (c *compiler) mayStart(n algebra.Node, outer algebra.Set) bool {
	if !c.visible.Structural(n) {
		return false
	}
	if c.substitute {
		outer = outer.Without(c.seeds)
	}
	return c.visible.Lateral(n, outer)
}

// names returns the detail of an operator on the variables of a set.
func names(scope *algebra.Scope, s algebra.Set) func() string {
	return func() string {
		var names []string
		for slot := range s.All {
			if slot < scope.Len() { // not a key of an equality
				names = append(names, "?"+scope.Name(slot))
			}
		}
		return strings.Join(names, " ")
	}
}

// endText returns a variable or a term as EXPLAIN shows it beside an operator's name.
func (c *compiler) endText(at algebra.VarOrTerm) string {
	if at.IsVar() {
		return "?" + c.body.Scope.Name(at.Slot)
	}
	return at.Term.String()
}

// patternText returns the detail of an operator on a pattern.
func (c *compiler) patternText(p *algebra.TriplePattern) func() string {
	return func() string { return c.body.Scope.Pattern(*p) }
}

func compileExprs(list []ast.Expr) ([]*expr.Expr, error) {
	var out []*expr.Expr
	for _, e := range list {
		x, err := expr.Compile(e, expr.Scope{})
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// exprText returns the detail of an operator with conditions.
func exprText(list []ast.Expr) func() string { return listText(list, " && ", ast.ExprString) }

// listText returns the detail of an operator with a list, which must not change.
func listText[T any](list []T, separator string, text func(T) string) func() string {
	return func() string {
		texts := make([]string, len(list))
		for i, one := range list {
			texts[i] = text(one)
		}
		return strings.Join(texts, separator)
	}
}

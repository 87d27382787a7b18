// What all parts of a plan share, and a part at its place.

package build

import (
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// Query is what all parts of a plan share. Only the estimator's knowledge and the orders grow while a plan is made.
type Query struct {
	*cost.Estimator
	Body      *algebra.Body // after the passes of package optimize
	Variables *optimize.Variables
	Keys      map[ast.Expr]int // slots of equalities
	Orders    *order.Orders
}

// Part makes the operators of a leaf, or of one join, at a place in the plan.
type Part struct {
	*Query
	At   Scope
	Want order.Request
}

// Traced puts an operator into the plan, over the plans of its inputs. detail is that of
// [explain.Plan].
func (q *Query) Traced(s Stream, op exec.Operator, name string, detail func() string, inputs ...*explain.Plan) Stream {
	s.Plan = NewPlan(name, detail, s.Rows, inputs...)
	q.Exec.Attach(op, s.Plan)
	q.Exec.Account.AddOperator()
	s.Op = &exec.Traced{Operator: op, Exec: q.Exec, Plan: s.Plan}
	s.Start, s.join, s.taken, s.pairs = false, nil, nil, nil
	return s
}

func NewPlan(name string, detail func() string, rows float64, inputs ...*explain.Plan) *explain.Plan {
	p := &explain.Plan{Operator: name, Detail: detail, Estimate: rows}
	for _, in := range inputs {
		if in != nil {
			p.Inputs = append(p.Inputs, in)
		}
	}
	return p
}

// VarsText returns the detail of an operator on the variables of a set.
func (q *Query) VarsText(s algebra.Set) func() string {
	return func() string {
		var names []string
		for slot := range s.All {
			if slot < q.Body.Scope.Len() { // not a key of an equality
				names = append(names, "?"+q.Body.Scope.Name(slot))
			}
		}
		return strings.Join(names, " ")
	}
}

// EndText returns a variable or a term as EXPLAIN shows it beside an operator's name.
func (q *Query) EndText(at algebra.VarOrTerm) string {
	if at.IsVar() {
		return "?" + q.Body.Scope.Name(at.Slot)
	}
	return at.Term.String()
}

// patternText returns the detail of an operator on a pattern.
func (q *Query) patternText(p *algebra.TriplePattern) func() string {
	return func() string { return q.Body.Scope.Pattern(*p) }
}

// unfoldText returns the detail of an operator on a triple term pattern.
func (q *Query) unfoldText(node *algebra.Unfold) func() string {
	return func() string { return q.Body.Scope.Unfold(node) }
}

// needed returns the variables of patterns that the rest of the query uses. Outside of a projection or
// a group that is every variable.
func (q *Query) needed(patterns []algebra.TriplePattern, projected bool) (needed algebra.Set) {
	inside := map[int]int{}
	for _, p := range patterns {
		for _, at := range []algebra.VarOrTerm{p.Subject, p.Predicate, p.Object} {
			if at.IsVar() {
				inside[at.Slot]++
			}
		}
	}
	for slot, n := range inside {
		if !projected || q.Variables.Mentions()[slot] > n {
			needed.Add(slot)
		}
	}
	return needed
}

func CompileExprs(list []ast.Expr) ([]*expr.Expr, error) {
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

// ExprText returns the detail of an operator with conditions.
func ExprText(list []ast.Expr) func() string { return ListText(list, " && ", ast.ExprString) }

// ListText returns the detail of an operator with a list, which must not change.
func ListText[T any](list []T, separator string, text func(T) string) func() string {
	return func() string {
		texts := make([]string, len(list))
		for i, one := range list {
			texts[i] = text(one)
		}
		return strings.Join(texts, separator)
	}
}

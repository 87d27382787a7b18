// What all parts of a plan share, and a part at its place.

package plan

import (
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/optimize"
)

// query is what all parts of a plan share. Only orders change while a plan is made.
type query struct {
	exec      *exec.Execution
	body      *algebra.Body // after the passes of package optimize
	variables *optimize.Variables
	keys      map[ast.Expr]int // slots of equalities
	dataset   Dataset
	columns   *columns.View // nil if the source has none
	orders    *orders
}

// part makes the operators of a leaf, or of one join, at a place in the plan.
type part struct {
	*query
	estimator *estimator
	at        scope
	want      request
}

// traced puts an operator into the plan, over the plans of its inputs. detail is that of
// [explain.Plan].
func (q *query) traced(s stream, op exec.Operator, name string, detail func() string, inputs ...*explain.Plan) stream {
	s.plan = newPlan(name, detail, s.rows, inputs...)
	q.exec.Attach(op, s.plan)
	q.exec.Account.AddOperator()
	s.op = &exec.Traced{Operator: op, Exec: q.exec, Plan: s.plan}
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

// names returns the detail of an operator on the variables of a set.
func (q *query) names(s algebra.Set) func() string {
	return func() string {
		var names []string
		for slot := range s.All {
			if slot < q.body.Scope.Len() { // not a key of an equality
				names = append(names, "?"+q.body.Scope.Name(slot))
			}
		}
		return strings.Join(names, " ")
	}
}

// endText returns a variable or a term as EXPLAIN shows it beside an operator's name.
func (q *query) endText(at algebra.VarOrTerm) string {
	if at.IsVar() {
		return "?" + q.body.Scope.Name(at.Slot)
	}
	return at.Term.String()
}

// patternText returns the detail of an operator on a pattern.
func (q *query) patternText(p *algebra.TriplePattern) func() string {
	return func() string { return q.body.Scope.Pattern(*p) }
}

// unfoldText returns the detail of an operator on a triple term pattern.
func (q *query) unfoldText(node *algebra.Unfold) func() string {
	return func() string { return q.body.Scope.Unfold(node) }
}

// changed reports whether the operations before this one, of the same update, may change triples with a predicate. Then
// only the source has these.
func (q *query) changed(predicate string) bool {
	changed := q.exec.Options.Changed
	return changed != nil && changed(predicate)
}

// needed returns the variables of patterns that the rest of the query uses. Outside of a projection or
// a group that is every variable.
func (q *query) needed(patterns []algebra.TriplePattern, projected bool) (needed algebra.Set) {
	inside := map[int]int{}
	for _, p := range patterns {
		for _, at := range []algebra.VarOrTerm{p.Subject, p.Predicate, p.Object} {
			if at.IsVar() {
				inside[at.Slot]++
			}
		}
	}
	for slot, n := range inside {
		if !projected || q.variables.Mentions()[slot] > n {
			needed.Add(slot)
		}
	}
	return needed
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

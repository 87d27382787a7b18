// Conditions of FILTER that run inside a join, as soon as their variables are bound.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// condition is a condition of a FILTER over a join. A later join does not change the bindings of a
// row, so the condition may run as soon as the rows bind its variables. It waits until then.
type condition struct {
	expr ast.Expr
	uses algebra.Set
	done bool
	// share is the expected share of rows that pass. It is not used for equalities.
	share float64
	// left and right are the slots of both sides if it is ?left = ?right; else negative.
	left, right int
	// key is a slot for keys of values, see [exec.EqualityKey].
	key int
}

// wait adds conditions of a FILTER over n to those that wait. A condition waits if each row of n
// binds its variables and its value depends on them only.
func (c *compiler) wait(n algebra.Node, conds []ast.Expr) []*condition {
	list := slices.Clip(c.waiting)
	certain, _ := c.visible.vars(n)
	for _, e := range algebra.SplitConds(conds) {
		uses := c.body.Uses(e)
		if uses.Len() == 0 || !certain.ContainsAll(uses) || !ofRowAlone(e) {
			continue
		}
		one := &condition{expr: e, uses: uses, share: passShare(e), left: -1, right: -1}
		if left, right, ok := equality(e); ok {
			one.left, one.right, one.key = left, right, c.keys[e]
		}
		list = append(list, one)
	}
	return list
}

// ofRowAlone reports whether the value of e depends on the bindings of a row only.
func ofRowAlone(e ast.Expr) bool {
	return !ast.AnyExpr(e, func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Exists:
			return true
		case *ast.Call:
			switch e.Func {
			case ast.FuncBNode, ast.FuncUUID, ast.FuncStrUUID, ast.FuncRand:
				return true
			}
		}
		return false
	})
}

// equality returns the slots of ?left = ?right.
func equality(e ast.Expr) (left, right int, ok bool) {
	b, ok := e.(*ast.Binary)
	if !ok || b.Op != ast.OpEqual {
		return 0, 0, false
	}
	l, ok1 := b.Left.(*ast.Var)
	r, ok2 := b.Right.(*ast.Var)
	if !ok1 || !ok2 || l.Slot < 0 || r.Slot < 0 || l.Slot == r.Slot {
		return 0, 0, false
	}
	return l.Slot, r.Slot, true
}

// passShare guesses the share of rows that pass a condition. If the condition restricts the range of
// one variable, the patterns' estimates contain it.
func passShare(e ast.Expr) float64 {
	if r, ok := expr.Restrict(e); ok && r.Var != nil {
		return 1
	}
	if b, ok := e.(*ast.Binary); ok {
		switch b.Op {
		case ast.OpEqual:
			return 0.05
		case ast.OpNotEqual:
			return 0.95
		}
	}
	return 0.3
}

// equalityKeys gives a slot behind those of the query to each equality of two variables.
func equalityKeys(body *algebra.Body) map[ast.Expr]int {
	keys := map[ast.Expr]int{}
	var walk func(n algebra.Node)
	walk = func(n algebra.Node) {
		if f, ok := n.(*algebra.Filter); ok {
			for _, e := range algebra.SplitConds(f.Conds) {
				if _, _, ok := equality(e); ok {
					keys[e] = body.Scope.Len() + len(keys)
				}
			}
		}
		for _, in := range algebra.Inputs(n) {
			walk(in)
		}
	}
	walk(body.Root)
	for _, n := range body.Exists {
		walk(n)
	}
	return keys
}

// ready filters s by the waiting conditions whose variables it binds.
func (c *compiler) ready(s stream) (stream, error) {
	var list []ast.Expr
	for _, one := range c.waiting {
		if !one.done && s.certain.ContainsAll(one.uses) {
			one.done = true
			list = append(list, one.expr)
		}
	}
	if len(list) == 0 {
		return s, nil
	}
	conds, err := compileExprs(list)
	if err != nil {
		return s, err
	}
	f := &exec.Filter{Exec: c.query, Input: s.op, Conditions: conds, Env: c.query.NewEnv()}
	return c.traced(s, f, "filter", exprText(list), s.plan), nil
}

// undone returns the conditions that did not run below.
func undone(conds []ast.Expr, waiting []*condition) []ast.Expr {
	return slices.DeleteFunc(algebra.SplitConds(conds), func(e ast.Expr) bool {
		return slices.ContainsFunc(waiting, func(one *condition) bool { return one.expr == e && one.done })
	})
}

// alias is a variable that a basic graph pattern does not have any more, because another one has its
// terms.
type alias struct{ slot, of int }

// unify replaces a variable of the patterns by another if a waiting condition says that both are
// equal. One of both must be a subject or predicate: it is no literal, and terms other than literals
// are equal only if they are the same term.
func (c *compiler) unify(patterns []algebra.TriplePattern, in stream) ([]algebra.TriplePattern, []alias) {
	var aliases []alias
	for _, one := range c.waiting {
		if one.done || one.left < 0 || in.possible.Has(one.left) || in.possible.Has(one.right) {
			continue
		}
		// 1. Either side may have been replaced already.
		keep, drop := one.left, one.right
		for _, a := range aliases {
			keep, drop = a.replace(keep), a.replace(drop)
		}
		if keep == drop {
			one.done = true
			continue
		}
		// 2. Rows that come in the sequence of a variable need its pattern.
		if c.want != nil && c.want.slot == drop {
			keep, drop = drop, keep
		}
		kept, keptNode := mentions(patterns, keep)
		dropped, droppedNode := mentions(patterns, drop)
		if !kept || !dropped || !keptNode && !droppedNode {
			continue
		}
		// 3. Replace it. An earlier alias may be of the variable that goes now.
		one.done = true
		a := alias{slot: drop, of: keep}
		for i := range aliases {
			aliases[i].of = a.replace(aliases[i].of)
		}
		aliases = append(aliases, a)
		patterns = a.replaceIn(patterns)
	}
	return patterns, aliases
}

// replace returns the variable that stands for one.
func (a alias) replace(slot int) int {
	if slot == a.slot {
		return a.of
	}
	return slot
}

// replaceIn returns patterns with one variable in place of the other.
func (a alias) replaceIn(patterns []algebra.TriplePattern) []algebra.TriplePattern {
	patterns = slices.Clone(patterns)
	for i := range patterns {
		for _, at := range []*algebra.VarOrTerm{&patterns[i].Subject, &patterns[i].Predicate, &patterns[i].Object} {
			if at.IsVar() {
				at.Slot = a.replace(at.Slot)
			}
		}
	}
	return patterns
}

// mentions reports whether a variable is in the patterns, and whether it is a subject or a predicate.
func mentions(patterns []algebra.TriplePattern, slot int) (some, node bool) {
	for _, p := range patterns {
		for position, at := range []algebra.VarOrTerm{p.Subject, p.Predicate, p.Object} {
			if at.IsVar() && at.Slot == slot {
				some = true
				node = node || position != triple.Object
			}
		}
	}
	return some, node
}

// bindAliases binds the variables that unify has replaced.
func (c *compiler) bindAliases(s stream, aliases []alias) stream {
	for _, a := range aliases {
		s.bind(a.slot)
		if s.numbers.Has(a.of) {
			s.numbers = with(s.numbers, a.slot)
		}
		s = c.traced(s, &exec.Copy{Input: s.op, From: a.of, To: a.slot}, "extend",
			"?"+c.body.Scope.Name(a.slot)+" = ?"+c.body.Scope.Name(a.of), s.plan)
	}
	return s
}

// equalityJoin joins in with a pattern by the equality of two variables: a hash join by keys of their
// values. The condition still has to run, because values that differ may have one key.
func (p *planner) equalityJoin(in stream, one *candidate, cond *condition, rows float64) stream {
	c := p.c
	outer, inner := cond.left, cond.right
	if !in.certain.Has(outer) {
		outer, inner = inner, outer
	}
	keyed := func(s stream, of int) stream {
		out := c.traced(s, &exec.EqualityKey{Exec: c.query, Input: s.op, Of: of, Key: cond.key}, "equality key", "?"+c.body.Scope.Name(of), s.plan)
		out.certain, out.possible = with(s.certain, cond.key), with(s.possible, cond.key)
		return out
	}
	right := keyed(p.scan(one), inner)
	out := c.hashJoin(exec.InnerJoin, keyed(in, outer), right, nil, nil)
	bound := union(in.certain, right.certain)
	bound[cond.key/64] &^= 1 << (cond.key % 64)
	out.certain, out.possible = bound, union(bound, in.possible)
	out.rows, out.plan.Estimate = rows, rows
	out.plan.Detail = ast.ExprString(cond.expr)
	return out
}

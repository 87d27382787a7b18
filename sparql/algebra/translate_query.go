// Translation of groups and solution modifiers (section 18.2.4).

package algebra

import (
	"maps"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// query translates a query or subquery in the translator's frame: its pattern,
// grouping and modifiers (sections 18.2.2, 18.2.4 and 18.2.5).
func (t *translator) query(q *ast.Query) Node {
	// 1. The pattern, then the group. Expressions behind the group must be translated by
	// grouping, because a group binds only keys and aggregates.
	var n Node = &Unit{}
	outer := t.frame
	inner, shadowed := t.shadow(q)
	t.frame = inner
	if q.Where != nil {
		n = t.group(q.Where)
	}
	grouping := grouping{translator: t, inner: inner}
	if q.Aggregates() {
		n = grouping.begin(q, n)
	}
	if len(shadowed) > 0 || grouping.group != nil && inner.around != nil {
		t.frame = behindGroup(q, inner, shadowed)
		defer func() { t.frame = outer }()
	}
	extends := func() {
		for _, item := range q.Items {
			if item.Expr != nil {
				value := grouping.expr(item.Expr)
				n = &Extend{n, t.slot(item.Var.Var), value}
				grouping.known.Add(t.slot(item.Var.Var))
			}
		}
	}
	// 2. HAVING comes before SELECT's expressions unless it names one of them, because the
	// specification would leave such a variable unbound and useless.
	early := t.namesAlias(q)
	if early {
		extends()
	}
	if len(q.Having) > 0 {
		var conds []ast.Expr
		for _, e := range q.Having {
			conds = append(conds, grouping.expr(e))
		}
		n = &Filter{n, conds}
	}
	if q.Values != nil {
		// The VALUES clause is joined behind HAVING. Its variables are known from here on, so
		// they must not become SAMPLE.
		table := t.table(q.Values)
		for _, slot := range table.Slots {
			grouping.known.Add(slot)
		}
		n = join(n, table)
	}
	if !early {
		extends()
	}
	// 3. The modifiers, in the order of section 18.2.5. ORDER BY must come before the
	// projection, because a key may be a variable outside of it.
	if len(q.OrderBy) > 0 {
		order := &OrderBy{Input: n}
		for _, key := range q.OrderBy {
			order.Keys = append(order.Keys, ast.OrderKey{Expr: grouping.expr(key.Expr), Descending: key.Descending})
		}
		n = order
	}
	if q.Form == ast.Select {
		project := &Project{Input: n}
		for _, name := range q.Projected() {
			project.Slots = append(project.Slots, t.slot(name))
		}
		n = project
	}
	switch {
	case q.Distinct:
		n = &Distinct{n}
	case q.Reduced:
		n = &Reduced{n}
	}
	if q.Limit != ast.NoLimit || q.Offset != 0 {
		n = &Slice{Input: n, Offset: q.Offset, Limit: q.Limit}
	}
	return n
}

// shadow returns the frame of a query's pattern. If AS of a grouping SELECT names a variable of the pattern,
// the pattern has another variable of that name, because a group hides all but its keys. shadowed are the
// slots of such names behind the group.
func (t *translator) shadow(q *ast.Query) (inner *frame, shadowed map[string]int) {
	if len(q.GroupBy) == 0 {
		return t.frame, nil
	}
	names := map[string]bool{}
	for _, item := range q.Items {
		if item.Expr != nil {
			names[item.Var.Var] = true
		}
	}
	inner, shadowed = t.frame.clone(), map[string]int{}
	ast.InScope(q.Where, func(name string) {
		if _, done := shadowed[name]; names[name] && !done {
			shadowed[name] = t.slot(name)
			delete(inner.slots, name)
		}
	})
	if len(shadowed) == 0 {
		return t.frame, nil
	}
	return inner, shadowed
}

// behindGroup returns the frame of what comes behind a query's group. In an EXISTS the group drops the solution
// with which the pattern began, so the frame has only the keys and what the query projects: other names are
// other variables there.
func behindGroup(q *ast.Query, inner *frame, shadowed map[string]int) *frame {
	behind := inner.clone()
	if inner.around != nil {
		behind = newFrame(nil)
		keep := func(name string) {
			if slot, ok := inner.slots[name]; ok {
				behind.slots[name] = slot
			}
		}
		for _, name := range q.Projected() {
			keep(name)
		}
		for _, key := range q.GroupBy {
			if v, isVar := key.Expr.(*ast.Var); isVar {
				keep(v.Name)
			}
			keep(key.Var.Var)
		}
	}
	maps.Copy(behind.slots, shadowed)
	return behind
}

// namesAlias reports whether HAVING has a variable of SELECT's expressions.
func (t *translator) namesAlias(q *ast.Query) bool {
	if len(q.Having) == 0 {
		return false
	}
	made := map[string]bool{}
	for _, item := range q.Items {
		if item.Expr != nil {
			made[item.Var.Var] = true
		}
	}
	for _, e := range q.Having {
		if ast.AnyExpr(e, func(x ast.Expr) bool {
			v, ok := x.(*ast.Var)
			return ok && made[v.Name]
		}) {
			return true
		}
	}
	return false
}

// grouping translates the expressions behind GROUP BY. If the query does not group, its group
// is nil.
type grouping struct {
	*translator
	group *Group
	inner *frame              // of the pattern and of the aggregates
	known Set                 // the variables of the group and of SELECT's expressions
	made  map[string]ast.Expr // aggregates by their text
}

// begin puts a Group over n.
func (g *grouping) begin(q *ast.Query, n Node) Node {
	g.group = &Group{Input: n}
	g.made = map[string]ast.Expr{}
	for _, key := range q.GroupBy {
		e := g.translator.expr(key.Expr)
		var slot int
		switch v, isVar := e.(*ast.Var); {
		case !key.Var.IsZero():
			slot = g.newKey(key.Var.Var)
		case isVar:
			slot = v.Slot
		default:
			slot = g.scope.add(".key")
		}
		g.group.Keys = append(g.group.Keys, GroupKey{e, slot})
	}
	for _, key := range g.group.Keys {
		g.known.Add(key.Slot)
	}
	return g.group
}

// newKey returns the slot of a key that AS names. It is no copy of a variable around an EXISTS, because a
// group binds it anew.
func (g *grouping) newKey(name string) int {
	if _, ok := g.frame.slots[name]; !ok {
		g.frame.slots[name] = g.scope.add(name)
	}
	return g.frame.slots[name]
}

// expr translates an expression behind the group: an aggregate becomes the variable of its
// value, and so does SAMPLE of a variable if the group does not bind it (section 18.2.4.1).
func (g *grouping) expr(e ast.Expr) ast.Expr {
	if g.group == nil {
		return g.translator.expr(e)
	}
	return g.translator.rewrite(e, func(e ast.Expr) ast.Expr {
		switch e := e.(type) {
		case *ast.Aggregate:
			return g.aggregate(e)
		case *ast.Var:
			if slot := g.slot(e.Name); !g.known.Has(slot) {
				return g.aggregate(&ast.Aggregate{Pos: e.Pos, Func: ast.AggSample, Arg: e})
			}
		}
		return nil
	})
}

// aggregate adds an aggregate to the group, or finds an equal one, and returns
// the variable of its value.
func (g *grouping) aggregate(a *ast.Aggregate) ast.Expr {
	arg := a.Arg
	if arg != nil {
		outer := g.frame
		g.frame = g.inner
		arg = g.translator.expr(arg)
		g.frame = outer
	}
	translated := &ast.Aggregate{Pos: a.Pos, Func: a.Func, Distinct: a.Distinct, Arg: arg, Separator: a.Separator}
	text := ast.ExprString(translated)
	if v, ok := g.made[text]; ok {
		return v
	}
	slot := g.scope.add(".agg")
	g.group.Aggregates = append(g.group.Aggregates, Aggregate{translated, slot})
	v := &ast.Var{Pos: a.Pos, Name: g.scope.Name(slot), Slot: slot}
	if !isVolatile(arg) {
		g.made[text] = v
	}
	return v
}

// isVolatile reports whether an expression may have another value each time.
func isVolatile(e ast.Expr) bool {
	return ast.AnyExpr(e, func(x ast.Expr) bool {
		switch x := x.(type) {
		case *ast.Call:
			switch x.Func {
			case ast.FuncRand, ast.FuncUUID, ast.FuncStrUUID, ast.FuncBNode:
				return true
			}
		case *ast.FunctionCall, *ast.Exists:
			return true
		}
		return false
	})
}

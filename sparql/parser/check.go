// Rules beyond the grammar: aggregates, scopes, blank nodes.

package parser

import (
	"maps"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// groupScope holds the variables in scope of a group whose elements come one by one.
type groupScope struct {
	seen int // elements looked at
	vars map[string]bool
}

// has reports whether a variable is in scope behind g's elements.
func (s *groupScope) has(g *ast.Group, name string) bool {
	if s.vars == nil {
		s.vars = map[string]bool{}
	}
	for ; s.seen < len(g.Elements); s.seen++ {
		ast.InScope(g.Elements[s.seen], func(name string) { s.vars[name] = true })
	}
	return s.vars[name]
}

// checkQuery checks a query by the notes of the grammar (section 19.8). They restrict the
// variables of AS, and the projection of a SELECT if it groups.
func (p queryParser) checkQuery(q *ast.Query) {
	if p.err != nil || q.Form != ast.Select {
		return
	}
	// 1. If a query has no groups and no new names, there is nothing to check.
	grouped := q.Aggregates()
	if q.Star && grouped {
		p.fail(q.Pos, "SELECT * cannot be grouped, expected the keys and aggregates by name")
		return
	}
	names := false
	// A name is new if AS gives it to an expression or a key.
	for _, item := range q.Items {
		names = names || item.Expr != nil
	}
	for _, key := range q.GroupBy {
		names = names || !key.Var.IsZero()
	}
	if !names && !grouped {
		return
	}
	// 2. Collect the variables in scope. A name after AS must be new.
	inScope := map[string]bool{}
	ast.InScope(q.Where, func(name string) { inScope[name] = true })
	keys := map[string]bool{}
	for _, key := range q.GroupBy {
		if v, ok := key.Expr.(*ast.Var); ok {
			keys[v.Name] = true
		}
		p.checkAs(key.Var, inScope)
		if !key.Var.IsZero() {
			keys[key.Var.Var] = true
			inScope[key.Var.Var] = true
		}
	}
	// A group hides all variables but its keys, so AS may take their names.
	if len(q.GroupBy) > 0 {
		inScope = maps.Clone(keys)
	}
	if q.Values != nil {
		ast.InScope(q.Values, func(name string) { inScope[name] = true })
	}
	for _, item := range q.Items {
		if grouped {
			// 3. If rows are grouped, only keys and aggregates have a value.
			p.checkProjected(item, keys)
		}
		if item.Expr != nil {
			p.checkAs(item.Var, inScope)
		}
		inScope[item.Var.Var] = true
		keys[item.Var.Var] = true // for the expressions behind it
	}
}

// checkAs ends the parse if AS names a variable in scope. A zero Node is no variable.
func (p queryParser) checkAs(v ast.Node, inScope map[string]bool) {
	if !v.IsZero() && inScope[v.Var] {
		p.fail(v.Pos, "?%s is in scope already, expected a new variable after AS", clip(v.Var))
	}
}

// checkProjected ends the parse if an item of a grouping SELECT has a variable outside of
// aggregates, unless it is a key.
func (p queryParser) checkProjected(item ast.SelectItem, keys map[string]bool) {
	if item.Expr == nil {
		if !keys[item.Var.Var] {
			p.fail(item.Var.Pos, "?%s is neither a key of GROUP BY nor in an aggregate", clip(item.Var.Var))
		}
		return
	}
	p.checkKeys(item.Expr, keys)
}

func (p queryParser) checkKeys(e ast.Expr, keys map[string]bool) {
	switch e := e.(type) {
	case *ast.Aggregate:
	case *ast.Var:
		if !keys[e.Name] {
			p.fail(e.Pos, "?%s is neither a key of GROUP BY nor in an aggregate; what GROUP BY computes has to be named, as in GROUP BY (YEAR(?date) AS ?year)", clip(e.Name))
		}
	default:
		ast.Operands(e, func(x ast.Expr) { p.checkKeys(x, keys) })
	}
}

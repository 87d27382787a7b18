// BindVar: a tree with a variable replaced by a term.

package ast

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// Bind gives variables values, so a program need not paste texts together: if a group uses one
// of the variables, it gets a VALUES block with the value, down to subqueries if they select
// the variable. The pattern of an EXISTS gets it from the group around. Keys are names without
// "?".
//
// The tree is changed. An error leaves it as it was. Bind fails if the query does not use a
// variable, or assigns it by AS, or if a term is or has a blank node, or if the text of a search is no string or empty.
func (q *Query) Bind(values map[string]triple.Term) error {
	return bindAll(values, func(b *binder) { b.countQuery(q) }, func(b *binder) { b.bindQuery(q) })
}

// Bind does the same for an update's operations with a WHERE.
func (u *Update) Bind(values map[string]triple.Term) error {
	var all []*Modify
	for _, op := range u.Operations {
		if m, ok := op.(*Modify); ok {
			all = append(all, m)
		}
	}
	count := func(b *binder) {
		for _, m := range all {
			b.countModify(m)
		}
	}
	return bindAll(values, count, func(b *binder) {
		for _, m := range all {
			own := newBinder(b.values)
			own.countModify(m)
			own.bindTop(m.Where)
		}
	})
}

func bindAll(values map[string]triple.Term, count, bind func(*binder)) error {
	b := newBinder(values)
	count(b)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t := values[name]
		switch {
		case t.IsZero() || t.HasBlanks():
			return fmt.Errorf("the value of ?%s is no IRI or literal, and no triple term without blank nodes", name)
		case t.Check() != nil:
			return fmt.Errorf("the value of ?%s: %w", name, t.Check())
		case b.assigns[name]:
			return fmt.Errorf("?%s has its value from AS: it takes no other", name)
		case !b.uses[name]:
			return fmt.Errorf("there is no variable ?%s to bind", name)
		case b.searches[name] && t.Datatype() != triple.XSDString:
			return fmt.Errorf("the value of ?%s is the text of a search, so it must be a string such as \"graph AND store\", without a language; it is %s", name, t)
		case b.searches[name] && t.Value() == "":
			return fmt.Errorf("the value of ?%s is the text of a search, and it is empty; expected words to search for", name)
		}
	}
	bind(b)
	return nil
}

// binder finds the variables used, and binds them.
type binder struct {
	values  map[string]triple.Term
	uses    map[string]bool // of the counted groups
	assigns map[string]bool
	// searches are the variables whose values are texts of searches.
	searches map[string]bool
}

func newBinder(values map[string]triple.Term) *binder {
	return &binder{values: values, uses: map[string]bool{}, assigns: map[string]bool{}, searches: map[string]bool{}}
}

// bindTop binds all used variables in the outermost group of a query.
func (b *binder) bindTop(g *Group) {
	used := b.wanted(b.uses)
	b.bindInner(g)
	if len(g.Elements) == 1 {
		if _, sub := g.Elements[0].(*SubSelect); sub { // it stands alone in its braces
			g.Elements = []Pattern{&Group{Pos: g.Pos, Elements: g.Elements}}
		}
	}
	b.insert(g, used)
}

// bindGroup binds the used variables of a group.
func (b *binder) bindGroup(g *Group) {
	if len(g.Elements) == 1 {
		if sub, ok := g.Elements[0].(*SubSelect); ok {
			b.bindSub(sub.Query)
			return
		}
	}
	inner := newBinder(b.values)
	inner.countGroup(g)
	b.bindInner(g)
	b.insert(g, b.wanted(inner.uses))
}

// wanted returns the names among uses with a value, sorted.
func (b *binder) wanted(uses map[string]bool) []string {
	var names []string
	for name := range b.values {
		if uses[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// insert puts the values of names before all else in a group.
func (b *binder) insert(g *Group, names []string) {
	if len(names) == 0 {
		return
	}
	for _, element := range g.Elements {
		if call, ok := element.(*TextCall); ok && slices.Contains(names, call.QueryVar) {
			call.Query = b.values[call.QueryVar].Value()
		}
	}
	values := &Values{Pos: g.Pos, Rows: [][]triple.Term{nil}}
	for _, name := range names {
		values.Vars = append(values.Vars, Node{Pos: g.Pos, Var: name})
		values.Rows[0] = append(values.Rows[0], b.values[name])
	}
	g.Elements = append([]Pattern{values}, g.Elements...)
}

// bindInner binds in the groups within a group.
func (b *binder) bindInner(g *Group) {
	for _, element := range g.Elements {
		switch p := element.(type) {
		case *SubSelect:
			b.bindSub(p.Query)
		default:
			for _, inner := range groupsOf(element) {
				b.bindGroup(inner)
			}
		}
	}
}

// groupsOf returns the groups of a pattern.
func groupsOf(element Pattern) []*Group {
	switch p := element.(type) {
	case *Group:
		return []*Group{p}
	case *Union:
		return p.Groups
	case *Optional:
		return []*Group{p.Group}
	case *Lateral:
		return []*Group{p.Group}
	case *Minus:
		return []*Group{p.Group}
	case *Graph:
		return []*Group{p.Group}
	case *Service:
		return []*Group{p.Group}
	}
	return nil
}

func (b *binder) bindQuery(q *Query) {
	if q.Where != nil {
		b.bindTop(q.Where)
	}
}

// bindSub binds the selected variables of a subquery. Others must stay, because they are the
// subquery's own even if the names are equal.
func (b *binder) bindSub(q *Query) {
	inner := newBinder(maps.Clone(b.values))
	maps.DeleteFunc(inner.values, func(name string, _ triple.Term) bool { return !selects(q, name) })
	if len(inner.values) > 0 {
		inner.countQuery(q)
		inner.bindQuery(q)
	}
}

// selects reports whether a subquery gives a variable of its pattern.
func selects(q *Query, name string) bool {
	return q.Star || slices.ContainsFunc(q.Items, func(item SelectItem) bool { return item.Var.Var == name })
}

func (b *binder) use(n Node) { n.EachVar(func(name string) { b.uses[name] = true }) }

func (b *binder) useTriple(t TriplePattern) {
	b.use(t.Subject)
	b.use(t.Predicate)
	b.use(t.Object)
}

func (b *binder) assign(n Node) {
	if n.IsVar() {
		b.assigns[n.Var] = true
	}
}

func (b *binder) countQuery(q *Query) {
	for _, item := range q.Items {
		if item.Expr != nil {
			b.assign(item.Var)
			b.countExpr(item.Expr)
		} else {
			b.use(item.Var)
		}
	}
	for _, t := range q.Template {
		b.useTriple(t)
	}
	for _, n := range q.Describe {
		b.use(n)
	}
	for _, key := range q.GroupBy {
		b.assign(key.Var)
		b.countExpr(key.Expr)
	}
	for _, e := range q.Having {
		b.countExpr(e)
	}
	for _, key := range q.OrderBy {
		b.countExpr(key.Expr)
	}
	b.countGroup(q.Where)
}

func (b *binder) countModify(m *Modify) {
	for _, quads := range [][]QuadPattern{m.Delete, m.Insert} {
		for _, quad := range quads {
			b.use(quad.Graph)
			b.useTriple(quad.TriplePattern)
		}
	}
	b.countGroup(m.Where)
}

func (b *binder) countGroup(g *Group) {
	if g == nil {
		return
	}
	// Uses and assignments are counted apart, because only a use may be replaced by the bound
	// value.
	for _, element := range g.Elements {
		switch p := element.(type) {
		case *Triples:
			for _, t := range p.Patterns {
				b.useTriple(t)
			}
		case *LinkCall:
			b.use(p.Page)
			for _, arg := range p.Args {
				b.use(arg)
			}
		case *TextCall:
			b.use(p.Literal)
			b.use(Node{Var: p.QueryVar})
			b.searches[p.QueryVar] = true
			for _, n := range p.Results() {
				b.use(n)
			}
		case *Graph:
			b.use(p.Name)
		case *Service:
			b.use(p.Name)
		case *Filter:
			b.countExpr(p.Expr)
		case *Bind:
			b.assign(p.Var)
			b.countExpr(p.Expr)
		case *Values:
			for _, n := range p.Vars {
				b.use(n)
			}
		case *SubSelect:
			b.countSub(p.Query)
		}
		for _, inner := range groupsOf(element) {
			b.countGroup(inner)
		}
	}
}

// countSub counts the selected variables of a subquery.
func (b *binder) countSub(q *Query) {
	inner := newBinder(nil)
	inner.countQuery(q)
	for name := range inner.assigns {
		if selects(q, name) {
			b.assigns[name] = true
		}
	}
	for name := range inner.uses {
		if selects(q, name) {
			b.uses[name] = true
			b.searches[name] = b.searches[name] || inner.searches[name]
		}
	}
}

func (b *binder) countExpr(e Expr) {
	AnyExpr(e, func(e Expr) bool {
		switch e := e.(type) {
		case *Var:
			b.uses[e.Name] = true
		case *Exists:
			b.countGroup(e.Group)
		}
		return false
	})
}

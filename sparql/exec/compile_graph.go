package exec

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// pushable reports whether GRAPH ?g over n may be answered by patterns that have
// the graph for a fourth variable: every solution binds it, and nothing between
// looks at it.
func pushable(n algebra.Node, slot int) bool {
	switch n := n.(type) {
	case *algebra.BGP:
		_, possible := algebra.Vars(n)
		return len(n.Patterns) > 0 && !possible.Has(slot)
	case *algebra.Join, *algebra.Filter, *algebra.LeftJoin, *algebra.Union:
		inputs := algebra.Inputs(n)
		for _, in := range inputs {
			if !pushable(in, slot) {
				return false
			}
		}
		for _, e := range algebra.Exprs(n) {
			if ast.AnyExpr(e, func(x ast.Expr) bool {
				v, isVar := x.(*ast.Var)
				_, isExists := x.(*ast.Exists)
				return isExists || isVar && v.Slot == slot
			}) {
				return false
			}
		}
		return len(inputs) > 0
	}
	return false
}

// matches reports whether n has a pattern, which an empty graph does not match.
func matches(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.BGP:
		return len(n.Patterns) > 0
	case *algebra.Unit, *algebra.Table, *algebra.Path, *algebra.Union, *algebra.Group:
		return false
	case *algebra.LeftJoin:
		return matches(n.Left)
	case *algebra.Minus:
		return matches(n.Left)
	}
	for _, in := range algebra.Inputs(n) {
		if matches(in) {
			return true
		}
	}
	return false
}

func (c *compiler) graph(n *algebra.Graph, in stream, depth int) (stream, error) {
	set := c.namedSet()
	if !n.Name.IsVar() {
		key := string(appendKeyForm(nil, encode(n.Name.Term)))
		exists := set == nil || set[key]
		if exists && set == nil && !matches(n.Input) {
			var err error
			if exists, err = c.query.hasGraph(key); err != nil {
				return in, err
			}
		}
		out, err := c.compile(n.Input, in, graphs{mode: oneGraph, name: &key}, depth)
		if err != nil || exists {
			return out, err
		}
		out.rows = 0
		return c.traced(out, none{}, "no such graph", n.Name.Term.String()), nil
	}
	if pushable(n.Input, n.Name.Slot) {
		return c.compile(n.Input, in, graphs{mode: eachGraph, slot: n.Name.Slot, set: set}, depth)
	}
	name := ""
	sub := c.alone()
	sub.looped = true
	out, err := sub.compile(n.Input, in, graphs{mode: oneGraph, name: &name}, depth)
	if err != nil {
		return in, err
	}
	loop := &graphLoop{q: c.query, input: out.op, name: &name, slot: n.Name.Slot}
	if set != nil {
		loop.only = []string{}
		for _, iri := range c.dataset.Named {
			loop.only = append(loop.only, encode(triple.NewIRI(iri)))
		}
	}
	out.bind(n.Name.Slot)
	return c.traced(out, loop, "each graph", "?"+c.body.Scope.Name(n.Name.Slot), out.plan), nil
}

func (c *compiler) path(n *algebra.Path, in stream, g graphs) (stream, error) {
	if negated, ok := n.Path.(*ast.PathNegated); ok {
		pat := c.newPattern(n.Subject, algebra.VarOrTerm{Slot: -1}, n.Object, g)
		pat.not = map[string]bool{}
		for _, member := range negated.Set {
			pat.not[keyOfIRI(member.IRI)] = true
		}
		list := []candidate{{pat: pat, text: "!" + ast.PathString(n.Path)}}
		if err := c.estimate(list, 0); err != nil {
			return in, err
		}
		p := c.newPlanner(list, in)
		return c.look(&p.list[0], in, p.best()[0].rows), nil
	}
	p := &path{
		q: c.query, in: in.op, subject: placeOf(n.Subject, true), object: placeOf(n.Object, true),
		repeat: n.Path.(*ast.PathRepeat), empty: empty(n.Path), chunk: firstChunkRows, graphs: g, input: newBatch(c.query.width), seeded: map[int]bool{},
		holder: holder{account: &c.query.account, name: "path"},
	}
	if c.substitute {
		for _, slot := range c.maybeSeeds.Slots() {
			p.seeded[slot] = true
		}
	}
	in.rows *= 10
	for _, at := range []algebra.VarOrTerm{n.Subject, n.Object} {
		if at.IsVar() {
			in.bind(at.Slot)
		}
	}
	out := c.traced(in, p, "path", ast.PathString(n.Path), in.plan)
	p.plan = out.plan
	p.walk = walker{q: c.query, graphs: &p.graphs, plan: p.plan, holder: &p.holder}
	return out, nil
}

// placeOf returns a place of a pattern; whole says that a term stands in its
// whole form.
func placeOf(v algebra.VarOrTerm, whole bool) place {
	if v.IsVar() {
		return place{slot: v.Slot}
	}
	key := encode(v.Term)
	if !whole {
		key = string(appendKeyForm(nil, key))
	}
	return place{slot: -1, key: key}
}

func (c *compiler) newPattern(s, p, o algebra.VarOrTerm, g graphs) *pattern {
	pat := &pattern{graphs: g, spans: c.spans}
	pat.place = [4]place{placeOf(s, false), placeOf(p, false), placeOf(o, false), {slot: -1}}
	if g.mode == eachGraph {
		pat.place[triple.Graph].slot = g.slot
	}
	return pat
}

// Variables that a condition makes equal to another one or to a term: patterns then have that instead.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// alias is a variable that a basic graph pattern does not have any more: in its place it has another
// one, or a term.
type alias struct {
	slot int
	to   algebra.VarOrTerm
}

// replace returns what stands for a place of a pattern.
func (a alias) replace(at algebra.VarOrTerm) algebra.VarOrTerm {
	if at.IsVar() && at.Slot == a.slot {
		return a.to
	}
	return at
}

// mentioning is patterns with the places of each variable among them, because many conditions may ask for it.
type mentioning struct {
	patterns []algebra.TriplePattern
	of       map[int][]int
}

func newMentioning(patterns []algebra.TriplePattern) *mentioning {
	m := &mentioning{patterns: slices.Clone(patterns), of: map[int][]int{}}
	for i := range patterns {
		p := &m.patterns[i]
		for _, at := range [...]*algebra.VarOrTerm{&p.Subject, &p.Predicate, &p.Object} {
			if list := m.of[at.Slot]; at.IsVar() && (len(list) == 0 || list[len(list)-1] != i) {
				m.of[at.Slot] = append(list, i)
			}
		}
	}
	return m
}

// replace puts what stands for the variable into the patterns.
func (m *mentioning) replace(a alias) {
	moved := m.of[a.slot]
	for _, i := range moved {
		p := &m.patterns[i]
		p.Subject, p.Predicate, p.Object = a.replace(p.Subject), a.replace(p.Predicate), a.replace(p.Object)
	}
	delete(m.of, a.slot)
	if a.to.IsVar() {
		m.of[a.to.Slot] = append(m.of[a.to.Slot], moved...)
	}
}

// unify replaces variables of the patterns if a waiting condition says that they are equal to a term,
// or to another variable of the patterns or of in. Equal must mean the same term: see [compiler.exact].
func (c *compiler) unify(patterns []algebra.TriplePattern, in stream, g pattern.Graphs) ([]algebra.TriplePattern, []alias) {
	var aliases []alias
	if len(c.waiting) == 0 {
		return patterns, nil
	}
	among := newMentioning(patterns)
	for _, one := range c.waiting {
		if one.done {
			continue
		}
		a, ok := c.constantAlias(one, among, in, g)
		if !ok && one.left >= 0 {
			a, ok = c.variableAlias(one, among, aliases, in, g)
		}
		if !ok {
			continue
		}
		one.done = true
		// An earlier alias may be of the variable that goes now.
		for i := range aliases {
			aliases[i].to = a.replace(aliases[i].to)
		}
		if a.to.IsVar() && a.to.Slot == a.slot {
			continue // an earlier condition made both the same
		}
		aliases = append(aliases, a)
		among.replace(a)
	}
	if len(aliases) == 0 {
		return patterns, nil
	}
	return among.patterns, aliases
}

// constantAlias returns the alias of a condition between a variable of the patterns and an IRI.
func (c *compiler) constantAlias(one *condition, among *mentioning, in stream, g pattern.Graphs) (a alias, ok bool) {
	x, y, ok := equated(one.expr)
	if _, isVar := x.(*ast.Var); !isVar {
		x, y = y, x
	}
	v, isVar := x.(*ast.Var)
	constant, isConstant := y.(*ast.Constant)
	if !ok || !isVar || !isConstant || constant.Term.Kind() != triple.IRI || v.Slot < 0 || in.possible.Has(v.Slot) {
		return alias{}, false
	}
	if some, _ := c.mentioned(among, v.Slot, g); !some || c.inUnfold(v.Slot) || g.Mode == pattern.EachGraph || c.wants(v.Slot) {
		return alias{}, false
	}
	return alias{slot: v.Slot, to: algebra.Constant(constant.Term)}, true
}

// wants reports whether rows must come in the sequence of a variable.
func (c *compiler) wants(slot int) bool { return c.want != nil && c.want.slot == slot }

// wantsAny reports whether rows must come in the sequence of a variable of patterns.
func (c *compiler) wantsAny(patterns []algebra.TriplePattern) bool {
	if c.want == nil {
		return false
	}
	return len(newMentioning(patterns).of[c.want.slot]) > 0
}

// variableAlias returns the alias of an equality of two variables, which earlier aliases may have
// replaced.
func (c *compiler) variableAlias(one *condition, among *mentioning, aliases []alias, in stream, g pattern.Graphs) (a alias, ok bool) {
	// 1. Either side may have been replaced already.
	keep, drop := algebra.VarOrTerm{Slot: one.left}, algebra.VarOrTerm{Slot: one.right}
	for _, a := range aliases {
		keep, drop = a.replace(keep), a.replace(drop)
	}
	if !keep.IsVar() || !drop.IsVar() || c.inUnfold(keep.Slot) || c.inUnfold(drop.Slot) {
		return alias{}, false
	}
	if keep.Slot == drop.Slot {
		// Both are one term, but NaN does not equal itself.
		_, exact := c.mentioned(among, keep.Slot, g)
		return alias{slot: keep.Slot, to: keep}, exact || one.same
	}
	// 2. The one that goes must be bound by the patterns only. The other may be bound before them.
	if in.possible.Has(drop.Slot) || c.wants(drop.Slot) {
		keep, drop = drop, keep
	}
	if in.possible.Has(drop.Slot) || c.wants(drop.Slot) || in.possible.Has(keep.Slot) && !in.certain.Has(keep.Slot) {
		return alias{}, false
	}
	kept, keptExact := c.mentioned(among, keep.Slot, g)
	dropped, droppedExact := c.mentioned(among, drop.Slot, g)
	if in.certain.Has(keep.Slot) {
		kept, keptExact = true, keptExact || c.nodes.Has(keep.Slot)
	}
	if !kept || !dropped || !keptExact && !droppedExact {
		return alias{}, false
	}
	return alias{slot: drop.Slot, to: keep}, true
}

// mentioned reports whether a variable is in the patterns. exact means that each of its values is a
// node or a literal of xsd:string: only the same term equals it.
func (c *compiler) mentioned(among *mentioning, slot int, g pattern.Graphs) (some, exact bool) {
	for _, i := range among.of[slot] {
		p := among.patterns[i]
		for position, at := range []algebra.VarOrTerm{p.Subject, p.Predicate, p.Object} {
			if at.IsVar() && at.Slot == slot {
				some = true
				exact = exact || position != triple.Object || c.exactObjects(p, g)
			}
		}
	}
	return some, exact
}

// exactObjects reports whether the column of a pattern has only nodes as objects, or only literals of
// xsd:string.
func (c *compiler) exactObjects(p algebra.TriplePattern, g pattern.Graphs) bool {
	col := c.column(newPattern(p.Subject, p.Predicate, p.Object, g, nil))
	return col != nil && c.columns.Dictionary().Exact(&col.ByObject)
}

// bindAliases binds the variables that unify has replaced.
func (c *compiler) bindAliases(s stream, aliases []alias) stream {
	for _, a := range aliases {
		detail := func() string { return "?" + c.body.Scope.Name(a.slot) + " = " + c.endText(a.to) }
		if !a.to.IsVar() {
			s.bind(a.slot)
			s = c.traced(s, &exec.Constant{Input: s.op, Slot: a.slot, Binding: solution.Encode(a.to.Term)}, "extend", detail, s.plan)
			continue
		}
		s.bind(a.slot)
		if s.numbers.Has(a.to.Slot) {
			s.numbers = with(s.numbers, a.slot)
		}
		s = c.traced(s, &exec.Copy{Input: s.op, From: a.to.Slot, To: a.slot}, "extend", detail, s.plan)
	}
	return s
}

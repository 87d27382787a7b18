// Variables that a condition makes equal to another one or to a term: patterns then have that instead.

package optimize

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Alias is a variable that patterns do not have any more: in its place they have another one, or a term. The rows of
// the patterns do not bind it, so a plan must.
type Alias struct {
	Slot int
	To   algebra.VarOrTerm
}

// replace returns what stands for a place of a pattern.
func (a Alias) replace(at algebra.VarOrTerm) algebra.VarOrTerm {
	if at.IsVar() && at.Slot == a.Slot {
		return a.To
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
func (m *mentioning) replace(a Alias) {
	moved := m.of[a.Slot]
	for _, i := range moved {
		p := &m.patterns[i]
		p.Subject, p.Predicate, p.Object = a.replace(p.Subject), a.replace(p.Predicate), a.replace(p.Object)
	}
	delete(m.of, a.Slot)
	if a.To.IsVar() {
		m.of[a.To.Slot] = append(m.of[a.To.Slot], moved...)
	}
}

// Bound is what [Unify] must know of the rows that patterns are joined with, and of the patterns' place in a plan.
type Bound struct {
	Certain, Possible algebra.Set // the variables of the rows
	Nodes             algebra.Set // certain variables that are surely IRIs or blank nodes
	Unfolds           algebra.Set // variables of triple terms that are not yet made or taken apart
	Wanted            int         // the variable in whose sequence rows must come; negative for none
	EachGraph         bool        // the patterns stand in GRAPH ?g, and one scan reads all graphs
	// ExactObjects reports whether a pattern has only nodes as objects, or only literals of xsd:string.
	ExactObjects func(algebra.TriplePattern) bool
}

// Unify replaces variables of patterns if a condition says that they are equal to a term, or to another variable of the
// patterns or of the rows before. Equal must mean the same term: only the same term equals an
// IRI, a blank node or an xsd:string. done has the conditions that need not be tested any more. The patterns stay as they are.
func Unify(patterns []algebra.TriplePattern, conds []ast.Expr, rows Bound) (out []algebra.TriplePattern, aliases []Alias, done []bool) {
	done = make([]bool, len(conds))
	among := newMentioning(patterns)
	for i, cond := range conds {
		a, ok := rows.constantAlias(cond, among)
		if !ok {
			a, ok = rows.variableAlias(cond, among, aliases)
		}
		if !ok {
			continue
		}
		done[i] = true
		// An earlier alias may be of the variable that goes now.
		for i := range aliases {
			aliases[i].To = a.replace(aliases[i].To)
		}
		if a.To.IsVar() && a.To.Slot == a.Slot {
			continue // an earlier condition made both the same
		}
		aliases = append(aliases, a)
		among.replace(a)
	}
	if len(aliases) == 0 {
		return patterns, nil, done
	}
	return among.patterns, aliases, done
}

// constantAlias returns the alias of a condition between a variable of the patterns and an IRI.
func (b *Bound) constantAlias(cond ast.Expr, among *mentioning) (a Alias, ok bool) {
	x, y, ok := Equated(cond)
	if _, isVar := x.(*ast.Var); !isVar {
		x, y = y, x
	}
	v, isVar := x.(*ast.Var)
	constant, isConstant := y.(*ast.Constant)
	if !ok || !isVar || !isConstant || constant.Term.Kind() != triple.IRI || v.Slot < 0 || b.Possible.Has(v.Slot) {
		return Alias{}, false
	}
	if some, _ := b.mentioned(among, v.Slot); !some || b.Unfolds.Has(v.Slot) || b.EachGraph || v.Slot == b.Wanted {
		return Alias{}, false
	}
	return Alias{Slot: v.Slot, To: algebra.Constant(constant.Term)}, true
}

// variableAlias returns the alias of an equality of two variables, which earlier aliases may have
// replaced.
func (b *Bound) variableAlias(cond ast.Expr, among *mentioning, aliases []Alias) (a Alias, ok bool) {
	left, right, ok := Equality(cond)
	if !ok {
		return Alias{}, false
	}
	// 1. Either side may have been replaced already.
	keep, drop := algebra.VarOrTerm{Slot: left}, algebra.VarOrTerm{Slot: right}
	for _, a := range aliases {
		keep, drop = a.replace(keep), a.replace(drop)
	}
	if !keep.IsVar() || !drop.IsVar() || b.Unfolds.Has(keep.Slot) || b.Unfolds.Has(drop.Slot) {
		return Alias{}, false
	}
	if keep.Slot == drop.Slot {
		// Both are one term, but NaN does not equal itself.
		_, exact := b.mentioned(among, keep.Slot)
		_, same := cond.(*ast.Call)
		return Alias{Slot: keep.Slot, To: keep}, exact || same
	}
	// 2. The one that goes must be bound by the patterns only. The other may be bound before them.
	if b.Possible.Has(drop.Slot) || drop.Slot == b.Wanted {
		keep, drop = drop, keep
	}
	if b.Possible.Has(drop.Slot) || drop.Slot == b.Wanted || b.Possible.Has(keep.Slot) && !b.Certain.Has(keep.Slot) {
		return Alias{}, false
	}
	kept, keptExact := b.mentioned(among, keep.Slot)
	dropped, droppedExact := b.mentioned(among, drop.Slot)
	if b.Certain.Has(keep.Slot) {
		kept, keptExact = true, keptExact || b.Nodes.Has(keep.Slot)
	}
	if !kept || !dropped || !keptExact && !droppedExact {
		return Alias{}, false
	}
	return Alias{Slot: drop.Slot, To: keep}, true
}

// mentioned reports whether a variable is in the patterns. exact means that each of its values is a
// node or a literal of xsd:string: only the same term equals it.
func (b *Bound) mentioned(among *mentioning, slot int) (some, exact bool) {
	for _, i := range among.of[slot] {
		p := among.patterns[i]
		for position, at := range []algebra.VarOrTerm{p.Subject, p.Predicate, p.Object} {
			if at.IsVar() && at.Slot == slot {
				some = true
				exact = exact || position != triple.Object || b.ExactObjects(p)
			}
		}
	}
	return some, exact
}

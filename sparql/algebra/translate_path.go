// Translation of property paths (section 18.2.2.4).

package algebra

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// block collects the triple patterns of a basic graph pattern, and the nodes of paths among
// them.
type block struct {
	parts []Node
	// unfolds are the triple term patterns. They come after the parts, which bind their slots.
	unfolds []Node
	// tags are conditions made of literals with language tags.
	tags []ast.Expr
}

// add puts a triple pattern to the basic graph pattern at the block's end, or
// begins one.
func (b *block) add(p TriplePattern) {
	if len(b.parts) > 0 {
		if bgp, ok := b.parts[len(b.parts)-1].(*BGP); ok {
			bgp.Patterns = append(bgp.Patterns, p)
			return
		}
	}
	b.parts = append(b.parts, &BGP{[]TriplePattern{p}})
}

func (t *translator) triple(b *block, p ast.TriplePattern) {
	subject, object := t.termPlace(b, p.Subject), t.termPlace(b, p.Object)
	if p.Path == nil {
		if object.Term.Lang() != "" {
			object = t.anyCase(b, p.Object)
		}
		b.add(TriplePattern{subject, t.place(p.Predicate), object, p.Position()})
		return
	}
	t.path(b, subject, p.Path, object)
}

// anyCase replaces a literal in a pattern by a variable, so its language tag matches in any
// case. Tags are equal in any case (RDF 1.1 Concepts, section 3.3), but are stored as written.
func (t *translator) anyCase(b *block, literal ast.Node) VarOrTerm {
	v := &ast.Var{Pos: literal.Pos, Name: ".tagged", Slot: t.scope.add(".tagged")}
	b.tags = append(b.tags, &ast.Binary{Pos: literal.Pos, Op: ast.OpEqual, Left: v, Right: &ast.Constant{Pos: literal.Pos, Term: literal.Term}})
	t.tag(literal, v.Slot)
	return VarOrTerm{Slot: v.Slot}
}

// tag sets the variable in place of a term with a language tag.
func (t *translator) tag(n ast.Node, slot int) {
	if n.Pos.IsZero() {
		return
	}
	if t.tagged == nil {
		t.tagged = map[ast.Node]int{}
	}
	t.tagged[n] = slot
}

// termPlace is place for a subject or an object of a pattern, which may be a triple term pattern.
func (t *translator) termPlace(b *block, n ast.Node) VarOrTerm {
	if n.Triple == nil && !hasTag(n.Term) {
		return t.place(n)
	}
	// 1. Take the parts of a term apart if a literal in it has a language tag.
	parts := n.Triple
	if parts == nil {
		inner, _ := n.Term.Triple()
		part := func(term triple.Term) ast.Node { return ast.Node{Pos: n.Pos, Term: term} }
		parts = &ast.TripleNode{Subject: part(inner.Subject), Predicate: part(inner.Predicate), Object: part(inner.Object)}
	}
	// 2. Translate the parts. The term is a variable of its own.
	u := &Unfold{Slot: t.scope.add(".triple"), Pos: n.Pos}
	tags := len(b.tags)
	u.Subject, u.Predicate, u.Object = t.termPlace(b, parts.Subject), t.place(parts.Predicate), t.termPlace(b, parts.Object)
	if u.Object.Term.Lang() != "" {
		u.Object = t.anyCase(b, parts.Object)
	}
	if len(b.tags) > tags {
		t.tag(n, u.Slot)
	}
	b.unfolds = append(b.unfolds, u)
	return VarOrTerm{Slot: u.Slot}
}

// hasTag reports whether a term is a triple term with a language tag inside. Only its innermost
// object can have one.
func hasTag(t triple.Term) bool {
	if t.Kind() != triple.TripleTerm {
		return false
	}
	for t.Kind() == triple.TripleTerm {
		inner, _ := t.Triple()
		t = inner.Object
	}
	return t.Lang() != ""
}

// path translates a path pattern (section 18.2.2.4), and goes one step further
// than it if the evaluation (section 18.4) is a union: alternatives, and
// negated sets of both directions.
func (t *translator) path(b *block, subject VarOrTerm, path ast.Path, object VarOrTerm) {
	switch path := path.(type) {
	case *ast.PathIRI:
		predicate := Constant(triple.NewIRI(path.IRI))
		b.add(TriplePattern{subject, predicate, object, path.Pos})
	case *ast.PathInverse:
		t.path(b, object, path.Arg, subject)
	// A sequence has a fresh variable at each step. Nothing projects it.
	case *ast.PathSequence:
		for i, part := range path.Parts {
			next := object
			if i < len(path.Parts)-1 {
				next = VarOrTerm{Slot: t.scope.add(".step")}
			}
			t.path(b, subject, part, next)
			subject = next
		}
	case *ast.PathAlternative:
		u := &Union{}
		for _, part := range path.Parts {
			u.Args = append(u.Args, t.pathNode(subject, part, object))
		}
		b.parts = append(b.parts, u)
	case *ast.PathNegated:
		b.parts = append(b.parts, negated(subject, path, object))
	// Only repeated paths stay paths, because their pairs must come once.
	case *ast.PathRepeat:
		b.parts = append(b.parts, &Path{subject, path, object, path.Pos})
	}
}

// pathNode translates a path pattern to one node.
func (t *translator) pathNode(subject VarOrTerm, path ast.Path, object VarOrTerm) Node {
	var b block
	t.path(&b, subject, path, object)
	if len(b.parts) == 1 {
		return b.parts[0]
	}
	return &Join{b.parts}
}

// negated translates a negated property set: one direction, or a union of both.
func negated(subject VarOrTerm, path *ast.PathNegated, object VarOrTerm) Node {
	sets := [2]ast.PathNegated{{Pos: path.Pos}, {Pos: path.Pos}}
	for _, member := range path.Set {
		direction := 0
		if member.Inverse {
			direction = 1
		}
		sets[direction].Set = append(sets[direction].Set, ast.NegatedPredicate{IRI: member.IRI})
	}
	forwards := &Path{subject, &sets[0], object, path.Pos}
	backwards := &Path{object, &sets[1], subject, path.Pos}
	switch {
	case len(sets[1].Set) == 0:
		return forwards
	case len(sets[0].Set) == 0:
		return backwards
	}
	return &Union{[]Node{forwards, backwards}}
}

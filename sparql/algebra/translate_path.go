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
		b.add(TriplePattern{subject, t.place(p.Predicate), object, p.Position()})
		return
	}
	t.path(b, subject, p.Path, object)
}

// termPlace is place for a subject or an object of a pattern, which may be a triple term pattern.
func (t *translator) termPlace(b *block, n ast.Node) VarOrTerm {
	if n.Triple == nil {
		return t.place(n)
	}
	u := &Unfold{Slot: t.scope.add(".triple"), Pos: n.Pos}
	u.Subject, u.Predicate, u.Object = t.termPlace(b, n.Triple.Subject), t.place(n.Triple.Predicate), t.termPlace(b, n.Triple.Object)
	b.unfolds = append(b.unfolds, u)
	return VarOrTerm{Slot: u.Slot}
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

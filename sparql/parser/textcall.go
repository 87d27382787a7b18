// Predicates of text search among triples.

package parser

import "github.com/trefoildb/trefoil/sparql/ast"

// textTriple is a triple with a predicate of text search.
type textTriple struct {
	pos             ast.Pos
	name            string
	subject, object ast.Node
}

// textPredicate returns the name of the predicate of text search that a predicate is; ok is false if it is none. It ends
// the parse if the predicate may not stand here.
func (t *triplesParser) textPredicate(predicate ast.Node, path ast.Path) (name string, ok bool) {
	if !t.functions || path != nil {
		return "", false
	}
	name, ok, err := ast.FindTextPredicate(predicate.Term.Value())
	switch {
	case !ok:
	case err != nil:
		t.fail(predicate.Pos, "%v", err)
	case t.within == "SERVICE":
		t.fail(predicate.Pos, "text:%s stands in SERVICE, where it has no meaning: the text index is this server's; expected it outside of SERVICE", name)
	}
	return name, ok
}

// textObject parses the object of a predicate of text search.
func (t *triplesParser) textObject(pos ast.Pos, name string, subject ast.Node) {
	t.node()
	object, _ := t.graphNode()
	if t.err == nil && (!subject.IsVar()) {
		t.fail(subject.Pos, "text:%s stands behind a term; expected a variable, which the search binds to literals", name)
	}
	if t.err == nil {
		t.texts = append(t.texts, textTriple{pos, name, subject, object})
	}
}

// groupTexts puts the searches of triples to a group's elements: one for each literal.
func (t *triplesParser) groupTexts(g *ast.Group) {
	for _, one := range t.texts {
		call := textCallOf(g, one.subject.Var)
		if call == nil {
			call = &ast.TextCall{Pos: one.pos, Literal: one.subject}
			g.Elements = append(g.Elements, call)
		}
		if err := call.Set(one.name, one.object); err != nil {
			t.fail(one.pos, "%v", err)
			return
		}
	}
	for _, one := range t.texts {
		if call := textCallOf(g, one.subject.Var); t.err == nil && !call.Matches() {
			t.fail(one.pos, "?%s has text:%s, but no text:matches before it or beside it", clip(one.subject.Var), one.name)
		}
	}
}

// textCallOf returns the search of a literal in a group; nil if there is none.
func textCallOf(g *ast.Group, literal string) *ast.TextCall {
	for _, e := range g.Elements {
		if call, ok := e.(*ast.TextCall); ok && call.Literal.Var == literal {
			return call
		}
	}
	return nil
}

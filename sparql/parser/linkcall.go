// Functions of hyperlinks among triples.

package parser

import "github.com/trefoildb/trefoil/sparql/ast"

// nodeList is a list in the text: its head, its items, and what its triples are made of.
type nodeList struct {
	head   ast.Node
	items  []ast.Node
	from   int // the place of its triples in the output
	labels int // of blank nodes made before it
}

// takeBack removes the triples and the labels of a list, because it has the arguments of a function.
func (t *triplesParser) takeBack(list nodeList) {
	t.out = t.out[:min(list.from, len(t.out))]
	t.labels.release(list.labels)
}

// function returns the function of links that a predicate is; ok is false if it is none. It ends the parse
// if a function may not stand here.
func (t *triplesParser) function(predicate ast.Node, path ast.Path) (f ast.LinkFunction, ok bool) {
	if !t.functions {
		return 0, false
	}
	if path != nil {
		t.noFunctions(path)
		return 0, false
	}
	f, ok, err := ast.FindLinkFunction(predicate.Term.Value())
	switch {
	case !ok:
	case err != nil:
		t.fail(predicate.Pos, "%v", err)
	case t.within != "":
		t.fail(predicate.Pos, "%s stands in %s, where it has no meaning: hyperlinks are triples of this store's default graph; expected it outside of %s", f, t.within, t.within)
	}
	return f, ok
}

// noFunctions ends the parse if a path has a function of links.
func (t *triplesParser) noFunctions(path ast.Path) {
	check := func(pos ast.Pos, iri string) {
		if _, ok, _ := ast.FindLinkFunction(iri); ok {
			t.fail(pos, "<%s> is a function of links, which no property path can contain; expected it as the whole predicate", iri)
		}
	}
	switch p := path.(type) {
	case *ast.PathIRI:
		check(p.Pos, p.IRI)
	case *ast.PathInverse:
		t.noFunctions(p.Arg)
	case *ast.PathRepeat:
		t.noFunctions(p.Arg)
	case *ast.PathSequence:
		for _, part := range p.Parts {
			t.noFunctions(part)
		}
	case *ast.PathAlternative:
		for _, part := range p.Parts {
			t.noFunctions(part)
		}
	case *ast.PathNegated:
		for _, member := range p.Set {
			check(p.Pos, member.IRI)
		}
	}
}

// call parses the arguments of a function. Lists before and behind it are no triples then.
func (t *triplesParser) call(pos ast.Pos, f ast.LinkFunction, subject ast.Node, list nodeList) {
	t.node()
	pages := []ast.Node{subject}
	if !list.head.IsZero() {
		pages = list.items
		t.takeBack(list)
	}
	before := nodeList{from: len(t.out), labels: t.labels.count}
	object, _ := t.graphNode()
	args := []ast.Node{object}
	if t.list.head == object {
		args = t.list.items
	}
	if t.err != nil {
		return
	}
	t.takeBack(before)
	call, err := ast.NewLinkCall(pos, f, pages, args)
	if err != nil {
		t.fail(pos, "%v", err)
		return
	}
	t.calls = append(t.calls, call)
}

// checkCall ends the parse if a ranking has a result that the group has used before it.
func (t *triplesParser) checkCall(call *ast.LinkCall, g *ast.Group, scope *groupScope) {
	if t.err != nil || !call.Function.Ranks() {
		return
	}
	for _, n := range call.Results() {
		if scope.has(g, n.Var) {
			t.fail(n.Pos, "?%s is in scope already: %s needs a variable that the group has not used before it", clip(n.Var), call.Function)
		}
	}
}

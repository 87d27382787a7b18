// Triples with blank nodes and lists.

package parser

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// triplesBlock parses triples with a '.' between them, and maybe behind them: a
// TriplesBlock with paths, a TriplesTemplate without. It returns nil if there
// are none.
func (p patternParser) triplesBlock(paths bool) *ast.Triples {
	if !p.startsTriples() {
		return nil
	}
	t := triplesParser{patternParser: p.patterns(), paths: paths}
	block := &ast.Triples{Pos: p.tok.pos}
	t.block()
	block.Patterns = t.out
	return block
}

// groupTriples parses a TriplesBlock of a group, and puts it to the group's elements: the triples, then
// the calls of functions of links among them.
func (p patternParser) groupTriples(g *ast.Group, scope *groupScope) {
	t := triplesParser{patternParser: p, paths: true, functions: true}
	pos := p.tok.pos
	t.block()
	if len(t.out) > 0 {
		g.Elements = append(g.Elements, &ast.Triples{Pos: pos, Patterns: t.out})
	}
	for _, call := range t.calls {
		t.checkCall(call, g, scope)
		g.Elements = append(g.Elements, call)
	}
	t.groupTexts(g)
}

// block parses subjects with their triples, and a '.' between them and maybe
// behind them.
func (t *triplesParser) block() {
	for t.startsTriples() {
		t.sameSubject()
		if !t.take(".") {
			return
		}
	}
}

// templateTriples parses TriplesTemplate or ConstructTriples, maybe empty.
func (p patternParser) templateTriples() []ast.TriplePattern {
	if block := p.triplesBlock(false); block != nil {
		return block.Patterns
	}
	return nil
}

// startsTriples reports whether a subject is next.
func (p patternParser) startsTriples() bool {
	switch p.tok.kind {
	case tokVar, tokIRI, tokName, tokBlank:
		return true
	case tokPunct:
		return p.tok.value == "[" || p.tok.value == "(" || p.tok.value == "<<" || p.tok.value == "<<("
	}
	return p.startsLiteral()
}

// triplesParser parses triples with shared subjects into out.
type triplesParser struct {
	patternParser
	paths bool // whether property paths are allowed
	// noBlanks names the part without blank nodes, for messages; "" if they are allowed.
	noBlanks string
	// data is set for INSERT DATA and DELETE DATA, because they must not have variables.
	data bool
	out  []ast.TriplePattern
	// functions: predicates may be functions of links. They go to calls.
	functions bool
	calls     []*ast.LinkCall
	texts     []textTriple
	list      nodeList // the last list parsed
	// sink takes the triples in place of out if it is not nil.
	sink func(ast.TriplePattern)
}

// sameSubject parses TriplesSameSubject or TriplesSameSubjectPath.
func (t *triplesParser) sameSubject() {
	needed := !t.tok.is("[") && !t.tok.is("(") && !t.tok.is("<<")
	subject, bare := t.graphNode()
	if t.startsVerb() {
		list := nodeList{}
		if t.list.head == subject {
			list = t.list
		}
		t.propertyList(subject, list)
	} else if needed || bare {
		t.expected("a predicate")
	}
}

// startsVerb reports whether a predicate is next.
func (t *triplesParser) startsVerb() bool {
	switch t.tok.kind {
	case tokVar, tokIRI, tokName:
		return true
	case tokPunct:
		return t.paths && (t.tok.value == "^" || t.tok.value == "!" || t.tok.value == "(")
	}
	return t.tok.word == "a"
}

// propertyList parses PropertyListNotEmpty or PropertyListPathNotEmpty.
// list is the subject's list, if it is one.
func (t *triplesParser) propertyList(subject ast.Node, list nodeList) {
	plain, called := false, false
	for {
		if !t.startsVerb() {
			t.expected("a predicate")
			return
		}
		predicate, path := t.verb()
		function, isFunction := t.function(predicate, path)
		called, plain = called || isFunction, plain || !isFunction
		if called && plain && !list.head.IsZero() {
			t.fail(subject.Pos, "the list before a function of links is the subject of another predicate, too; expected ?page in place of (?page) as the subject of both")
		}
		text, isText := t.textPredicate(predicate, path)
		for {
			if isText {
				t.textObject(predicate.Pos, text, subject)
				if !t.take(",") {
					break
				}
				continue
			}
			if isFunction {
				t.call(predicate.Pos, function, subject, list)
				if !t.take(",") {
					break
				}
				continue
			}
			// The list's or blank node's own triples must come before the triple with it as
			// object.
			object, _ := t.graphNode()
			t.add(subject, predicate, path, object)
			t.annotations(subject, predicate, path, object)
			if !t.take(",") {
				break
			}
		}
		if !t.take(";") {
			return
		}
		for t.take(";") {
		}
		if !t.startsVerb() {
			return
		}
	}
}

// verb parses Verb, or VerbPath and VerbSimple: one of predicate and path is set.
func (t *triplesParser) verb() (predicate ast.Node, path ast.Path) {
	pos := t.tok.pos
	switch {
	case t.tok.kind == tokVar:
		t.noVariable()
		return t.variable(), nil
	case !t.paths && t.takeWord("a"):
		return ast.Node{Pos: pos, Term: triple.NewIRI(triple.RDFType)}, nil
	case !t.paths:
		return ast.Node{Pos: pos, Term: triple.NewIRI(t.iri("a predicate"))}, nil
	}
	path = t.path()
	if link, ok := path.(*ast.PathIRI); ok {
		return ast.Node{Pos: link.Pos, Term: triple.NewIRI(link.IRI)}, nil
	}
	return ast.Node{}, path
}

// graphNode parses GraphNode: a variable, a term, a list or [ ]. bare is true if it was [] or
// (), because these make no triples by themselves.
func (t *triplesParser) graphNode() (node ast.Node, bare bool) {
	pos := t.tok.pos
	switch {
	case t.tok.kind == tokVar:
		t.noVariable()
		return t.variable(), false
	case t.tok.kind == tokIRI || t.tok.kind == tokName:
		return ast.Node{Pos: pos, Term: triple.NewIRI(t.iri(""))}, false
	case t.tok.kind == tokBlank:
		t.noBlank(pos)
		return t.blankNode(), false
	case t.startsLiteral():
		return ast.Node{Pos: pos, Term: t.literal()}, false
	case t.tok.is("["):
		return t.blankNodePropertyList()
	case t.tok.is("("):
		return t.collection()
	case t.tok.is("<<("):
		return t.tripleTerm(), false
	case t.tok.is("<<"):
		return t.reifiedTriple(), false
	}
	t.expected("a variable or a term")
	return ast.Node{}, false
}

// blankNodePropertyList parses ANON or BlankNodePropertyList.
func (t *triplesParser) blankNodePropertyList() (node ast.Node, bare bool) {
	t.noBlank(t.tok.pos)
	node = t.newBlank(t.tok.pos)
	t.advance()
	if t.take("]") {
		return node, true
	}
	t.enter()
	t.propertyList(node, nodeList{})
	t.leave()
	t.expect("]")
	return node, false
}

// collection parses NIL or Collection.
func (t *triplesParser) collection() (head ast.Node, bare bool) {
	pos := t.tok.pos
	t.advance()
	if t.take(")") {
		head = ast.Node{Pos: pos, Term: rdfNil}
		t.list = nodeList{head: head, from: len(t.out), labels: t.labels.count}
		return head, true
	}
	t.noBlank(pos)
	list := nodeList{from: len(t.out), labels: t.labels.count}
	defer func() { t.list = list }() // behind those of inner lists
	t.enter()
	defer t.leave()
	// Each item has a cell: its triples follow those of the item.
	head = t.newBlank(pos)
	list.head = head
	for cell := head; t.err == nil; {
		item, _ := t.graphNode()
		list.items = append(list.items, item)
		t.add(cell, ast.Node{Pos: item.Pos, Term: rdfFirst}, nil, item)
		rest := ast.Node{Pos: t.tok.pos, Term: rdfNil}
		last := t.tok.is(")")
		if !last && t.err == nil {
			rest = t.newBlank(t.tok.pos)
		}
		t.add(cell, ast.Node{Pos: item.Pos, Term: rdfRest}, nil, rest)
		if last {
			break
		}
		cell = rest
	}
	t.expect(")")
	return head, false
}

var (
	rdfFirst = triple.NewIRI(triple.RDF + "first")
	rdfRest  = triple.NewIRI(triple.RDF + "rest")
	rdfNil   = triple.NewIRI(triple.RDF + "nil")
)

func (t *triplesParser) add(subject, predicate ast.Node, path ast.Path, object ast.Node) {
	if !t.data {
		t.node()
	}
	if t.err != nil {
		return
	}
	pattern := ast.TriplePattern{Subject: subject, Predicate: predicate, Path: path, Object: object}
	if t.sink != nil {
		t.sink(pattern)
	} else {
		t.out = append(t.out, pattern)
	}
}

// noVariable ends the parse at a variable in data.
func (t *triplesParser) noVariable() {
	if t.data {
		t.fail(t.tok.pos, "found %s, expected a term: data has no variables", t.tok.String())
	}
}

// noBlank ends the parse at a blank node if none is allowed, as in deletions.
func (t *triplesParser) noBlank(pos ast.Pos) {
	if t.noBlanks != "" {
		t.fail(pos, "%s has no blank nodes (lists and reifiers without a name are some), expected another term", t.noBlanks)
	}
}

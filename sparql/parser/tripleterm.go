// Triple terms, reified triples and annotations (SPARQL 1.2 Query, section 4.3).

package parser

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

var rdfReifies = triple.NewIRI(triple.RDFReifies)

// tripleTerm parses TripleTerm. It must be next.
func (t *triplesParser) tripleTerm() ast.Node {
	pos := t.tok.pos
	t.enterTriple()
	defer t.leaveTriple()
	t.advance()
	s := t.innerTerm(false)
	p := t.simpleVerb()
	o := t.innerTerm(false)
	t.expect(")>>")
	if t.err != nil {
		return ast.Node{}
	}
	return t.tripleNode(pos, s, p, o)
}

// tripleNode returns the triple term of three nodes. In data they must make a triple.
func (t *triplesParser) tripleNode(pos ast.Pos, s, p, o ast.Node) ast.Node {
	if !t.data {
		return ast.NewTripleNode(pos, s, p, o)
	}
	one := triple.Triple{Subject: s.Term, Predicate: p.Term, Object: o.Term}
	if err := one.Check(); err != nil {
		t.fail(pos, "a triple term: %v", err)
	}
	return ast.Node{Pos: pos, Term: triple.NewTripleTerm(s.Term, p.Term, o.Term)}
}

// innerTerm parses the subject or the object of a triple term, or with reified of a reified triple.
// Neither has lists and property lists inside.
func (t *triplesParser) innerTerm(reified bool) ast.Node {
	t.node()
	pos := t.tok.pos
	switch {
	case t.tok.is("["):
		t.noBlank(pos)
		node := t.newBlank(pos)
		t.advance()
		if !t.tok.is("]") {
			t.expected("']': a triple term or reified triple has no property list inside")
		}
		t.advance()
		return node
	case t.tok.is("("):
		t.expected("a variable or a term: a triple term or reified triple has no list inside")
		return ast.Node{}
	case t.tok.is("<<") && !reified:
		t.expected("a variable or a term: a triple term has no reified triple inside")
		return ast.Node{}
	}
	node, _ := t.graphNode()
	return node
}

// simpleVerb parses Verb: no path.
func (t *triplesParser) simpleVerb() ast.Node {
	paths := t.paths
	t.paths = false
	defer func() { t.paths = paths }()
	if !t.startsVerb() {
		t.expected("a predicate")
	}
	predicate, _ := t.verb()
	return predicate
}

// reifiedTriple parses ReifiedTriple and returns its reifier. It must be next.
func (t *triplesParser) reifiedTriple() ast.Node {
	pos := t.tok.pos
	t.enter()
	defer t.leave()
	t.advance()
	s := t.innerTerm(true)
	p := t.simpleVerb()
	o := t.innerTerm(true)
	var reifier ast.Node
	if t.tok.is("~") {
		reifier = t.reifier()
	} else {
		t.noBlank(pos)
		reifier = t.newBlank(pos)
	}
	t.expect(">>")
	t.reify(reifier, s, p, o)
	return reifier
}

// reifier parses Reifier. It must be next. Without a name it is a new blank node.
func (t *triplesParser) reifier() ast.Node {
	pos := t.tok.pos
	t.advance()
	switch {
	case t.tok.kind == tokVar || t.tok.kind == tokIRI || t.tok.kind == tokName || t.tok.kind == tokBlank:
		node, _ := t.graphNode()
		return node
	case t.tok.is("["):
		return t.innerTerm(false)
	}
	t.noBlank(pos)
	return t.newBlank(pos)
}

// reify adds the triple between a reifier and a triple term.
func (t *triplesParser) reify(reifier, s, p, o ast.Node) {
	if t.err != nil {
		return
	}
	if err := triple.CheckNesting(levelsOf(o) + 1); err != nil {
		t.fail(s.Pos, "%v", err)
	}
	t.add(reifier, ast.Node{Pos: reifier.Pos, Term: rdfReifies}, nil, t.tripleNode(s.Pos, s, p, o))
}

// levelsOf returns the levels of triple terms of a node.
func levelsOf(n ast.Node) (levels int) {
	for ; n.Triple != nil; n = n.Triple.Object {
		levels++
	}
	return levels + n.Term.Levels(triple.MaxNesting())
}

// annotations parses Annotation or AnnotationPath behind a triple: reifiers of it, and blocks with
// triples of the reifier before, or of a new one.
func (t *triplesParser) annotations(s, p ast.Node, path ast.Path, o ast.Node) {
	var reifier ast.Node // of the next block; zero for a new one
	for t.err == nil && (t.tok.is("~") || t.tok.is("{|")) {
		pos := t.tok.pos
		if path != nil {
			t.fail(pos, "found %s behind a triple with a property path; expected an IRI or a variable as predicate, because only a triple has reifiers and annotations", t.tok.String())
			return
		}
		if t.tok.is("~") {
			reifier = t.reifier()
			t.reify(reifier, s, p, o)
			continue
		}
		t.enter()
		t.advance()
		if reifier.IsZero() {
			t.noBlank(pos)
			reifier = t.newBlank(pos)
			t.reify(reifier, s, p, o)
		}
		t.propertyList(reifier, nodeList{})
		t.expect("|}")
		t.leave()
		reifier = ast.Node{}
	}
}

// dataTripleTerm parses TripleTermData. It must be next.
func (p patternParser) dataTripleTerm() triple.Term {
	pos := p.tok.pos
	p.enterTriple()
	defer p.leaveTriple()
	p.advance()
	if p.tok.kind != tokIRI && p.tok.kind != tokName {
		p.expected("an IRI as the subject of a triple term in VALUES")
		return triple.Term{}
	}
	subject := triple.NewIRI(p.iri(""))
	predicate := triple.NewIRI(p.pathIRI("an IRI as the predicate of a triple term"))
	if p.tok.word == "UNDEF" {
		p.expected("an IRI, a literal or a triple term")
	}
	object := p.dataValue()
	p.expect(")>>")
	if p.err != nil {
		return triple.Term{}
	}
	term := triple.NewTripleTerm(subject, predicate, object)
	if err := term.Check(); err != nil {
		p.fail(pos, "%v", err)
	}
	return term
}

// tripleTerm parses ExprTripleTerm, which is a call of TRIPLE. It must be next.
func (p exprParser) tripleTerm() ast.Expr {
	call := &ast.Call{Pos: p.tok.pos, Func: ast.FuncTriple}
	p.enterTriple()
	defer p.leaveTriple()
	p.advance()
	for position := range 3 {
		call.Args = append(call.Args, p.tripleTermArgument(position))
	}
	p.expect(")>>")
	return call
}

// tripleTermArgument parses the subject, predicate or object of a triple term in an expression.
func (p exprParser) tripleTermArgument(position int) ast.Expr {
	p.node()
	pos := p.tok.pos
	switch {
	case p.tok.kind == tokVar:
		return &ast.Var{Pos: pos, Name: p.variable().Var, Slot: ast.Unnumbered}
	case p.tok.kind == tokIRI || p.tok.kind == tokName:
		return &ast.Constant{Pos: pos, Term: triple.NewIRI(p.iri(""))}
	case position == triple.Predicate && p.takeWord("a"):
		return &ast.Constant{Pos: pos, Term: triple.NewIRI(triple.RDFType)}
	case position == triple.Object && p.startsLiteral():
		return &ast.Constant{Pos: pos, Term: p.literal()}
	case position == triple.Object && p.tok.is("<<("):
		return p.tripleTerm()
	}
	if position == triple.Object {
		p.expected("a variable, an IRI, a literal or a triple term")
	} else {
		p.expected("a variable or an IRI (the function TRIPLE takes any expression)")
	}
	return &ast.Constant{Pos: pos}
}

// Property paths.

package parser

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// path parses Path: alternatives of sequences.
func (p patternParser) path() ast.Path {
	first := p.pathSequence()
	if !p.tok.is("|") {
		return first
	}
	p.node()
	parts := []ast.Path{first}
	for p.take("|") {
		parts = append(parts, p.pathSequence())
	}
	return &ast.PathAlternative{Pos: first.Position(), Parts: parts}
}

func (p patternParser) pathSequence() ast.Path {
	first := p.pathElement()
	if !p.tok.is("/") {
		return first
	}
	p.node()
	parts := []ast.Path{first}
	for p.take("/") {
		parts = append(parts, p.pathElement())
	}
	return &ast.PathSequence{Pos: first.Position(), Parts: parts}
}

// pathElement parses PathEltOrInverse: ^ binds less than ? * +.
func (p patternParser) pathElement() ast.Path {
	pos := p.tok.pos
	inverse := p.take("^")
	path := p.pathPrimary()
	switch {
	case p.take("?"):
		path = &ast.PathRepeat{Pos: path.Position(), Arg: path, Once: true}
		p.node()
	case p.take("*"):
		path = &ast.PathRepeat{Pos: path.Position(), Arg: path}
		p.node()
	case p.take("+"):
		path = &ast.PathRepeat{Pos: path.Position(), Arg: path, Min: 1}
		p.node()
	}
	if inverse {
		p.node()
		return &ast.PathInverse{Pos: pos, Arg: path}
	}
	return path
}

func (p patternParser) pathPrimary() ast.Path {
	pos := p.tok.pos
	p.node()
	switch {
	case p.tok.is("("):
		p.enter()
		defer p.leave()
		p.advance()
		path := p.path()
		p.expect(")")
		return path
	case p.take("!"):
		return p.negatedSet(pos)
	}
	return &ast.PathIRI{Pos: pos, IRI: p.pathIRI("a predicate, '^', '!' or '('")}
}

// pathIRI parses an IRI or a.
func (p patternParser) pathIRI(what string) string {
	if p.takeWord("a") {
		return triple.RDFType
	}
	return p.iri(what)
}

// negatedSet parses PathNegatedPropertySet.
func (p patternParser) negatedSet(pos ast.Pos) ast.Path {
	negated := &ast.PathNegated{Pos: pos}
	if !p.take("(") {
		negated.Set = []ast.NegatedPredicate{p.negatedPredicate()}
		return negated
	}
	if p.take(")") {
		return negated
	}
	for {
		negated.Set = append(negated.Set, p.negatedPredicate())
		if !p.take("|") {
			break
		}
	}
	p.expect(")")
	return negated
}

func (p patternParser) negatedPredicate() ast.NegatedPredicate {
	p.node()
	inverse := p.take("^")
	return ast.NegatedPredicate{IRI: p.pathIRI("a predicate or '^'"), Inverse: inverse}
}

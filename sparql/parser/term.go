// RDF terms.

package parser

import (
	"cmp"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// variable parses a variable. It must be next.
func (p *parser) variable() ast.Node {
	if p.tok.kind != tokVar {
		p.expected("a variable")
		return ast.Node{}
	}
	n := ast.Node{Pos: p.tok.pos, Var: p.tok.value}
	p.advance()
	return n
}

// varOrIRI parses VarOrIri.
func (p *parser) varOrIRI(what string) ast.Node {
	if p.tok.kind == tokVar {
		return p.variable()
	}
	pos := p.tok.pos
	return ast.Node{Pos: pos, Term: triple.NewIRI(p.iri(what))}
}

// startsLiteral reports whether a literal is next.
func (p *parser) startsLiteral() bool {
	switch p.tok.kind {
	case tokString, tokInteger, tokDecimal, tokDouble:
		return true
	}
	return p.tok.word == "TRUE" || p.tok.word == "FALSE"
}

// literal parses a literal. It must be next. Its lexical form stays as written; if it is a
// boolean, it becomes lower case.
func (p *parser) literal() triple.Term {
	value, datatype := p.tok.value, ""
	switch p.tok.kind {
	case tokString:
		return p.rdfLiteral()
	case tokInteger:
		datatype = triple.XSDInteger
	case tokDecimal:
		datatype = triple.XSDDecimal
	case tokDouble:
		datatype = triple.XSDDouble
	default:
		datatype = triple.XSDBoolean
		value = "true"
		if p.tok.word == "FALSE" {
			value = "false"
		}
	}
	p.advance()
	return triple.NewTyped(value, datatype)
}

// rdfLiteral parses RDFLiteral.
func (p *parser) rdfLiteral() triple.Term {
	value, pos := p.tok.value, p.tok.pos
	p.advance()
	var term triple.Term
	switch {
	case p.tok.kind == tokLang:
		term = triple.NewLang(value, p.tok.value)
		p.advance()
	case p.take("^^"):
		term = triple.NewTyped(value, p.iri("a datatype's IRI"))
	default:
		term = triple.NewString(value)
	}
	if p.err == nil {
		if err := cmp.Or(term.Check(), term.CheckLanguage()); err != nil {
			p.fail(pos, "%v", err)
		}
	}
	return term
}

// VALUES and its rows.

package parser

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// trailingValues parses ValuesClause.
func (p patternParser) trailingValues() *ast.Values {
	if p.tok.word != "VALUES" {
		return nil
	}
	return p.values()
}

// values parses VALUES and its DataBlock. It must be next.
func (p patternParser) values() *ast.Values {
	v := &ast.Values{Pos: p.tok.pos}
	p.node()
	p.advance()
	// 1. One variable, with rows of one value.
	if p.tok.kind == tokVar {
		v.Vars = []ast.Node{p.variable()}
		p.expect("{")
		for p.err == nil && !p.tok.is("}") {
			v.Rows = append(v.Rows, []triple.Term{p.dataValue()})
		}
		p.expect("}")
		return v
	}
	if !p.tok.is("(") {
		p.expected("a variable or '(' after VALUES")
	}
	p.advance()
	// 2. Several variables, with rows in parentheses. None may come twice.
	seen := map[string]bool{}
	for p.tok.kind == tokVar {
		if seen[p.tok.value] {
			p.fail(p.tok.pos, "?%s stands twice in VALUES", clip(p.tok.value))
			return v
		}
		seen[p.tok.value] = true
		v.Vars = append(v.Vars, p.variable())
	}
	p.expect(")")
	p.expect("{")
	for p.err == nil && !p.tok.is("}") {
		v.Rows = append(v.Rows, p.valuesRow(len(v.Vars)))
	}
	p.expect("}")
	return v
}

// valuesRow parses a row of columns values in parentheses.
func (p patternParser) valuesRow(columns int) []triple.Term {
	pos := p.tok.pos
	p.expect("(")
	row := make([]triple.Term, 0, columns)
	for p.err == nil && !p.tok.is(")") {
		row = append(row, p.dataValue())
		if len(row) > columns {
			break
		}
	}
	if p.err == nil && len(row) != columns {
		more := ""
		if len(row) > columns {
			more = " or more"
		}
		p.fail(pos, "this row of VALUES has %d values%s, expected %d, one for each variable", len(row), more, columns)
	}
	p.expect(")")
	return row
}

// dataValue parses DataBlockValue; UNDEF is the zero Term.
func (p patternParser) dataValue() triple.Term {
	if p.takeWord("UNDEF") {
		return triple.Term{}
	}
	switch {
	case p.tok.kind == tokIRI || p.tok.kind == tokName:
		return triple.NewIRI(p.iri(""))
	case p.startsLiteral():
		return p.literal()
	case p.tok.is("<<("):
		return p.dataTripleTerm()
	}
	p.expected("an IRI, a literal, a triple term or UNDEF")
	return triple.Term{}
}

package parser

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// trailingValues parses ValuesClause.
func (p *parser) trailingValues() *ast.Values {
	if p.tok.word != "VALUES" {
		return nil
	}
	return p.values()
}

// values parses VALUES, which is next, and its DataBlock.
func (p *parser) values() *ast.Values {
	v := &ast.Values{Pos: p.tok.pos}
	p.node()
	p.advance()
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

// valuesRow parses the row of so many values in parentheses.
func (p *parser) valuesRow(columns int) []triple.Term {
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
func (p *parser) dataValue() triple.Term {
	if p.takeWord("UNDEF") {
		return triple.Term{}
	}
	switch {
	case p.tok.kind == tokIRI || p.tok.kind == tokName:
		return triple.NewIRI(p.iri(""))
	case p.startsLiteral():
		return p.literal()
	}
	p.expected("an IRI, a literal or UNDEF")
	return triple.Term{}
}

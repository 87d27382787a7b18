// Expressions by rank of operators.

package parser

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// exprParser reads expressions, with calls and aggregates.
type exprParser struct{ *parser }

func (p *parser) expressions() exprParser { return exprParser{p} }

// aggregateRule is the rule for aggregates in an expression.
type aggregateRule uint8

const (
	aggregatesForbidden aggregateRule = iota
	aggregatesAllowed                 // in SELECT, HAVING and ORDER BY
	aggregatesInside                  // in an aggregate
)

// Ranks of operators: those of a higher rank bind first.
const (
	rankOr = iota + 1
	rankAnd
	rankRelation // at most one in a row: a < b < c is none
	rankSum
	rankProduct
)

var ranks = map[string]struct {
	rank int
	op   ast.Op
}{
	"||": {rankOr, ast.OpOr},
	"&&": {rankAnd, ast.OpAnd},
	"=":  {rankRelation, ast.OpEqual},
	"!=": {rankRelation, ast.OpNotEqual},
	"<":  {rankRelation, ast.OpLess},
	">":  {rankRelation, ast.OpGreater},
	"<=": {rankRelation, ast.OpLessEq},
	">=": {rankRelation, ast.OpGreatEq},
	"+":  {rankSum, ast.OpAdd},
	"-":  {rankSum, ast.OpSubtract},
	"*":  {rankProduct, ast.OpMultiply},
	"/":  {rankProduct, ast.OpDivide},
}

// expr parses Expression.
func (p exprParser) expr() ast.Expr {
	p.enter()
	defer p.leave()
	return p.operators(p.unary(), rankOr)
}

// operators parses the operators after left if their rank is at least rank.
func (p exprParser) operators(left ast.Expr, rank int) ast.Expr {
	related := false
	for {
		pos := p.tok.pos
		// An operator of a lower rank belongs to the caller. Relations do not chain: a < b < c is
		// an error.
		switch {
		case p.tok.kind == tokPunct:
			next, ok := ranks[p.tok.value]
			if !ok || next.rank < rank || related && next.rank == rankRelation {
				return left
			}
			related = next.rank == rankRelation
			p.node()
			p.advance()
			right := p.operators(p.unary(), next.rank+1)
			left = &ast.Binary{Pos: pos, Op: next.op, Left: left, Right: right}
		case p.tok.word == "IN" || p.tok.word == "NOT":
			if rank > rankRelation || related {
				return left
			}
			related = true
			left = p.parseIn(left)
		case p.startsSignedNumber() && rank <= rankSum:
			related = false
			// The lexer takes "-1" for a number. If an operand is on its left, the sign is an
			// operator.
			op := p.cutSign()
			p.node()
			number := p.operators(p.primary(), rankProduct)
			left = &ast.Binary{Pos: pos, Op: op, Left: left, Right: number}
		default:
			return left
		}
	}
}

func (p exprParser) startsSignedNumber() bool {
	switch p.tok.kind {
	case tokInteger, tokDecimal, tokDouble:
		return p.tok.value[0] == '+' || p.tok.value[0] == '-'
	}
	return false
}

// cutSign removes the sign of the next number, and returns the sign as an operator.
func (p exprParser) cutSign() ast.Op {
	op := ast.OpAdd
	if p.tok.value[0] == '-' {
		op = ast.OpSubtract
	}
	p.tok.value = p.tok.value[1:]
	p.tok.pos.Offset++
	p.tok.pos.Column++
	return op
}

// parseIn parses IN or NOT IN and its list. It must be next.
func (p exprParser) parseIn(left ast.Expr) ast.Expr {
	p.node()
	in := &ast.In{Pos: p.tok.pos, Arg: left}
	in.Not = p.takeWord("NOT")
	p.expectWord("IN")
	in.List = p.expressionList()
	return in
}

// expressionList parses ExpressionList. It may be empty.
func (p exprParser) expressionList() []ast.Expr {
	p.expect("(")
	if p.take(")") {
		return nil
	}
	var list []ast.Expr
	for {
		list = append(list, p.expr())
		if !p.take(",") {
			break
		}
	}
	if !p.tok.is(")") {
		p.expected("',' or ')'")
	}
	p.advance()
	return list
}

// unary parses UnaryExpression.
func (p exprParser) unary() ast.Expr {
	pos := p.tok.pos
	op := ast.OpNot
	switch {
	case p.take("!"):
	case p.take("-"):
		op = ast.OpMinus
	case p.take("+"):
		op = ast.OpPlus
	default:
		return p.primary()
	}
	p.node()
	if op == ast.OpNot {
		p.enter()
		defer p.leave()
		return &ast.Unary{Pos: pos, Op: op, Arg: p.unary()}
	}
	return &ast.Unary{Pos: pos, Op: op, Arg: p.primary()}
}

// primary parses PrimaryExpression.
func (p exprParser) primary() ast.Expr {
	// The first token decides.
	p.node()
	pos := p.tok.pos
	switch {
	case p.tok.kind == tokVar:
		v := p.variable()
		return &ast.Var{Pos: pos, Name: v.Var, Slot: ast.Unnumbered}
	case p.tok.is("("):
		p.advance()
		e := p.expr()
		p.expect(")")
		return e
	case p.tok.kind == tokIRI || p.tok.kind == tokName:
		iri := p.iri("")
		if p.tok.is("(") {
			return p.functionCall(pos, iri)
		}
		return &ast.Constant{Pos: pos, Term: triple.NewIRI(iri)}
	case p.startsLiteral():
		return &ast.Constant{Pos: pos, Term: p.literal()}
	case p.startsCall():
		return p.call()
	case p.tok.is("<<("):
		return p.tripleTerm()
	case p.tok.is("<<"):
		p.fail(pos, "a reified triple << s p o >> is no expression; expected a triple term <<( s p o )>>")
	}
	p.expected("an expression")
	return &ast.Constant{Pos: pos}
}

// startsConstraint reports whether a Constraint is next.
func (p exprParser) startsConstraint() bool {
	return p.tok.is("(") || p.tok.kind == tokIRI || p.tok.kind == tokName || p.startsCall()
}

// constraint parses Constraint: an expression in parentheses or a call.
func (p exprParser) constraint() ast.Expr {
	p.enter()
	defer p.leave()
	name := p.tok.kind == tokIRI || p.tok.kind == tokName
	e := p.primary()
	if _, call := e.(*ast.FunctionCall); name && !call {
		p.expected("'(' with the arguments of the function")
	}
	return e
}

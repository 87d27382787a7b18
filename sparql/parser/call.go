package parser

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// startsCall reports whether a BuiltInCall is next.
func (p *parser) startsCall() bool {
	switch p.tok.word {
	case "":
		return false
	case "EXISTS", "NOT":
		return true
	}
	if _, ok := functions[p.tok.word]; ok {
		return true
	}
	_, ok := aggregates[p.tok.word]
	return ok
}

// call parses BuiltInCall, which is next.
func (p *parser) call() ast.Expr {
	pos, word := p.tok.pos, p.tok.word
	p.advance()
	switch word {
	case "NOT":
		p.expectWord("EXISTS")
		return &ast.Exists{Pos: pos, Not: true, Group: p.group(), Index: ast.Unnumbered}
	case "EXISTS":
		return &ast.Exists{Pos: pos, Group: p.group(), Index: ast.Unnumbered}
	}
	if f, ok := aggregates[word]; ok {
		return p.aggregate(pos, f)
	}
	call := &ast.Call{Pos: pos, Func: functions[word]}
	if call.Func == ast.FuncIRI {
		call.Base = p.names.base
	}
	call.Args = p.arguments(call.Func)
	return call
}

// arguments parses as many arguments as a function takes.
func (p *parser) arguments(f ast.Function) []ast.Expr {
	least, greatest := f.Arity()
	p.expect("(")
	var args []ast.Expr
	if f == ast.FuncBound && p.tok.kind != tokVar {
		p.expected("a variable, which is all that BOUND takes")
	}
	for p.err == nil && len(args) != greatest && !(len(args) == 0 && p.tok.is(")")) {
		args = append(args, p.expr())
		if len(args) == greatest || !p.take(",") {
			break
		}
	}
	switch {
	case len(args) < least && len(args) == 0:
		p.expected(fmt.Sprintf("an argument: %s takes %s", f, arity(least, greatest)))
	case len(args) < least:
		p.expected(fmt.Sprintf("',' and another argument: %s takes %s", f, arity(least, greatest)))
	case len(args) == greatest && !p.tok.is(")"):
		p.expected(fmt.Sprintf("')': %s takes %s", f, arity(least, greatest)))
	case !p.tok.is(")"):
		p.expected("',' or ')'")
	}
	if f == ast.FuncBound && p.err == nil {
		if _, ok := args[0].(*ast.Var); !ok {
			p.fail(args[0].Position(), "BOUND takes a variable only")
		}
	}
	p.advance()
	return args
}

// arity says how many arguments a function takes.
func arity(least, greatest int) string {
	switch {
	case greatest == ast.Any:
		return "any number of arguments"
	case greatest == 0:
		return "no arguments"
	case least == 1 && greatest == 1:
		return "1 argument"
	case least == greatest:
		return fmt.Sprintf("%d arguments", least)
	}
	return fmt.Sprintf("%d or %d arguments", least, greatest)
}

// functionCall parses the ArgList of the function named iri.
func (p *parser) functionCall(pos ast.Pos, iri string) ast.Expr {
	call := &ast.FunctionCall{Pos: pos, IRI: iri}
	p.expect("(")
	if p.take(")") {
		return call
	}
	call.Distinct = p.takeWord("DISTINCT")
	for {
		call.Args = append(call.Args, p.expr())
		if !p.take(",") {
			break
		}
	}
	if !p.tok.is(")") {
		p.expected("',' or ')'")
	}
	p.advance()
	return call
}

// aggregate parses Aggregate from behind its keyword.
func (p *parser) aggregate(pos ast.Pos, f ast.AggregateFunc) ast.Expr {
	switch p.aggregates {
	case aggregatesForbidden:
		p.fail(pos, "found the aggregate %s: aggregates stand only in SELECT, HAVING and ORDER BY", f)
	case aggregatesInside:
		p.fail(pos, "found the aggregate %s inside an aggregate, expected an expression without one", f)
	}
	outer := p.aggregates
	p.aggregates = aggregatesInside
	defer func() { p.aggregates = outer }()
	p.expect("(")
	a := &ast.Aggregate{Pos: pos, Func: f, Distinct: p.takeWord("DISTINCT")}
	if f != ast.AggCount || !p.take("*") {
		a.Arg = p.expr()
	}
	if f == ast.AggGroupConcat {
		a.Separator = " "
		if p.take(";") {
			p.expectWord("SEPARATOR")
			p.expect("=")
			if p.tok.kind != tokString {
				p.expected("the separator as a string")
			}
			a.Separator = p.tok.value
			p.advance()
		}
	}
	p.expect(")")
	return a
}

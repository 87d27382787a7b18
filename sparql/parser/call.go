// Calls of functions and aggregates.

package parser

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// startsCall reports whether a BuiltInCall is next.
func (p exprParser) startsCall() bool {
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

// call parses BuiltInCall. It must be next.
func (p exprParser) call() ast.Expr {
	pos, word := p.tok.pos, p.tok.word
	p.advance()
	switch word {
	case "NOT":
		p.expectWord("EXISTS")
		return &ast.Exists{Pos: pos, Not: true, Group: p.patterns().group(), Index: ast.Unnumbered}
	case "EXISTS":
		return &ast.Exists{Pos: pos, Group: p.patterns().group(), Index: ast.Unnumbered}
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

// arguments parses the arguments of a function.
func (p exprParser) arguments(f ast.Function) []ast.Expr {
	least, greatest := f.Arity()
	p.expect("(")
	var args []ast.Expr
	if f == ast.FuncBound && p.tok.kind != tokVar {
		p.expected("a variable, which is all that BOUND takes")
	}
	// 1. Read up to the greatest number, so an error is at the first one too many.
	for p.err == nil && len(args) != greatest && !(len(args) == 0 && p.tok.is(")")) {
		args = append(args, p.expr())
		if len(args) == greatest || !p.take(",") {
			break
		}
	}
	// 2. If there are too few, or no parenthesis follows, the error names the numbers.
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
	// 3. BOUND takes a variable, so its argument must not be an expression with a variable at
	// its beginning.
	if f == ast.FuncBound && p.err == nil {
		if _, ok := args[0].(*ast.Var); !ok {
			p.fail(args[0].Position(), "BOUND takes a variable only")
		}
	}
	p.advance()
	return args
}

// arity describes the number of a function's arguments, for messages.
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
func (p exprParser) functionCall(pos ast.Pos, iri string) ast.Expr {
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
func (p exprParser) aggregate(pos ast.Pos, f ast.AggregateFunc) ast.Expr {
	switch p.aggregates {
	case aggregatesForbidden:
		p.fail(pos, "found the aggregate %s: aggregates stand only in SELECT, HAVING and ORDER BY", f)
	case aggregatesInside:
		p.fail(pos, "found the aggregate %s inside an aggregate, expected an expression without one", f)
	}
	// 1. Aggregates must not stand in one another.
	outer := p.aggregates
	p.aggregates = aggregatesInside
	defer func() { p.aggregates = outer }()
	// 2. Read the argument. Only COUNT may have a star.
	p.expect("(")
	a := &ast.Aggregate{Pos: pos, Func: f, Distinct: p.takeWord("DISTINCT")}
	if f != ast.AggCount || !p.take("*") {
		a.Arg = p.expr()
	}
	// 3. GROUP_CONCAT may have a separator.
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

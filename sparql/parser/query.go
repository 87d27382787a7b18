// Queries: prologue, forms, clauses and solution modifiers.

package parser

import (
	"math"
	"strconv"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// queryParser reads queries, and checks the rules outside of the grammar.
type queryParser struct{ *parser }

func (p *parser) queries() queryParser { return queryParser{p} }

// query parses QueryUnit.
func (p queryParser) query() *ast.Query {
	p.prologue()
	q := &ast.Query{Pos: p.tok.pos, Limit: ast.NoLimit}
	q.Prologue = ast.Prologue{Base: p.names.base, Prefixes: p.names.prefixes}
	switch {
	case p.takeWord("SELECT"):
		p.selectQuery(q, false)
	case p.takeWord("CONSTRUCT"):
		p.construct(q)
	case p.takeWord("ASK"):
		q.Form = ast.Ask
		q.Dataset = p.dataset("FROM")
		q.Where = p.parseWhere()
		p.modifiers(q)
	case p.takeWord("DESCRIBE"):
		p.describe(q)
	default:
		p.expected("SELECT, CONSTRUCT, ASK or DESCRIBE")
	}
	q.Values = p.patterns().trailingValues()
	p.checkQuery(q)
	return q
}

// subSelect parses SubSelect, from behind SELECT.
func (p queryParser) subSelect(pos ast.Pos) *ast.SubSelect {
	q := &ast.Query{Pos: pos, Limit: ast.NoLimit}
	p.selectQuery(q, true)
	q.Values = p.patterns().trailingValues()
	p.checkQuery(q)
	return &ast.SubSelect{Pos: pos, Query: q}
}

// selectQuery parses a SELECT from behind its keyword to its modifiers.
func (p queryParser) selectQuery(q *ast.Query, sub bool) {
	q.Form = ast.Select
	if p.takeWord("DISTINCT") {
		q.Distinct = true
	} else if p.takeWord("REDUCED") {
		q.Reduced = true
	}
	outer := p.aggregates
	p.aggregates = aggregatesAllowed
	if !p.take("*") {
		for p.tok.kind == tokVar || p.tok.is("(") {
			q.Items = append(q.Items, p.selectItem())
		}
		if len(q.Items) == 0 {
			p.expected("'*', a variable or '(' after SELECT")
		}
	} else {
		q.Star = true
	}
	p.aggregates = outer
	if !sub {
		q.Dataset = p.dataset("FROM")
	}
	q.Where = p.parseWhere()
	p.modifiers(q)
}

// selectItem parses ?var or (expr AS ?var).
func (p queryParser) selectItem() ast.SelectItem {
	p.node()
	if p.tok.kind == tokVar {
		return ast.SelectItem{Var: p.variable()}
	}
	p.expect("(")
	item := ast.SelectItem{Expr: p.expressions().expr()}
	p.expectWord("AS")
	item.Var = p.variable()
	p.expect(")")
	return item
}

// construct parses a CONSTRUCT from behind its keyword to its modifiers. In the
// short form the template is the pattern.
func (p queryParser) construct(q *ast.Query) {
	q.Form = ast.Construct
	if p.tok.is("{") {
		p.advance()
		p.labels.scope = templateScope
		q.Template = p.patterns().templateTriples()
		p.expect("}")
		q.Dataset = p.dataset("FROM")
		q.Where = p.parseWhere()
		p.modifiers(q)
		return
	}
	q.Dataset = p.dataset("FROM")
	p.expectWord("WHERE")
	q.Where = &ast.Group{Pos: p.tok.pos}
	p.expect("{")
	p.labels.newPattern()
	q.Template = p.patterns().templateTriples()
	if len(q.Template) > 0 {
		q.Where.Elements = []ast.Pattern{&ast.Triples{Pos: q.Template[0].Position(), Patterns: q.Template}}
	}
	p.expect("}")
	p.modifiers(q)
}

// describe parses a DESCRIBE from behind its keyword to its modifiers.
func (p queryParser) describe(q *ast.Query) {
	q.Form = ast.Describe
	if p.take("*") {
		q.Star = true
	} else {
		for p.tok.kind == tokVar || p.tok.kind == tokIRI || p.tok.kind == tokName {
			q.Describe = append(q.Describe, p.varOrIRI("a variable or an IRI"))
		}
		if len(q.Describe) == 0 {
			p.expected("'*', a variable or an IRI after DESCRIBE")
		}
	}
	q.Dataset = p.dataset("FROM")
	if p.tok.word == "WHERE" || p.tok.is("{") {
		q.Where = p.parseWhere()
	}
	p.modifiers(q)
}

// dataset parses the clauses of word, FROM or USING.
func (p queryParser) dataset(word string) []ast.DatasetClause {
	var clauses []ast.DatasetClause
	for p.tok.word == word {
		clause := ast.DatasetClause{Pos: p.tok.pos}
		p.advance()
		clause.Named = p.takeWord("NAMED")
		clause.IRI = p.iri("a graph's IRI or NAMED")
		clauses = append(clauses, clause)
	}
	return clauses
}

// parseWhere parses WhereClause.
func (p queryParser) parseWhere() *ast.Group {
	if !p.takeWord("WHERE") && !p.tok.is("{") {
		p.expected("WHERE or '{'")
	}
	return p.patterns().group()
}

// modifiers parses SolutionModifier.
func (p queryParser) modifiers(q *ast.Query) {
	outer := p.aggregates
	defer func() { p.aggregates = outer }()
	// 1. Keys of groups have no aggregates, because these are of the groups.
	if p.takeWord("GROUP") {
		p.expectWord("BY")
		p.aggregates = aggregatesForbidden
		for p.err == nil {
			key, ok := p.groupKey()
			if !ok {
				break
			}
			q.GroupBy = append(q.GroupBy, key)
		}
		if len(q.GroupBy) == 0 {
			p.expected("a variable, a function call or '(' after GROUP BY")
		}
	}
	p.aggregates = aggregatesAllowed
	// 2. Conditions on groups.
	if p.takeWord("HAVING") {
		for p.expressions().startsConstraint() {
			q.Having = append(q.Having, p.expressions().constraint())
		}
		if len(q.Having) == 0 {
			p.expected("a function call or '(' after HAVING")
		}
	}
	// 3. The order, then the limits.
	if p.takeWord("ORDER") {
		p.expectWord("BY")
		for p.err == nil {
			key, ok := p.orderKey()
			if !ok {
				break
			}
			q.OrderBy = append(q.OrderBy, key)
		}
		if len(q.OrderBy) == 0 {
			p.expected("a variable, ASC, DESC, a function call or '(' after ORDER BY")
		}
	}
	p.limitOffset(q)
}

// groupKey parses GroupCondition; ok reports whether there is one.
func (p queryParser) groupKey() (key ast.GroupKey, ok bool) {
	switch {
	case p.tok.kind == tokVar:
		v := p.variable()
		return ast.GroupKey{Expr: &ast.Var{Pos: v.Pos, Name: v.Var, Slot: ast.Unnumbered}}, true
	case p.tok.is("("):
		p.advance()
		key.Expr = p.expressions().expr()
		if p.takeWord("AS") {
			key.Var = p.variable()
		}
		p.expect(")")
		return key, true
	case p.expressions().startsConstraint():
		return ast.GroupKey{Expr: p.expressions().constraint()}, true
	}
	return key, false
}

// orderKey parses OrderCondition; ok reports whether there is one.
func (p queryParser) orderKey() (key ast.OrderKey, ok bool) {
	switch {
	case p.tok.word == "ASC" || p.tok.word == "DESC":
		key.Descending = p.tok.word == "DESC"
		p.advance()
		p.expect("(")
		key.Expr = p.expressions().expr()
		p.expect(")")
		return key, true
	case p.tok.kind == tokVar:
		v := p.variable()
		return ast.OrderKey{Expr: &ast.Var{Pos: v.Pos, Name: v.Var, Slot: ast.Unnumbered}}, true
	case p.expressions().startsConstraint():
		return ast.OrderKey{Expr: p.expressions().constraint()}, true
	}
	return key, false
}

// limitOffset parses LimitOffsetClauses: each at most once, in any order.
func (p queryParser) limitOffset(q *ast.Query) {
	limit, offset := false, false
	for {
		switch {
		case !limit && p.takeWord("LIMIT"):
			limit = true
			q.Limit = p.integer("a number after LIMIT")
		case !offset && p.takeWord("OFFSET"):
			offset = true
			q.Offset = p.integer("a number after OFFSET")
		default:
			return
		}
	}
}

// integer parses INTEGER without a sign. If it exceeds an int64, it is the greatest int64.
func (p queryParser) integer(what string) int64 {
	if p.tok.kind != tokInteger || ascii[p.tok.value[0]]&cDigit == 0 {
		p.expected(what)
		return 0
	}
	n, err := strconv.ParseInt(p.tok.value, 10, 64)
	if err != nil {
		n = math.MaxInt64
	}
	p.advance()
	return n
}

// Group graph patterns.

package parser

import "github.com/trefoildb/trefoil/sparql/ast"

// patternParser reads graph patterns: groups, triples, paths and VALUES.
type patternParser struct{ *parser }

func (p *parser) patterns() patternParser { return patternParser{p} }

// group parses GroupGraphPattern, braces and all.
func (p patternParser) group() *ast.Group {
	g := &ast.Group{Pos: p.tok.pos}
	p.enter()
	defer p.leave()
	p.node()
	if !p.tok.is("{") {
		p.expected("'{'")
		return g
	}
	// Inside, aggregates and labels have scopes of their own.
	aggregates, labels := p.aggregates, p.labels.scope
	p.aggregates = aggregatesForbidden
	p.labels.newPattern()
	p.advance()
	if pos := p.tok.pos; p.takeWord("SELECT") {
		g.Elements = []ast.Pattern{p.queries().subSelect(pos)}
	} else {
		p.elements(g)
	}
	p.aggregates, p.labels.scope = aggregates, labels
	p.expect("}")
	return g
}

// groupOf parses the group of GRAPH or SERVICE, where no function of links may stand. GRAPH in SERVICE is of the service.
func (p patternParser) groupOf(word string) *ast.Group {
	outer := p.within
	if outer != "SERVICE" {
		p.within = word
	}
	g := p.group()
	p.within = outer
	return g
}

// elements parses GroupGraphPatternSub.
func (p patternParser) elements(g *ast.Group) {
	scope := groupScope{}
	for p.err == nil && !p.tok.is("}") {
		if p.startsTriples() {
			p.groupTriples(g, &scope)
			if p.startsTriples() {
				p.expected("'.' or '}' after a triple pattern")
			}
			continue
		}
		element := p.element(g, &scope)
		if p.err != nil {
			return
		}
		g.Elements = append(g.Elements, element)
		if _, filter := element.(*ast.Filter); !filter {
			p.labels.newPattern()
		}
		p.take(".")
	}
}

// element parses GraphPatternNotTriples. g has the elements before it.
func (p patternParser) element(g *ast.Group, scope *groupScope) ast.Pattern {
	p.node()
	pos := p.tok.pos
	// The first word decides. Triples were read before.
	switch {
	case p.tok.is("{"):
		return p.groupOrUnion()
	case p.takeWord("OPTIONAL"):
		return &ast.Optional{Pos: pos, Group: p.group()}
	case p.takeWord("LATERAL"):
		return p.lateral(pos, g, scope)
	case p.takeWord("MINUS"):
		return &ast.Minus{Pos: pos, Group: p.group()}
	case p.takeWord("GRAPH"):
		return &ast.Graph{Pos: pos, Name: p.varOrIRI("a variable or the graph's IRI"), Group: p.groupOf("GRAPH")}
	case p.takeWord("SERVICE"):
		s := &ast.Service{Pos: pos, Silent: p.takeWord("SILENT")}
		s.Name = p.varOrIRI("a variable or the service's IRI")
		s.Group = p.groupOf("SERVICE")
		return s
	case p.takeWord("FILTER"):
		if !p.expressions().startsConstraint() {
			p.expected("'(' or a function call after FILTER")
		}
		return &ast.Filter{Pos: pos, Expr: p.expressions().constraint()}
	case p.takeWord("BIND"):
		return p.bind(pos, g, scope)
	case p.tok.word == "VALUES":
		return p.values()
	}
	// The error lists the possible tokens only if the word is unknown.
	if p.tok.kind == tokWord && p.tok.word == "" {
		p.expected("a pattern (a triple, '{', OPTIONAL, LATERAL, MINUS, GRAPH, SERVICE, FILTER, BIND, VALUES) or '}'")
		return nil
	}
	p.expected("a pattern or '}'")
	return nil
}

// groupOrUnion parses GroupOrUnionGraphPattern.
func (p patternParser) groupOrUnion() ast.Pattern {
	first := p.group()
	if p.tok.word != "UNION" {
		return first
	}
	u := &ast.Union{Pos: first.Pos, Groups: []*ast.Group{first}}
	for p.takeWord("UNION") {
		u.Groups = append(u.Groups, p.group())
	}
	return u
}

// lateral parses LATERAL from behind its keyword. Its group must not assign a variable of the rows that it starts
// from (SEP-0006).
func (p patternParser) lateral(pos ast.Pos, g *ast.Group, scope *groupScope) ast.Pattern {
	l := &ast.Lateral{Pos: pos, Group: p.group()}
	ast.Assigned(l.Group, func(v ast.Node) {
		if p.err == nil && scope.has(g, v.Var) {
			p.fail(v.Pos, "?%s is in scope already: in LATERAL, expected a variable after AS or VALUES that the group has not used before it", clip(v.Var))
		}
	})
	return l
}

// bind parses BIND from behind its keyword.
func (p patternParser) bind(pos ast.Pos, g *ast.Group, scope *groupScope) ast.Pattern {
	b := &ast.Bind{Pos: pos}
	p.expect("(")
	b.Expr = p.expressions().expr()
	p.expectWord("AS")
	b.Var = p.variable()
	p.expect(")")
	if p.err == nil && scope.has(g, b.Var.Var) {
		p.fail(b.Var.Pos, "?%s is in scope already: BIND needs a variable that the group has not used before it", clip(b.Var.Var))
	}
	return b
}

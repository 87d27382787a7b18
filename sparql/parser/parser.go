// The parser's state, its errors, and the way into it.

package parser

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// ParseQuery reads a query. An error is a *[triple.SyntaxError], or comes from
// [Options.Validate] or [Options.Check]. Strings of the tree may be parts of the text.
func ParseQuery(text string, opts Options) (*ast.Query, error) {
	p, err := newParser(text, opts)
	if err != nil {
		return nil, err
	}
	q := p.queries().query()
	p.end()
	if err := p.failed(); err != nil {
		return nil, err
	}
	return q, nil
}

// ParseUpdate reads an update request: any number of operations, also none. For
// its errors see [ParseQuery].
func ParseUpdate(text string, opts Options) (*ast.Update, error) {
	p, err := newParser(text, opts)
	if err != nil {
		return nil, err
	}
	u := p.updates().update()
	p.end()
	if err := p.failed(); err != nil {
		return nil, err
	}
	return u, nil
}

// ParsePattern reads the pattern text form: triple patterns as between the braces of a WHERE,
// such as "?s <p:p> ?o . ?o a <x:C>". All of their grammar is allowed except paths. The
// prefixes xsd:, rdf: and rdfs: are declared. The group has at most one element, a
// *[ast.Triples]. For errors see [ParseQuery].
func ParsePattern(text string, opts Options) (*ast.Group, error) {
	opts.Prefixes = append([]ast.Prefix{
		{Name: "xsd", IRI: triple.XSD},
		{Name: "rdf", IRI: triple.RDF},
		{Name: "rdfs", IRI: "http://www.w3.org/2000/01/rdf-schema#"},
	}, opts.Prefixes...)
	p, err := newParser(text, opts)
	if err != nil {
		return nil, err
	}
	group := &ast.Group{Pos: p.tok.pos}
	if triples := p.patterns().triplesBlock(false); triples != nil {
		group.Elements = []ast.Pattern{triples}
	}
	p.end()
	if err := p.failed(); err != nil {
		return nil, err
	}
	return group, nil
}

// parser is a recursive descent over the lexer's tokens.
//
// The first error ends the parse: err is set once and the token is tokEnd from then on, so
// every loop ends and every function returns. After an error a function may return nil or a
// half-made node, so nobody may use its result.
type parser struct {
	lx   *lexer
	opts Options
	tok  token // the next one
	err  *triple.SyntaxError
	halt error // of Options.Check; err is set too then

	depth, nodes int
	levels       int // of triple terms around the current one
	names        names
	labels       labels
	aggregates   aggregateRule
	within       string // GRAPH or SERVICE around the pattern; "" for none
}

func newParser(text string, opts Options) (*parser, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	lx, err := newLexer(text, opts)
	if err != nil {
		return nil, err
	}
	p := &parser{lx: lx, opts: opts}
	p.names.base = opts.Base
	p.names.expandLimit = max(opts.MaxBytes, 4*len(text))
	for _, prefix := range opts.Prefixes {
		p.names.declare(prefix)
	}
	p.advance()
	return p, nil
}

// advance reads the next token.
func (p *parser) advance() {
	if p.err != nil {
		return
	}
	if p.opts.Check != nil && p.lx.tokens%checkTokens == checkTokens-1 {
		if p.halt = p.opts.Check(p.nodes); p.halt != nil {
			p.fail(p.tok.pos, "%v", p.halt)
			return
		}
	}
	if err := p.lx.next(&p.tok); err != nil {
		p.stop(err)
	}
}

// checkTokens is how many tokens lie between two calls of Options.Check: they take
// about 50 us.
const checkTokens = 256

// failed returns the error if one ended the parse, else nil.
func (p *parser) failed() error {
	switch {
	case p.halt != nil:
		return p.halt
	case p.err != nil:
		return p.err
	}
	return nil
}

// stop ends the parse.
func (p *parser) stop(err *triple.SyntaxError) {
	if p.err == nil {
		p.err = err
	}
	p.tok = token{pos: p.tok.pos}
}

// fail ends the parse with an error at pos.
func (p *parser) fail(pos ast.Pos, format string, args ...any) {
	if p.err == nil {
		p.stop(p.lx.errorf(pos, format, args...))
	}
}

// expected ends the parse at the next token, because it is not the expected one.
func (p *parser) expected(what string) {
	if p.err != nil {
		return
	}
	if p.tok.is("<") {
		p.fail(p.tok.pos, "expected %s, found '<' that begins no IRI: up to the closing '>' an IRI has no space, control character or any of <\"{}|^`\\", what)
		return
	}
	p.fail(p.tok.pos, "expected %s, found %s", what, p.tok.String())
}

// end expects the end of the text.
func (p *parser) end() {
	if p.tok.kind != tokEnd {
		p.expected("the end of the text")
	}
}

// take skips the mark m if it is next, and reports whether it was.
func (p *parser) take(m string) bool {
	if !p.tok.is(m) {
		return false
	}
	p.advance()
	return true
}

// expect skips the mark m. It must be next.
func (p *parser) expect(m string) {
	if !p.take(m) {
		p.expected("'" + m + "'")
	}
}

// takeWord skips a keyword if it is next, and reports whether it was.
func (p *parser) takeWord(word string) bool {
	if p.tok.word != word {
		return false
	}
	p.advance()
	return true
}

// expectWord skips a keyword. It must be next.
func (p *parser) expectWord(word string) {
	if !p.takeWord(word) {
		p.expected(word)
	}
}

// enter counts a nested construct; leave ends it.
func (p *parser) enter() {
	if p.depth++; p.depth > p.opts.MaxDepth {
		p.fail(p.tok.pos, "groups, parentheses, lists, [ ] or triple terms are nested deeper than %d", p.opts.MaxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

// enterTriple is enter for a triple term; leaveTriple ends it.
func (p *parser) enterTriple() {
	p.enter()
	p.levels++
	if err := triple.CheckNesting(p.levels); err != nil {
		p.fail(p.tok.pos, "%v", err)
	}
}

func (p *parser) leaveTriple() {
	p.leave()
	p.levels--
}

// node counts a node of the tree against MaxNodes.
func (p *parser) node() {
	if p.nodes++; p.nodes > p.opts.MaxNodes {
		p.fail(p.tok.pos, "the text has more than %d patterns and expressions", p.opts.MaxNodes)
	}
}

// The printer: prologue, terms and names.

package ast

import (
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// The printer writes a tree as canonical SPARQL. It must parse to an equal tree (except
// positions): one triple pattern a line, parentheses only if they are needed, prefixed names if
// a declared prefix fits, [ ] and lists as labelled blank nodes.

// String returns the query as SPARQL text.
func (q *Query) String() string {
	p := newPrinter(q.Prologue.Prefixes)
	p.prologue(q.Prologue.Base, q.Prologue.Prefixes)
	p.queries().query(q)
	p.text("\n")
	return p.String()
}

// String returns the request as SPARQL text.
func (u *Update) String() string {
	p := newPrinter(u.Prefixes)
	p.prologue("", u.Prefixes)
	p.updates().update(u)
	return p.String()
}

// String returns the pattern as SPARQL text, braces and all, without prefixes.
func (g *Group) String() string {
	p := newPrinter(nil)
	p.queries().group(g)
	return p.String()
}

// ExprString returns an expression as SPARQL text, without prefixes.
func ExprString(e Expr) string {
	p := newPrinter(nil)
	p.expressions().expr(e)
	return p.String()
}

// PathString returns a property path as SPARQL text, without prefixes.
func PathString(path Path) string {
	p := newPrinter(nil)
	p.expressions().path(path, pathAlternative)
	return p.String()
}

// TermString returns a term as SPARQL text: numbers and booleans without quotes
// if their lexical form allows.
func TermString(t triple.Term) string {
	p := newPrinter(nil)
	p.term(t)
	return p.String()
}

type printer struct {
	strings.Builder
	names  map[string]string // prefixes by namespace
	indent int
	base   string // in force
}

func newPrinter(prefixes []Prefix) *printer {
	p := &printer{names: make(map[string]string, len(prefixes))}
	for _, prefix := range prefixes {
		p.names[prefix.IRI] = prefix.Name
	}
	return p
}

// text writes strings.
func (p *printer) text(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// line ends the line and begins another one with s.
func (p *printer) line(s string) {
	p.WriteByte('\n')
	p.text(strings.Repeat("  ", p.indent), s)
}

func (p *printer) prologue(base string, prefixes []Prefix) {
	p.setBase(base)
	for _, prefix := range prefixes {
		p.text("PREFIX ", prefix.Name, ": <", prefix.IRI, ">\n")
	}
}

// setBase writes BASE if it is not in force. A base is never taken back.
func (p *printer) setBase(base string) {
	if base != p.base && base != "" {
		p.base = base
		p.text("BASE <", base, ">\n")
	}
}

func (p *printer) variable(n Node) { p.text("?", n.Var) }

func (p *printer) node(n Node) {
	switch {
	case n.IsVar():
		p.variable(n)
	case n.Triple != nil:
		p.tripleNode(n.Triple)
	default:
		p.term(n.Term)
	}
}

func (p *printer) tripleNode(t *TripleNode) {
	p.text("<<( ")
	p.node(t.Subject)
	p.text(" ")
	p.node(t.Predicate)
	p.text(" ")
	p.node(t.Object)
	p.text(" )>>")
}

// term writes a term; a zero one is UNDEF, because only VALUES has one.
func (p *printer) term(t triple.Term) {
	switch t.Kind() {
	case triple.None:
		p.text("UNDEF")
	case triple.Blank:
		p.text("_:", t.Value())
	case triple.IRI:
		p.iri(t.Value())
	case triple.Literal:
		p.literal(t)
	case triple.TripleTerm:
		p.tripleTerm(t)
	}
}

// tripleTerm writes a triple term level by level, because it may be nested to any depth.
func (p *printer) tripleTerm(t triple.Term) {
	depth := 0
	for t.Kind() == triple.TripleTerm {
		inner, ok := t.Triple()
		if !ok {
			break
		}
		p.text("<<( ")
		p.term(inner.Subject)
		p.text(" ")
		p.term(inner.Predicate)
		p.text(" ")
		t = inner.Object
		depth++
	}
	p.term(t)
	p.text(strings.Repeat(" )>>", depth))
}

// iri writes a prefixed name if a namespace ends at the last '#', '/' or ':' and the rest needs
// no escapes.
func (p *printer) iri(iri string) {
	cut := strings.LastIndexAny(iri, "#/:") + 1
	if name, ok := p.names[iri[:cut]]; ok && isPlainLocal(iri[cut:]) {
		p.text(name, ":", iri[cut:])
		return
	}
	p.text("<", iri, ">")
}

func isPlainLocal(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}

func (p *printer) literal(t triple.Term) {
	if isShorthand(t) {
		p.text(t.Value())
		return
	}
	p.string(t.Value())
	switch {
	case t.LangDir() != "":
		p.text("@", t.LangDir())
	case t.Datatype() != triple.XSDString:
		p.text("^^")
		p.iri(t.Datatype())
	}
}

// string writes a string in quotes.
func (p *printer) string(s string) {
	p.WriteByte('"')
	for {
		i := strings.IndexAny(s, "\"\\\n\r\t")
		if i < 0 {
			break
		}
		p.text(s[:i], `\`)
		switch c := s[i]; c {
		case '\n':
			p.WriteByte('n')
		case '\r':
			p.WriteByte('r')
		case '\t':
			p.WriteByte('t')
		default:
			p.WriteByte(c)
		}
		s = s[i+1:]
	}
	p.text(s, `"`)
}

// isShorthand reports whether a literal's lexical form is a token of the grammar for the same
// literal.
func isShorthand(t triple.Term) bool {
	s := t.Value()
	// 1. Only four datatypes have literals without quotes.
	switch t.Datatype() {
	case triple.XSDBoolean:
		return s == "true" || s == "false"
	case triple.XSDInteger, triple.XSDDecimal, triple.XSDDouble:
	default:
		return false
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "+"), "-")
	if len(t.Value())-len(s) > 1 {
		return false
	}
	// 2. Split the number, with at most one sign in front.
	mantissa, exponent, hasExponent := s, "", false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent, hasExponent = s[:i], s[i+1:], true
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
	}
	// 3. The form must be one of its datatype, because it would be read as another datatype.
	whole, fraction, dot := strings.Cut(mantissa, ".")
	if !isDigits(whole) || !isDigits(fraction) || !isDigits(exponent) {
		return false
	}
	switch t.Datatype() {
	case triple.XSDInteger:
		return !dot && !hasExponent && whole != ""
	case triple.XSDDecimal:
		return dot && !hasExponent && fraction != ""
	}
	return hasExponent && exponent != "" && (whole != "" || fraction != "")
}

// isDigits reports whether s has digits only; it may have none.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// The printer's part for graph patterns.

package ast

import "github.com/trefoildb/trefoil/triple"

func (p queryPrinter) group(g *Group) {
	p.text("{")
	for _, element := range g.Elements {
		if t, ok := element.(*Triples); ok {
			p.triples(t.Patterns)
			continue
		}
		p.indent++
		p.line("")
		p.element(element)
		p.indent--
	}
	if len(g.Elements) == 0 {
		p.text(" }")
		return
	}
	p.close()
}

// element writes any pattern but *Triples.
func (p queryPrinter) element(pattern Pattern) {
	// Each element begins with its keyword, so nothing but triples may run into the next
	// one.
	switch e := pattern.(type) {
	case *Group:
		p.group(e)
	case *Union:
		for i, g := range e.Groups {
			if i > 0 {
				p.text(" UNION ")
			}
			p.group(g)
		}
	case *Optional:
		p.text("OPTIONAL ")
		p.group(e.Group)
	case *Lateral:
		p.text("LATERAL ")
		p.group(e.Group)
	case *Minus:
		p.text("MINUS ")
		p.group(e.Group)
	case *Graph:
		p.text("GRAPH ")
		p.node(e.Name)
		p.text(" ")
		p.group(e.Group)
	case *Service:
		p.text("SERVICE ")
		if e.Silent {
			p.text("SILENT ")
		}
		p.node(e.Name)
		p.text(" ")
		p.group(e.Group)
	case *Filter:
		p.text("FILTER ")
		p.expressions().constraint(e.Expr)
	case *Bind:
		p.text("BIND")
		p.printAs(e.Expr, e.Var)
	case *Values:
		p.values(e)
	case *SubSelect:
		p.query(e.Query)
	case *LinkCall:
		p.linkCall(e)
	case *TextCall:
		p.textCall(e)
	}
}

// textCall writes a search as triples, because it may stand among triples.
func (p queryPrinter) textCall(c *TextCall) {
	// The query first, then what is given beside it.
	p.node(c.Literal)
	p.text(" ")
	p.iri(TextNamespace + TextMatches)
	p.text(" ")
	if query := (Node{Var: c.QueryVar}); c.Query == "" && query.IsVar() {
		p.node(query)
	} else {
		p.term(triple.NewString(c.Query))
	}
	more := func(name string, object Node) {
		p.text(" ; ")
		p.iri(TextNamespace + name)
		p.text(" ")
		p.node(object)
	}
	if c.Score.IsVar() {
		more(TextScore, c.Score)
	}
	if c.Snippet.IsVar() {
		more(TextSnippet, c.Snippet)
	}
	if c.Language != nil {
		more(TextLanguage, Node{Term: triple.NewString(*c.Language)})
	}
	for _, iri := range c.Predicates {
		more(TextPredicate, Node{Term: triple.NewIRI(iri)})
	}
	if c.Scan {
		more(TextScan, Node{Term: triple.NewTyped("true", triple.XSDBoolean)})
	}
	p.text(" .")
}

// linkCall writes a call as a triple, because it may stand among triples.
func (p queryPrinter) linkCall(c *LinkCall) {
	p.text("(")
	p.node(c.Page)
	p.text(") ")
	p.iri(c.Function.IRI())
	p.text(" (")
	for i, arg := range c.Args {
		if i > 0 {
			p.text(" ")
		}
		p.node(arg)
	}
	p.text(") .")
}

func (p queryPrinter) values(v *Values) {
	p.text("VALUES (")
	for i, n := range v.Vars {
		if i > 0 {
			p.text(" ")
		}
		p.variable(n)
	}
	p.text(") {")
	p.indent++
	for _, row := range v.Rows {
		p.line("(")
		for i, t := range row {
			if i > 0 {
				p.text(" ")
			}
			p.term(t)
		}
		p.text(")")
	}
	p.indent--
	p.close()
}

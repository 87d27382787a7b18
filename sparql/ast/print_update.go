// The printer's part for update requests.

package ast

import "github.com/trefoildb/trefoil/triple"

// updatePrinter prints update requests.
type updatePrinter struct{ *printer }

func (p *printer) updates() updatePrinter { return updatePrinter{p} }

func (p updatePrinter) update(u *Update) {
	for i, op := range u.Operations {
		if i > 0 {
			p.text(" ;\n")
		}
		if m, ok := op.(*Modify); ok {
			p.setBase(m.Base)
		}
		p.operation(op)
	}
	if len(u.Operations) > 0 {
		p.text("\n")
	}
}

func (p updatePrinter) operation(op Operation) {
	// Each operation is its verb, SILENT, and its operands.
	switch op := op.(type) {
	case *InsertData:
		p.text("INSERT DATA ")
		p.data(op.Triples)
	case *DeleteData:
		p.text("DELETE DATA ")
		p.data(op.Triples)
	case *Modify:
		p.modify(op)
	// The target of INTO must be written with GRAPH, because the grammar requires the keyword.
	case *Load:
		p.verb("LOAD", op.Silent)
		p.text(" ")
		p.iri(op.Source)
		if op.Into != "" {
			p.text(" INTO")
			p.graphRef(GraphRef{IRI: op.Into})
		}
	case *Clear:
		p.verb("CLEAR", op.Silent)
		p.graphRef(op.Target)
	case *Drop:
		p.verb("DROP", op.Silent)
		p.graphRef(op.Target)
	case *Create:
		p.verb("CREATE", op.Silent)
		p.graphRef(GraphRef{IRI: op.Graph})
	case *Transfer:
		p.verb(op.Verb.String(), op.Silent)
		p.graphRef(op.From)
		p.text(" TO")
		p.graphRef(op.To)
	}
}

func (p updatePrinter) verb(word string, silent bool) {
	p.text(word)
	if silent {
		p.text(" SILENT")
	}
}

// graphRef writes a space and the reference.
func (p updatePrinter) graphRef(g GraphRef) {
	switch g.Kind {
	case DefaultGraph:
		p.text(" DEFAULT")
	case NamedGraphs:
		p.text(" NAMED")
	case AllGraphs:
		p.text(" ALL")
	default:
		p.text(" GRAPH ")
		p.iri(g.IRI)
	}
}

func (p updatePrinter) modify(m *Modify) {
	if m.With != "" {
		p.text("WITH ")
		p.iri(m.With)
		p.text("\n")
	}
	if len(m.Delete) > 0 || len(m.Insert) == 0 {
		p.text("DELETE ")
		p.quads(m.Delete)
		p.text("\n")
	}
	if len(m.Insert) > 0 {
		p.text("INSERT ")
		p.quads(m.Insert)
		p.text("\n")
	}
	for _, clause := range m.Using {
		p.text("USING ")
		if clause.Named {
			p.text("NAMED ")
		}
		p.iri(clause.IRI)
		p.text("\n")
	}
	p.text("WHERE ")
	p.queries().group(m.Where)
}

// quads writes a template, in the order of its quads.
func (p updatePrinter) quads(quads []QuadPattern) {
	p.block(len(quads), func(i int) (Node, TriplePattern) {
		return quads[i].Graph, quads[i].TriplePattern
	})
}

// data writes triples, in their order.
func (p updatePrinter) data(triples []triple.Triple) {
	p.block(len(triples), func(i int) (Node, TriplePattern) {
		t := triples[i]
		return Node{Term: t.Graph}, TriplePattern{
			Subject: Node{Term: t.Subject}, Predicate: Node{Term: t.Predicate}, Object: Node{Term: t.Object},
		}
	})
}

// block writes n quads in braces, neighbours of one graph in one GRAPH.
func (p updatePrinter) block(n int, at func(i int) (graph Node, t TriplePattern)) {
	p.text("{")
	p.indent++
	for i := 0; i < n; {
		graph, t := at(i)
		named := !graph.IsZero()
		if named {
			p.line("GRAPH ")
			p.node(graph)
			p.text(" {")
			p.indent++
		}
		for next := graph; i < n && next.Var == graph.Var && next.Term == graph.Term; {
			p.line("")
			p.queries().triple(t)
			if i++; i < n {
				next, t = at(i)
			}
		}
		if named {
			p.indent--
			p.queries().close()
		}
	}
	p.indent--
	p.queries().close()
}

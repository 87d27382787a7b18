// The printer's part for queries.

package ast

import (
	"strconv"

	"github.com/trefoildb/trefoil/triple"
)

// queryPrinter prints queries and their graph patterns.
type queryPrinter struct{ *printer }

func (p *printer) queries() queryPrinter { return queryPrinter{p} }

// query writes a query without its prologue.
func (p queryPrinter) query(q *Query) {
	p.text(q.Form.String())
	// 1. The form with its result.
	switch q.Form {
	case Select:
		p.selectClause(q)
	case Construct:
		p.text(" {")
		p.triples(q.Template)
		p.close()
	case Describe:
		for _, n := range q.Describe {
			p.text(" ")
			p.node(n)
		}
		if q.Star {
			p.text(" *")
		}
	}
	// 2. The dataset and the pattern. DESCRIBE may have none.
	p.dataset("FROM", q.Dataset)
	if q.Where != nil {
		if len(q.Dataset) > 0 || q.Form == Construct {
			p.line("WHERE ")
		} else {
			p.text(" WHERE ")
		}
		p.group(q.Where)
	}
	p.modifiers(q)
}

func (p queryPrinter) selectClause(q *Query) {
	if q.Distinct {
		p.text(" DISTINCT")
	}
	if q.Reduced {
		p.text(" REDUCED")
	}
	if q.Star {
		p.text(" *")
	}
	for _, item := range q.Items {
		p.text(" ")
		if item.Expr == nil {
			p.variable(item.Var)
			continue
		}
		p.printAs(item.Expr, item.Var)
	}
}

// printAs writes (expr AS ?var).
func (p queryPrinter) printAs(e Expr, v Node) {
	p.text("(")
	p.expressions().expr(e)
	p.text(" AS ")
	p.variable(v)
	p.text(")")
}

func (p queryPrinter) dataset(word string, clauses []DatasetClause) {
	for _, clause := range clauses {
		p.line(word)
		if clause.Named {
			p.text(" NAMED")
		}
		p.text(" ")
		p.iri(clause.IRI)
	}
}

func (p queryPrinter) modifiers(q *Query) {
	// Modifiers must come in the order of the grammar.
	if len(q.GroupBy) > 0 {
		p.line("GROUP BY")
		for _, key := range q.GroupBy {
			p.text(" ")
			if !key.Var.IsZero() {
				p.printAs(key.Expr, key.Var)
			} else if v, ok := key.Expr.(*Var); ok {
				p.text("?", v.Name)
			} else {
				p.expressions().constraint(key.Expr)
			}
		}
	}
	if len(q.Having) > 0 {
		p.line("HAVING")
		for _, e := range q.Having {
			p.text(" ")
			p.expressions().constraint(e)
		}
	}
	if len(q.OrderBy) > 0 {
		p.line("ORDER BY")
		for _, key := range q.OrderBy {
			word := " ASC("
			if key.Descending {
				word = " DESC("
			}
			p.text(word)
			p.expressions().expr(key.Expr)
			p.text(")")
		}
	}
	if q.Limit != NoLimit {
		p.line("LIMIT ")
		p.text(strconv.FormatInt(q.Limit, 10))
	}
	if q.Offset != 0 {
		p.line("OFFSET ")
		p.text(strconv.FormatInt(q.Offset, 10))
	}
	if q.Values != nil {
		p.line("")
		p.values(q.Values)
	}
}

// close writes the brace at the end of a block.
func (p queryPrinter) close() { p.line("}") }

func (p queryPrinter) triples(patterns []TriplePattern) {
	p.indent++
	for _, t := range patterns {
		p.line("")
		p.triple(t)
	}
	p.indent--
}

func (p queryPrinter) triple(t TriplePattern) {
	p.node(t.Subject)
	p.text(" ")
	switch {
	case t.Path != nil:
		p.expressions().path(t.Path, pathAlternative)
	case t.Predicate.IsVar():
		p.variable(t.Predicate)
	default:
		p.predicate(t.Predicate.Term.Value())
	}
	p.text(" ")
	p.node(t.Object)
	p.text(" .")
}

func (p queryPrinter) predicate(iri string) {
	if iri == triple.RDFType {
		p.text("a")
		return
	}
	p.iri(iri)
}

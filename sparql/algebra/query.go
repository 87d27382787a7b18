// A translated query: its form, its body and its columns.

package algebra

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Body is a tree with the patterns of its EXISTS expressions.
type Body struct {
	Root  Node
	Scope *Scope
	// Exists are the patterns of EXISTS and NOT EXISTS, by [ast.Exists].Index.
	Exists []ExistsPattern
}

// ExistsPattern is the pattern of an EXISTS. It shares slots with its surroundings. Its value for a
// solution is that of section 17.4.1.4 of SPARQL 1.2: each group inside begins with the solution
// (ContextSolution in section 18.3.2). Because each part of a group is joined with it, a leaf may
// begin with it instead.
type ExistsPattern struct {
	Pattern Node
	// Copies are the variables of subqueries that have the names of others around the EXISTS. The groups of
	// the subqueries begin with their bindings, too, whether the subquery projects them or not.
	Copies []Copy
}

// Copy is a variable that begins with the binding of another one.
type Copy struct{ From, To int }

// Query is a translated query.
type Query struct {
	Body
	Form ast.Form
	// Columns are the variables of a SELECT's result, each once, or the described ones of a
	// DESCRIBE.
	Columns  []Column
	Template []TemplateTriple // of CONSTRUCT
	Describe []VarOrTerm      // the IRIs of DESCRIBE; its variables are Columns
	Dataset  []ast.DatasetClause
}

// TemplateTriple is a triple of a template. Its blank nodes are new ones for each
// solution, the same for one label.
type TemplateTriple struct {
	// Graph is only an update's; the zero term is the default graph, or the one of WITH.
	Graph                      VarOrTerm
	Subject, Predicate, Object VarOrTerm
	// Inner is the triple term in place of Object; nil for none.
	Inner *TemplateTriple
}

// Fill returns the triple with the term of place at each place. ok is false if a term is missing or may
// not stand in its place, also inside of a triple term: then the template makes no triple.
func (t *TemplateTriple) Fill(place func(VarOrTerm) triple.Term) (out triple.Triple, ok bool) {
	out = triple.Triple{Subject: place(t.Subject), Predicate: place(t.Predicate)}
	if t.Inner == nil {
		out.Object = place(t.Object)
	} else {
		inner, ok := t.Inner.Fill(place)
		if !ok {
			return out, false
		}
		out.Object = triple.NewTripleTerm(inner.Subject, inner.Predicate, inner.Object)
	}
	isNode := out.Subject.Kind() == triple.IRI || out.Subject.Kind() == triple.Blank
	return out, isNode && out.Predicate.Kind() == triple.IRI && !out.Object.IsZero()
}

// Modify is a translated DELETE and INSERT with WHERE.
type Modify struct {
	Body
	With           string
	Delete, Insert []TemplateTriple
	Using          []ast.DatasetClause
}

// Translate translates a query (section 18.2). The tree of a SELECT ends in its projection,
// DISTINCT and slice; the tree of an ASK, CONSTRUCT or DESCRIBE has no projection. The query
// stays as it is.
func Translate(q *ast.Query) *Query {
	t := newTranslator()
	out := &Query{Form: q.Form, Dataset: q.Dataset}
	names := q.Projected()
	for _, name := range names { // the result's variables have the first slots
		t.slot(name)
	}
	root := t.query(q)
	if q.Form == ast.Select || q.Form == ast.Describe {
		for _, name := range names {
			out.Columns = append(out.Columns, Column{name, t.slot(name)})
		}
	}
	for _, n := range q.Describe {
		if !n.IsVar() {
			out.Describe = append(out.Describe, VarOrTerm{Slot: -1, Term: n.Term})
		}
	}
	for _, p := range q.Template {
		if one, ok := t.template(ast.Node{}, p.Subject, p.Predicate, p.Object); ok {
			out.Template = append(out.Template, one)
		}
	}
	out.Body = Body{root, t.scope, t.exists}
	return out
}

// TranslateModify translates the pattern and the templates of an update
// operation. The operation stays as it is.
func TranslateModify(m *ast.Modify) *Modify {
	t := newTranslator()
	out := &Modify{With: m.With, Using: m.Using}
	root := t.group(m.Where)
	for _, q := range m.Delete {
		if one, ok := t.template(q.Graph, q.Subject, q.Predicate, q.Object); ok {
			out.Delete = append(out.Delete, one)
		}
	}
	for _, q := range m.Insert {
		if one, ok := t.template(q.Graph, q.Subject, q.Predicate, q.Object); ok {
			out.Insert = append(out.Insert, one)
		}
	}
	out.Body = Body{root, t.scope, t.exists}
	return out
}

// template translates a triple of a template, whose blank nodes stay terms. ok is false if it never
// makes a triple, because a triple term cannot be a subject.
func (t *translator) template(graph, s, p, o ast.Node) (out TemplateTriple, ok bool) {
	place := func(n ast.Node) VarOrTerm {
		if n.IsVar() {
			return VarOrTerm{Slot: t.slot(n.Var)}
		}
		return VarOrTerm{Slot: -1, Term: n.Term}
	}
	if s.Triple != nil {
		return out, false
	}
	out = TemplateTriple{Graph: place(graph), Subject: place(s), Predicate: place(p), Object: place(o)}
	if o.Triple != nil {
		inner, ok := t.template(ast.Node{}, o.Triple.Subject, o.Triple.Predicate, o.Triple.Object)
		if !ok {
			return out, false
		}
		out.Inner = &inner
	}
	return out, true
}

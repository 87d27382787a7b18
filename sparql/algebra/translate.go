// Translation of group graph patterns (section 18.2.2).

package algebra

import (
	"maps"
	"strings"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// translator translates one query or update. Its frame belongs to the current query or
// subquery.
type translator struct {
	scope  *Scope
	frame  *frame
	exists []ExistsPattern
	// around is the EXISTS around; nil for none.
	around *surroundings
}

func newTranslator() *translator { return &translator{scope: &Scope{}, frame: newFrame(nil)} }

// frame maps the names of one level of a query to slots. Blank nodes are in it by "_:label".
type frame struct {
	slots map[string]int
	// around is the EXISTS whose solution the groups of a subquery begin with; nil for none.
	around *surroundings
}

// surroundings are the variables around an EXISTS, and the copies of them that its subqueries need.
type surroundings struct {
	frame  *frame
	copies []Copy
}

func newFrame(around *surroundings) *frame { return &frame{slots: map[string]int{}, around: around} }

func (f *frame) clone() *frame { return &frame{slots: maps.Clone(f.slots), around: f.around} }

// slot returns the slot of a variable.
func (t *translator) slot(name string) int { return t.slotIn(t.frame, name) }

// slotIn returns the slot of a variable in a frame. A variable of a subquery in an EXISTS becomes a copy of
// the one of its name around the EXISTS. Blank nodes are not in solutions, so they have no copies.
func (t *translator) slotIn(f *frame, name string) int {
	slot, ok := f.slots[name]
	if !ok {
		slot = t.scope.add(name)
		f.slots[name] = slot
		if f.around != nil && !strings.HasPrefix(name, "_:") {
			from := t.slotIn(f.around.frame, name)
			f.around.copies = append(f.around.copies, Copy{from, slot})
		}
	}
	return slot
}

// place translates a place of a pattern; a blank node becomes a variable.
func (t *translator) place(n ast.Node) VarOrTerm {
	switch {
	case n.IsVar():
		return VarOrTerm{Slot: t.slot(n.Var)}
	case n.Term.Kind() == triple.Blank:
		return VarOrTerm{Slot: t.slot("_:" + n.Term.Value())}
	}
	return Constant(n.Term)
}

// group translates a group graph pattern (section 18.2.2).
func (t *translator) group(g *ast.Group) Node {
	pattern, filters := t.groupParts(g)
	if len(filters) > 0 {
		return &Filter{pattern, filters}
	}
	return pattern
}

// groupParts translates a group to its pattern and its filters. Filters apply to the whole
// group.
func (t *translator) groupParts(g *ast.Group) (Node, []ast.Expr) {
	before, rankings, behind := ast.SplitRanking(g.Elements)
	if len(rankings) == 0 {
		return t.elements(&Unit{}, behind)
	}
	pattern := t.group(&ast.Group{Pos: g.Pos, Elements: before})
	for _, call := range rankings {
		pattern = &LinkRank{pattern, t.linkCall(call)}
	}
	return t.elements(pattern, behind)
}

// elements translates elements of a group behind a pattern.
func (t *translator) elements(pattern Node, elements []ast.Pattern) (Node, []ast.Expr) {
	var filters []ast.Expr
	var triples block
	// 1. flush ends the current basic graph pattern and joins it to the pattern so far.
	flush := func() {
		for _, part := range append(triples.parts, triples.unfolds...) {
			pattern = join(pattern, part)
		}
		triples = block{}
	}
	for _, element := range elements {
		switch e := element.(type) {
		case *ast.Filter:
			// It does not end a basic graph pattern: nothing is flushed.
			filters = append(filters, t.expr(e.Expr))
			continue
		case *ast.Triples:
			for _, p := range e.Patterns {
				t.triple(&triples, p)
			}
			continue
		}
		flush()
		switch e := element.(type) {
		case *ast.Optional:
			right, conds := t.groupParts(e.Group)
			pattern = &LeftJoin{pattern, right, conds}
		case *ast.Lateral:
			pattern = &Lateral{pattern, t.group(e.Group)}
		case *ast.Minus:
			pattern = &Minus{pattern, t.group(e.Group)}
		case *ast.Bind:
			value := t.expr(e.Expr)
			pattern = &Extend{pattern, t.slot(e.Var.Var), value}
		default:
			pattern = join(pattern, t.element(element))
		}
	}
	flush()
	return pattern, filters
}

// join adds right to left if left is a join, or else makes one. The translation makes
// Join(Join(a, b), c) of a group in one node so.
func join(left, right Node) Node {
	if j, ok := left.(*Join); ok {
		j.Args = append(j.Args, right)
		return j
	}
	return &Join{[]Node{left, right}}
}

// element translates an element joined with those before it.
func (t *translator) element(pattern ast.Pattern) Node {
	switch e := pattern.(type) {
	case *ast.Group:
		return t.group(e)
	case *ast.Union:
		u := &Union{}
		for _, g := range e.Groups {
			u.Args = append(u.Args, t.group(g))
		}
		return u
	case *ast.Graph:
		return &Graph{t.place(e.Name), t.group(e.Group)}
	case *ast.Service:
		return t.service(e)
	case *ast.Values:
		return t.table(e)
	case *ast.SubSelect:
		return t.subquery(e.Query)
	case *ast.LinkCall:
		return &LinkJoin{t.linkCall(e)}
	case *ast.TextCall:
		return t.textJoin(e)
	}
	panic("algebra: an element of no kind in a group")
}

func (t *translator) linkCall(e *ast.LinkCall) LinkCall {
	c := LinkCall{Function: e.Function, Page: t.place(e.Page), Numbers: e.Numbers(), Pos: e.Pos}
	for _, n := range e.Results() {
		c.Results = append(c.Results, t.place(n))
	}
	return c
}

func (t *translator) textJoin(e *ast.TextCall) *TextJoin {
	n := &TextJoin{Literal: t.place(e.Literal), HasScore: e.Score.IsVar(), HasSnippet: e.Snippet.IsVar(), Call: e}
	if n.HasScore {
		n.Score = t.place(e.Score)
	}
	if n.HasSnippet {
		n.Snippet = t.place(e.Snippet)
	}
	return n
}

func (t *translator) table(v *ast.Values) *Table {
	table := &Table{Rows: v.Rows}
	for _, n := range v.Vars {
		table.Slots = append(table.Slots, t.slot(n.Var))
	}
	return table
}

func (t *translator) service(e *ast.Service) Node {
	s := &Service{Silent: e.Silent, Name: t.place(e.Name), Group: e.Group, Pos: e.Pos}
	seen := map[string]bool{}
	ast.InScope(e.Group, func(name string) {
		if !seen[name] {
			seen[name] = true
			s.Columns = append(s.Columns, Column{name, t.slot(name)})
		}
	})
	return s
}

// subquery translates a subquery in its own frame. If it projects a variable, that is the outer
// one of the same name; all others are its own.
func (t *translator) subquery(q *ast.Query) Node {
	inner := newFrame(t.around)
	for _, name := range q.Projected() {
		inner.slots[name] = t.slot(name)
	}
	outer := t.frame
	t.frame = inner
	n := t.query(q)
	t.frame = outer
	return n
}

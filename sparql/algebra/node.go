// The operators of the algebra.

package algebra

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Node is an operator of the algebra: one of *[Unit], *[BGP], *[Path], *[Unfold], *[Join],
// *[LeftJoin], *[Lateral], *[Filter], *[Union], *[Graph], *[Extend], *[Minus], *[Table],
// *[Service], *[LinkJoin], *[TextJoin], *[LinkRank], *[Group], *[OrderBy], *[Project], *[Distinct], *[Reduced] and
// *[Slice], and in an optimized tree also *[SemiJoin], *[Tally], *[Top] and *[Seek]. Trees are never changed once
// they are made; parts may be shared.
//
// Expressions are those of package ast with their slots and indices set. No
// *ast.Aggregate is among them but in a Group's Aggregates.
type Node interface{ node() }

// VarOrTerm is a place in a pattern or a template: a variable if Slot is not negative, and
// otherwise a term. In a pattern the term is no blank node.
type VarOrTerm struct {
	Slot int
	Term triple.Term
	Key  string // the term's form in keys; "" in a template
}

// Constant returns the place of a term in a pattern.
func Constant(t triple.Term) VarOrTerm {
	key, _ := triple.AppendTerm(nil, t)
	return VarOrTerm{Slot: -1, Term: t, Key: string(key)}
}

// IsVar reports whether v is a variable.
func (v VarOrTerm) IsVar() bool { return v.Slot >= 0 }

// Unit is one solution without bindings: the identity of Join.
type Unit struct{}

// TriplePattern is a triple pattern.
type TriplePattern struct {
	Subject, Predicate, Object VarOrTerm
	Pos                        ast.Pos
}

// BGP is a basic graph pattern. Its blank nodes have become variables of its own.
type BGP struct {
	Patterns []TriplePattern
}

// Path is a property path pattern whose path is a *[ast.PathRepeat], or a
// *[ast.PathNegated] all of whose members go forwards. Other paths have become
// joins and unions. The argument of a repetition may be any path.
type Path struct {
	Subject VarOrTerm
	Path    ast.Path
	Object  VarOrTerm
	Pos     ast.Pos
}

// Unfold relates a triple term to its parts: the term in Slot is <<( Subject Predicate Object )>>. A
// triple term pattern with variables becomes a variable of its own with an Unfold, so Slot is always
// bound by another argument of the same Join. A place that is a triple term pattern itself is the
// Slot of another Unfold.
type Unfold struct {
	Slot                       int
	Subject, Predicate, Object VarOrTerm
	Pos                        ast.Pos
}

// Places returns the subject, the predicate and the object.
func (u *Unfold) Places() [3]VarOrTerm { return [3]VarOrTerm{u.Subject, u.Predicate, u.Object} }

// Join is the join of all its arguments in any order; without arguments it is a Unit.
type Join struct {
	Args []Node
}

// LeftJoin joins each solution of Left with the compatible ones of Right if all conditions
// hold, and keeps it alone if there are none. A condition sees the variables of both sides.
type LeftJoin struct {
	Left, Right Node
	Conds       []ast.Expr
}

// Lateral joins each solution of Left with the solutions of Right, each of whose groups begins with it as in
// an EXISTS. Subqueries see the variables that they project (SEP-0006).
type Lateral struct {
	Left, Right Node
}

// Filter keeps a solution if all conditions hold: their effective boolean values must be true.
// An error is not true.
type Filter struct {
	Input Node
	Conds []ast.Expr
}

// Union is the solutions of all arguments. There must be at least one.
type Union struct {
	Args []Node
}

// Graph is Input over the graph of a name; over every named graph, with the
// variable bound to its name, if Name is a variable.
type Graph struct {
	Name  VarOrTerm
	Input Node
}

// Extend binds a variable to the value of an expression, or leaves it unbound if the value is
// an error. Input must never bind the variable.
type Extend struct {
	Input Node
	Slot  int
	Expr  ast.Expr
}

// Minus drops a solution of Left if it is compatible with one of Right and shares a bound
// variable with it.
type Minus struct {
	Left, Right Node
}

// Table is solutions given in the query. A zero term is unbound.
type Table struct {
	Slots []int
	Rows  [][]triple.Term
}

// Service is a pattern for another endpoint. Group is the requested pattern, and Columns are
// its variables.
type Service struct {
	Silent  bool
	Name    VarOrTerm
	Group   *ast.Group
	Columns []Column
	Pos     ast.Pos
}

// LinkCall is a call of a function of hyperlinks. Results are what it computes: variables and pages.
type LinkCall struct {
	Function ast.LinkFunction
	Page     VarOrTerm
	Results  []VarOrTerm
	Numbers  []int
	Pos      ast.Pos
}

// Places returns the page and the results.
func (c *LinkCall) Places() []VarOrTerm { return append([]VarOrTerm{c.Page}, c.Results...) }

// LinkJoin is the solutions of a function that ranks nothing: the pages and the results that belong
// together.
type LinkJoin struct{ LinkCall }

// TextJoin is the literals of the text index that match a query, with their scores and snippets.
type TextJoin struct {
	Literal VarOrTerm
	// Score and Snippet are variables, if HasScore and HasSnippet are set.
	Score, Snippet       VarOrTerm
	HasScore, HasSnippet bool
	Call                 *ast.TextCall
}

// Places returns the literal and the results.
func (n *TextJoin) Places() []VarOrTerm {
	places := []VarOrTerm{n.Literal}
	if n.HasScore {
		places = append(places, n.Score)
	}
	if n.HasSnippet {
		places = append(places, n.Snippet)
	}
	return places
}

// LinkRank is the solutions of Input that bind the page to a page, with its score among all of them.
type LinkRank struct {
	Input Node
	LinkCall
}

// Column is a variable by its name outside and its slot.
type Column struct {
	Name string
	Slot int
}

// Group is one solution for each group of solutions with equal keys. It binds the keys and the
// aggregates, and nothing else. If a key's expression is an error, the key is unbound. Without
// keys all solutions are one group, even if there are none.
//
// It is Group, AggregateJoin and Aggregation of section 18.5 in one. If a variable stands
// outside of aggregates and is no key, it has become SAMPLE of it.
type Group struct {
	Input      Node
	Keys       []GroupKey
	Aggregates []Aggregate
	// DistinctBy, only in an optimized tree, are variables. Of solutions that agree in them one is enough, because all
	// aggregates are DISTINCT and depend on nothing else. nil: all solutions are needed.
	DistinctBy []int
}

// GroupKey is a key of a Group. If the key is a variable alone, Slot is its own.
type GroupKey struct {
	Expr ast.Expr
	Slot int
}

// Aggregate is a set function whose value Slot is bound to, or not on an error.
type Aggregate struct {
	Agg  *ast.Aggregate
	Slot int
}

// OrderBy is Input sorted.
type OrderBy struct {
	Input Node
	Keys  []ast.OrderKey
}

// Project is Input with all variables unbound but these, each once.
type Project struct {
	Input Node
	Slots []int
}

// Distinct is Input with each solution once. It keeps the order of Input.
type Distinct struct{ Input Node }

// Reduced is Input with each equal solution at least once.
type Reduced struct{ Input Node }

// Slice is Input without the first Offset solutions, and not more than Limit;
// ast.NoLimit is no limit. Input may lack the first Skipped of the Offset solutions already.
type Slice struct {
	Input         Node
	Offset, Limit int64
	Skipped       int64
}

// SemiJoin keeps a solution if all tests hold. It is a Filter whose patterns of EXISTS may start from many solutions
// at once.
type SemiJoin struct {
	Input Node
	Tests []*ast.Exists
}

// TallyKind is what a Tally counts or lists.
type TallyKind uint8

// The kinds of a Tally.
const (
	TallyRows  TallyKind = iota // the number of rows: COUNT(*)
	TallyTerms                  // the number of different terms: COUNT(DISTINCT ?v)
	TallyEach                   // each term with the number of its rows: COUNT(*) with GROUP BY ?v
	TallyList                   // each different term: SELECT DISTINCT ?v
)

// Tally is a Group that only counts, or a Distinct that lists the terms of one variable. A plan may know the result
// without the rows. Rows is the Group or the Distinct itself.
type Tally struct {
	Rows   Node
	Kind   TallyKind
	Slot   int   // the variable of the terms; not for TallyRows
	Counts []int // the variables that get the numbers; none for TallyList
	Of     []int // for each of Counts: the variable that a counted row must bind; negative if all rows count
	// Pattern has all these rows; nil if they are of anything else.
	Pattern *TriplePattern
	Conds   []ast.Expr // for TallyRows of a Pattern: a row counts if all hold; they depend on one variable
}

// Top is the first Count solutions of Input sorted.
type Top struct {
	Input Node
	Keys  []ast.OrderKey
	Count int64
}

// Seek is the solutions of Input whose binding of a variable has a key from Lo up to Hi.
type Seek struct {
	Input  *BGP
	Slot   int
	Lo, Hi []byte
}

func (*Unit) node()     {}
func (*BGP) node()      {}
func (*Path) node()     {}
func (*Unfold) node()   {}
func (*Join) node()     {}
func (*LeftJoin) node() {}
func (*Lateral) node()  {}
func (*Filter) node()   {}
func (*Union) node()    {}
func (*Graph) node()    {}
func (*Extend) node()   {}
func (*Minus) node()    {}
func (*Table) node()    {}
func (*Service) node()  {}
func (*LinkJoin) node() {}
func (*TextJoin) node() {}
func (*LinkRank) node() {}
func (*Group) node()    {}
func (*OrderBy) node()  {}
func (*Project) node()  {}
func (*Distinct) node() {}
func (*Reduced) node()  {}
func (*Slice) node()    {}
func (*SemiJoin) node() {}
func (*Tally) node()    {}
func (*Top) node()      {}
func (*Seek) node()     {}

// Inputs returns the operators whose solutions n works on, in a new slice.
func Inputs(n Node) []Node {
	switch n := n.(type) {
	// A copy, because the caller may change the result.
	case *Join:
		return append([]Node(nil), n.Args...)
	case *Union:
		return append([]Node(nil), n.Args...)
	case *LeftJoin:
		return []Node{n.Left, n.Right}
	case *Lateral:
		return []Node{n.Left, n.Right}
	case *Minus:
		return []Node{n.Left, n.Right}
	case *Filter:
		return []Node{n.Input}
	case *Graph:
		return []Node{n.Input}
	case *Extend:
		return []Node{n.Input}
	case *LinkRank:
		return []Node{n.Input}
	case *Group:
		return []Node{n.Input}
	case *OrderBy:
		return []Node{n.Input}
	case *Project:
		return []Node{n.Input}
	case *Distinct:
		return []Node{n.Input}
	case *Reduced:
		return []Node{n.Input}
	case *Slice:
		return []Node{n.Input}
	case *SemiJoin:
		return []Node{n.Input}
	case *Tally:
		return []Node{n.Rows}
	case *Top:
		return []Node{n.Input}
	case *Seek:
		return []Node{n.Input}
	}
	return nil
}

// WithInputs returns a copy of n over other inputs, one for each of [Inputs]. A leaf, and a Seek, whose
// input is of one kind, are returned as they are.
func WithInputs(n Node, inputs []Node) Node {
	// Each field is copied by its place, so a new one fails to compile here.
	switch n := n.(type) {
	case *Join:
		return &Join{inputs}
	case *Union:
		return &Union{inputs}
	case *LeftJoin:
		return &LeftJoin{inputs[0], inputs[1], n.Conds}
	case *Lateral:
		return &Lateral{inputs[0], inputs[1]}
	case *Minus:
		return &Minus{inputs[0], inputs[1]}
	case *Filter:
		return &Filter{inputs[0], n.Conds}
	case *Graph:
		return &Graph{n.Name, inputs[0]}
	case *Extend:
		return &Extend{inputs[0], n.Slot, n.Expr}
	case *LinkRank:
		return &LinkRank{inputs[0], n.LinkCall}
	case *Group:
		return &Group{inputs[0], n.Keys, n.Aggregates, n.DistinctBy}
	case *OrderBy:
		return &OrderBy{inputs[0], n.Keys}
	case *Project:
		return &Project{inputs[0], n.Slots}
	case *Distinct:
		return &Distinct{inputs[0]}
	case *Reduced:
		return &Reduced{inputs[0]}
	case *Slice:
		return &Slice{inputs[0], n.Offset, n.Limit, n.Skipped}
	case *SemiJoin:
		return &SemiJoin{inputs[0], n.Tests}
	case *Tally:
		return &Tally{inputs[0], n.Kind, n.Slot, n.Counts, n.Of, n.Pattern, n.Conds}
	case *Top:
		return &Top{inputs[0], n.Keys, n.Count}
	}
	return n
}

// Exprs returns the expressions of n itself, in a new slice: conditions, keys, aggregates and
// the value of Extend.
func Exprs(n Node) []ast.Expr {
	var exprs []ast.Expr
	// A Tally has none of its own: its conditions are those of its rows.
	switch n := n.(type) {
	case *LeftJoin:
		exprs = append(exprs, n.Conds...)
	case *Filter:
		exprs = append(exprs, n.Conds...)
	case *Extend:
		exprs = append(exprs, n.Expr)
	case *Group:
		for _, key := range n.Keys {
			exprs = append(exprs, key.Expr)
		}
		for _, a := range n.Aggregates {
			exprs = append(exprs, a.Agg)
		}
	case *OrderBy:
		for _, key := range n.Keys {
			exprs = append(exprs, key.Expr)
		}
	case *Top:
		for _, key := range n.Keys {
			exprs = append(exprs, key.Expr)
		}
	case *SemiJoin:
		for _, x := range n.Tests {
			exprs = append(exprs, x)
		}
	}
	return exprs
}

// Nodes of expressions.

package ast

import "github.com/trefoildb/trefoil/triple"

// Expr is an expression (SPARQL 1.1 Query, sections 17 and 19, rule 110): one of *[Var],
// *[Constant], *[Unary], *[Binary], *[In], *[Call], *[FunctionCall], *[Exists] and
// *[Aggregate]. No other type is an Expr. An Expr of a parsed tree must not be nil unless its
// field allows it.
type Expr interface {
	// Position returns the beginning of the expression; of a *Binary and an *In, the place of
	// its operator.
	Position() Pos
	expr()
}

// Unnumbered is the Slot of a [Var] and the Index of an [Exists] before package algebra has
// translated the tree.
const Unnumbered = -1

// Var is a variable as an expression.
type Var struct {
	Pos
	Name string // without "?" or "$"
	// Slot is the number of the variable in a solution. The parser leaves it [Unnumbered];
	// package algebra sets it in its copies of a query's expressions, because a solution is an
	// array of terms.
	Slot int
}

// Constant is an IRI or a literal as an expression; never a blank node.
type Constant struct {
	Pos
	Term triple.Term
}

// Unary is an operator with one operand: OpNot, OpMinus or OpPlus.
type Unary struct {
	Pos
	Op  Op
	Arg Expr
}

// Binary is an operator with two operands, one of OpOr to OpDivide. Operators of one rank lean
// to the left: a-b-c is (a-b)-c. If a number with a sign follows an operand, as in "?x -1", it
// is OpAdd or OpSubtract of the number without its sign: ?x - 1.
//
// OpOr and OpAnd have three-valued logic with errors (section 17.2).
type Binary struct {
	Pos         // of the operator
	Op          Op
	Left, Right Expr
}

// In is "Arg IN (List)", or NOT IN (sections 17.4.1.9 and 17.4.1.10). The list
// may be empty.
type In struct {
	Pos  // of IN or NOT
	Not  bool
	Arg  Expr
	List []Expr
}

// Call is a call of a function or functional form of the grammar (section 17.4).
// [Function.Arity] returns its number of arguments. The forms FuncBound (its argument must be a
// *Var), FuncIf and FuncCoalesce do not evaluate all arguments, or survive errors of theirs.
type Call struct {
	Pos
	Func Function
	Args []Expr
	// Base is, for FuncIRI only, the base IRI for the resolution of its argument; "" for none.
	Base string
}

// FunctionCall is a call of a function named by an IRI: a cast (section 17.5),
// such as xsd:integer(?x), or an extension function (section 17.6). Whether
// there is such a function is not the parser's to know.
type FunctionCall struct {
	Pos
	IRI      string
	Distinct bool // f(DISTINCT ...): only aggregates of an extension could mean it
	Args     []Expr
}

// Exists is EXISTS { ... } or NOT EXISTS { ... } (section 17.4.1.4). Evaluating
// it needs the store: the evaluator of expressions calls its environment.
type Exists struct {
	Pos
	Not   bool
	Group *Group
	// Index is the number of the translated pattern in the algebra's list of
	// such patterns. The parser leaves it [Unnumbered].
	Index int
}

// Aggregate is a set function over a group's solutions (section 18.5.1). It
// stands only in SELECT, HAVING and ORDER BY, and has no Aggregate inside.
// Package algebra puts a variable in its place, so an evaluator of
// expressions never meets it.
//
// A group computes aggregates with one text once. So a new field must be in the text (print_expr.go), in
// walk.go, in algebra's copy, and where DISTINCT is done below a group (package build).
type Aggregate struct {
	Pos
	Func     AggregateFunc
	Distinct bool
	Arg      Expr // nil for COUNT(*) and COUNT(DISTINCT *)
	// Separator is the one of GROUP_CONCAT: one space if none was written. "" for all others.
	Separator string
}

func (*Var) expr()          {}
func (*Constant) expr()     {}
func (*Unary) expr()        {}
func (*Binary) expr()       {}
func (*In) expr()           {}
func (*Call) expr()         {}
func (*FunctionCall) expr() {}
func (*Exists) expr()       {}
func (*Aggregate) expr()    {}

package ast

import "github.com/trefoildb/trefoil/triple"

// Expr is an expression (SPARQL 1.1 Query, sections 17 and 19, rule 110): one of
// *[Var], *[Constant], *[Unary], *[Binary], *[In], *[Call], *[FunctionCall],
// *[Exists] and *[Aggregate]. No other type is an Expr, and no Expr of a parsed
// tree is nil unless a field says that it may be.
type Expr interface {
	// Position returns where the expression begins; of a *Binary and an *In,
	// where its operator stands.
	Position() Pos
	expr()
}

// Unnumbered is the Slot of a [Var] and the Index of an [Exists] in a tree that
// package algebra has not translated.
const Unnumbered = -1

// Var is a variable as an expression.
type Var struct {
	Pos
	Name string // without "?" or "$"
	// Slot is the number of the variable in a solution. The parser leaves it
	// [Unnumbered]; package algebra sets it in the copies that it makes of a
	// query's expressions, so that a solution can be an array of terms.
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

// Binary is an operator with two operands, one of OpOr to OpDivide. Operators
// of one rank lean to the left: a-b-c is (a-b)-c. A number with a sign that
// follows an operand, as in "?x -1", is OpAdd or OpSubtract of the number without
// its sign: ?x - 1.
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

// Call is a call of a function or functional form that the grammar names
// (section 17.4). Its arguments are as many as [Function.Arity] says. The forms
// FuncBound (whose argument is a *Var), FuncIf and FuncCoalesce do not evaluate
// all arguments, or survive errors of theirs.
type Call struct {
	Pos
	Func Function
	Args []Expr
	// Base is, for FuncIRI only, the base IRI that its argument is resolved
	// against; "" for none.
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
// it needs the store: whoever evaluates expressions asks its environment.
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
// Package algebra puts a variable in its place, so that an evaluator of
// expressions never meets it.
type Aggregate struct {
	Pos
	Func     AggregateFunc
	Distinct bool
	Arg      Expr // nil for COUNT(*) and COUNT(DISTINCT *)
	// Separator is that of GROUP_CONCAT: one space where none was written. ""
	// for all others.
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

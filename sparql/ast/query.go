// Nodes of queries: forms, clauses and solution modifiers.

package ast

// Prologue holds the declarations of BASE and PREFIX. Only printing needs it, because a tree's
// IRIs are expanded.
type Prologue struct {
	Base     string   // absolute, "" for none; of several the last
	Prefixes []Prefix // each name once; of several declarations the last
}

// Prefix is the declaration of a prefix.
type Prefix struct {
	Name string // without the colon
	IRI  string // absolute
}

// Form is the form of a query.
type Form uint8

// The query forms (section 16).
const (
	Select Form = iota
	Construct
	Ask
	Describe
)

// String returns the form's keyword.
func (f Form) String() string { return [...]string{"SELECT", "CONSTRUCT", "ASK", "DESCRIBE"}[f] }

// NoLimit is the Limit of a query without one.
const NoLimit = -1

// Query is a query of any form, or a subquery. If it is a subquery, its Form must be Select,
// and it has no Prologue and no Dataset.
type Query struct {
	Pos      // of the form's keyword
	Prologue Prologue
	Form     Form

	// Of SELECT.
	Distinct, Reduced bool
	Items             []SelectItem // empty if Star is set
	// Star is SELECT * or DESCRIBE *.
	Star bool

	Template []TriplePattern // of CONSTRUCT; no paths
	Describe []Node          // of DESCRIBE: variables and IRIs; empty if Star is set

	Dataset []DatasetClause
	// Where is nil only if it is a DESCRIBE without a pattern.
	Where *Group

	GroupBy []GroupKey
	Having  []Expr // all must hold
	OrderBy []OrderKey
	Limit   int64 // NoLimit if there is none
	Offset  int64
	Values  *Values // the block after the modifiers; nil if there is none
}

// SelectItem is ?var, or (expr AS ?var).
type SelectItem struct {
	Expr Expr // nil for a variable alone
	Var  Node
}

// GroupKey is a key of GROUP BY: an expression, with a variable for its value or
// not. If ?var alone is written, Expr is that *Var and Var is zero.
type GroupKey struct {
	Expr Expr
	Var  Node // zero if there is no AS
}

// OrderKey is a key of ORDER BY.
type OrderKey struct {
	Expr       Expr
	Descending bool
}

// DatasetClause is FROM or FROM NAMED; in an update, USING or USING NAMED.
type DatasetClause struct {
	Pos
	Named bool
	IRI   string
}

// Aggregates reports whether q groups its solutions: it has GROUP BY, or an
// aggregate in SELECT, HAVING or ORDER BY.
func (q *Query) Aggregates() bool {
	if len(q.GroupBy) > 0 || len(q.Having) > 0 {
		return true
	}
	for _, item := range q.Items {
		if HasAggregate(item.Expr) {
			return true
		}
	}
	for _, key := range q.OrderBy {
		if HasAggregate(key.Expr) {
			return true
		}
	}
	return false
}

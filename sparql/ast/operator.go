// The operators of expressions and their ranks.

package ast

import "fmt"

// Op is an operator of expressions.
type Op uint8

// The operators. OpOr to OpDivide have two operands, OpNot to OpPlus one.
const (
	OpOr       Op = iota // ||
	OpAnd                // &&
	OpEqual              // =
	OpNotEqual           // !=
	OpLess               // <
	OpGreater            // >
	OpLessEq             // <=
	OpGreatEq            // >=
	OpAdd                // +
	OpSubtract           // -
	OpMultiply           // *
	OpDivide             // /
	OpNot                // !
	OpMinus              // - of one operand
	OpPlus               // + of one operand
)

var opText = [...]string{"||", "&&", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "!", "-", "+"}

// String returns the operator as SPARQL writes it.
func (o Op) String() string {
	if int(o) < len(opText) {
		return opText[o]
	}
	return fmt.Sprintf("operator %d", uint8(o))
}

// IsComparison reports whether o is one of = != < > <= >=.
func (o Op) IsComparison() bool { return o >= OpEqual && o <= OpGreatEq }

// IsArithmetic reports whether o is one of + - * / of two operands.
func (o Op) IsArithmetic() bool { return o >= OpAdd && o <= OpDivide }

// AggregateFunc is a set function.
type AggregateFunc uint8

// The set functions (section 18.5.1).
const (
	AggCount AggregateFunc = iota
	AggSum
	AggMin
	AggMax
	AggAvg
	AggSample
	AggGroupConcat
)

var aggregateNames = [...]string{"COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"}

// String returns the set function's keyword.
func (f AggregateFunc) String() string {
	if int(f) < len(aggregateNames) {
		return aggregateNames[f]
	}
	return fmt.Sprintf("aggregate %d", uint8(f))
}

// Transactions, as clients see them.

package history

import (
	"fmt"
	"strings"
)

// Kind is the kind of an operation.
type Kind uint8

// The kinds. A list and a counter of the same key have nothing in common.
const (
	Read   Kind = iota + 1 // reads a list
	Append                 // appends Value to a list
	Get                    // reads a counter
	Add                    // adds Value to a counter
)

// Op is one operation of a transaction.
type Op struct {
	Kind Kind
	Key  int
	// Value is the element of an Append, the amount of an Add, and the result of a Get. An element
	// must be unique among those of its key.
	Value int
	// List is the result of a Read. It includes what the same transaction has appended before.
	List []int
	// Torn says why the result of a Read or Get is of no state that transactions make; "" if it is of
	// one. The other results are then not set.
	Torn string
}

// String returns the operation as r(1)=[7 8], a(1,7), get(1)=5 or add(1,-5).
func (o Op) String() string {
	result := func(value any) string {
		if o.Torn != "" {
			return "torn"
		}
		return fmt.Sprint(value)
	}
	switch o.Kind {
	case Read:
		return fmt.Sprintf("r(%d)=%s", o.Key, result(o.List))
	case Append:
		return fmt.Sprintf("a(%d,%d)", o.Key, o.Value)
	case Get:
		return fmt.Sprintf("get(%d)=%s", o.Key, result(o.Value))
	case Add:
		return fmt.Sprintf("add(%d,%d)", o.Key, o.Value)
	}
	return fmt.Sprintf("kind%d(%d)", o.Kind, o.Key)
}

// Outcome is how a transaction ended.
type Outcome uint8

// The outcomes.
const (
	Unknown   Outcome = iota // it may be committed, now or later, or never
	Committed                // acknowledged
	Aborted                  // nothing of it was done, and never will be
)

// String returns the name of the outcome.
func (o Outcome) String() string {
	return [...]string{"unknown", "committed", "aborted"}[o]
}

// Txn is a transaction. Its number is its index in a history.
type Txn struct {
	// Process is the client that ran it. A process runs one transaction after the other.
	Process int
	Ops     []Op
	Outcome Outcome
	// Begin and End are ticks of the recorder's clock: the client sent nothing before Begin, and had the
	// answer before End. End counts only if the transaction is committed.
	Begin, End int
}

// String returns the transaction in one line: p0 [1,2] committed r(1)=[7] a(1,8).
func (t Txn) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "p%d [%d,%d] %s", t.Process, t.Begin, t.End, t.Outcome)
	for _, o := range t.Ops {
		b.WriteString(" " + o.String())
	}
	return b.String()
}

// Aggregates and their accumulators.

package expr

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Aggregate is a compiled set function (section 18.5.1).
//
// COUNT(expr) and SAMPLE skip a value if it is an error or unbound. In all others one such
// value makes the result an error. MIN and MAX go by the order of ORDER BY. If there are no
// values, COUNT, SUM and AVG are 0, GROUP_CONCAT is "", and MIN, MAX and SAMPLE are errors.
type Aggregate struct {
	function  ast.AggregateFunc
	distinct  bool
	separator string
	arg       *Expr // nil for COUNT(*)
	counted   int   // the slot of COUNT(?v); else negative
	slots     []int
}

// CompileAggregate compiles a. slots are those of a solution's variables, because
// COUNT(DISTINCT *) compares solutions by them.
func CompileAggregate(a *ast.Aggregate, scope Scope, slots []int) (*Aggregate, error) {
	c := &Aggregate{function: a.Func, distinct: a.Distinct, separator: a.Separator, slots: slots, counted: -1}
	if a.Arg == nil {
		return c, nil
	}
	if v, ok := a.Arg.(*ast.Var); ok && a.Func == ast.AggCount && !a.Distinct {
		c.counted = (&compiler{scope: scope}).slot(v)
	}
	var err error
	c.arg, err = Compile(a.Arg, scope)
	return c, err
}

// Accumulator is a set function over one group. It belongs to one goroutine.
type Accumulator struct {
	aggregate *Aggregate
	grow      func(bytes int) error
	count     int64
	value     Value // sum, least, greatest or sample
	kept      int   // bytes counted for value
	text      []byte
	seen      map[Digest]struct{} // with DISTINCT
	order     []string            // the values of seen, in order of arrival; none of COUNT
	key       []byte
}

// New returns an accumulator of an empty group. grow, if it is not nil, is
// called before the accumulator takes more bytes; if it returns an error, so does
// Add. The caller frees the bytes with the group.
func (a *Aggregate) New(grow func(bytes int) error) *Accumulator {
	acc := &Accumulator{aggregate: a, grow: grow}
	switch a.function {
	case ast.AggSum, ast.AggAvg:
		acc.value = FromInt(0)
	}
	return acc
}

// Add adds a solution. An error is one of grow, or of the env (see [Env.Err]).
func (acc *Accumulator) Add(env *Env, row Row) error {
	a := acc.aggregate
	// 1. COUNT(*) counts rows.
	if a.arg == nil {
		if a.distinct {
			fresh, err := acc.isNewRow(row)
			if err != nil || !fresh {
				return err
			}
		}
		acc.count++
		return nil
	}
	if a.counted >= 0 {
		if row.Bound(a.counted) {
			acc.count++
		}
		return nil
	}
	if acc.value.kind == Error {
		return nil // it stays one
	}
	// 2. Evaluate the argument. An error makes the aggregate an error, but COUNT and SAMPLE
	// skip it.
	v := a.arg.Eval(env, row)
	if env.err != nil {
		return env.err
	}
	if !v.IsBound() {
		if a.function != ast.AggCount && a.function != ast.AggSample {
			acc.value = v.asError()
		}
		return nil
	}
	if a.function == ast.AggSample && acc.value.IsBound() {
		return nil
	}
	// 3. DISTINCT takes each term once. MIN, MAX and SAMPLE are the same without it.
	if a.distinct && a.function != ast.AggMin && a.function != ast.AggMax && a.function != ast.AggSample {
		acc.key = triple.AppendWholeTerm(acc.key[:0], v.Term())
		if fresh, err := acc.isNew(); err != nil || !fresh {
			return err
		}
	}
	return acc.add(v)
}

// add adds a value after DISTINCT.
func (acc *Accumulator) add(v Value) error {
	switch acc.aggregate.function {
	case ast.AggSum, ast.AggAvg:
		acc.value = arithmetic(ast.OpAdd, acc.value, v)
	case ast.AggSample, ast.AggMin, ast.AggMax:
		if err := acc.choose(v); err != nil {
			return err
		}
	case ast.AggGroupConcat:
		if v.kind == Blank || v.kind == TripleTerm {
			acc.value = errType
			return nil
		}
		return acc.concat(v.lexical(), 1)
	}
	acc.count++
	return nil
}

// choose keeps v if it goes before the value kept: of SAMPLE the first,
// of MIN the least, of MAX the greatest.
func (acc *Accumulator) choose(v Value) error {
	if acc.value.IsBound() {
		switch c := acc.aggregate.function; {
		case c == ast.AggSample,
			c == ast.AggMin && Compare(v, acc.value) >= 0,
			c == ast.AggMax && Compare(v, acc.value) <= 0:
			return nil
		}
	}
	if more := len(v.term.Value()) - acc.kept; more > 0 {
		if err := acc.account(more); err != nil {
			return err
		}
		acc.kept += more
	}
	acc.value = v.Parsed()
	return nil
}

// concat appends text, the joined text of a number of values.
func (acc *Accumulator) concat(text string, values int64) error {
	more := len(text) + len(acc.aggregate.separator)
	if len(acc.text)+more > triple.MaxTermBytes {
		return fmt.Errorf("%w: GROUP_CONCAT: %s", ErrLimit, errLength.term.Value())
	}
	if err := acc.account(more); err != nil {
		return err
	}
	if acc.count > 0 {
		acc.text = append(acc.text, acc.aggregate.separator...)
	}
	acc.text = append(acc.text, text...)
	acc.count += values
	return nil
}

func (acc *Accumulator) account(bytes int) error {
	if acc.grow == nil {
		return nil
	}
	return acc.grow(bytes)
}

// valueBytes is the approximate size of an entry of [Accumulator].order without its text.
const valueBytes = 32

// isNew reports whether acc.key was not seen yet, and adds it to the set. COUNT keeps no values,
// because it only counts them.
func (acc *Accumulator) isNew() (bool, error) {
	if acc.aggregate.function == ast.AggCount {
		return acc.isNewDigest(DigestOf(acc.key), 0)
	}
	fresh, err := acc.isNewDigest(DigestOf(acc.key), len(acc.key)+valueBytes)
	if fresh {
		acc.order = append(acc.order, string(acc.key))
	}
	return fresh, err
}

// isNewDigest adds a digest to the set, with more bytes for its value, and reports whether it was
// not there.
func (acc *Accumulator) isNewDigest(d Digest, more int) (bool, error) {
	if _, ok := acc.seen[d]; ok {
		return false, nil
	}
	if err := acc.account(DigestBytes + more); err != nil {
		return false, err
	}
	if acc.seen == nil {
		acc.seen = make(map[Digest]struct{})
	}
	acc.seen[d] = struct{}{}
	return true, nil
}

func (acc *Accumulator) isNewRow(row Row) (bool, error) {
	acc.key = acc.key[:0]
	for _, slot := range acc.aggregate.slots {
		if row.Bound(slot) {
			acc.key, _ = triple.AppendTerm(acc.key, row.Value(slot).Term())
		}
		acc.key = append(acc.key, 0, 1) // never inside of a term
	}
	return acc.isNew()
}

// Result returns the value of the set function over all added rows.
func (acc *Accumulator) Result() Value {
	switch acc.aggregate.function {
	case ast.AggCount:
		return FromInt(acc.count)
	case ast.AggAvg:
		if acc.count == 0 || acc.value.kind == Error {
			return acc.value
		}
		return arithmetic(ast.OpDivide, acc.value, FromInt(acc.count))
	case ast.AggGroupConcat:
		if acc.value.kind == Error {
			return acc.value
		}
		return FromString(string(acc.text))
	}
	if acc.value.kind == Unbound {
		return errorValue("an aggregate of no values")
	}
	return acc.value
}

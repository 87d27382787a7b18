// The environment of an evaluation: clock, chance, EXISTS.

package expr

import (
	"errors"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/triple"
)

// Env is the input of expressions besides a row: each query's sources of time, randomness and
// nodes, and the state of an evaluation. It belongs to one goroutine. If a field is nil, its
// functions return errors.
type Env struct {
	// Now is the value of NOW(), one for a whole query. The zero Time is none.
	Now time.Time
	// Uint64 returns uniformly distributed random numbers, for RAND, UUID and
	// STRUUID: UUIDs are as unpredictable as it is.
	Uint64 func() uint64
	// NewBlank returns a blank node for BNODE. The node must be in no graph and no solution.
	NewBlank func() triple.Term
	// Exists reports whether the pattern of e has a solution compatible with row. Err returns
	// its error, for example if a store fails or the query is cancelled.
	Exists func(e *ast.Exists, row Row) (bool, error)

	err      error
	stack    []Value // arguments of the calls under way
	patterns map[string]compiled
	steps    int              // of all patterns
	blanks   map[string]Value // of this solution, by BNODE's argument
}

// compiled is a regular expression, or why there is none.
type compiled struct {
	re  *regex.Pattern
	err Value
}

// maxPatterns bounds the number of non-constant patterns kept compiled, and maxKeptSteps their
// steps together.
const (
	maxPatterns  = 256
	maxKeptSteps = 5 * regex.MaxSteps
)

// NextSolution must be called before the rows of another solution, because BNODE("a") is
// another blank node there. Expressions of one solution (those of one SELECT) are evaluated
// between two calls.
func (env *Env) NextSolution() {
	if len(env.blanks) > 0 {
		clear(env.blanks)
	}
}

// Err returns the first error other than SPARQL's: of Exists, [ErrLimit] or
// [regex.ErrUnsupported]. If it is not nil, the query must end with it, even if the expression
// had a value.
func (env *Env) Err() error { return env.err }

func (env *Env) newBlank() Value {
	if env.NewBlank == nil {
		return errorValue("BNODE is not to be had here")
	}
	return FromTerm(env.NewBlank())
}

func (env *Env) currentTime() Value {
	if env.Now.IsZero() {
		return errorValue("NOW is not to be had here")
	}
	return FromTime(env.Now)
}

func (env *Env) random() uint64 {
	if env.Uint64 == nil {
		env.fail(errors.New("no source of random numbers"))
		return 0
	}
	return env.Uint64()
}

func (env *Env) uuid() string { return formatUUID(env.random(), env.random()) }

func (env *Env) fail(err error) {
	if env.err == nil {
		env.err = err
	}
}

func (env *Env) exists(e *ast.Exists, row Row) (bool, error) {
	if env.Exists == nil {
		err := errors.New("EXISTS is not to be had here")
		env.fail(err)
		return false, err
	}
	found, err := env.Exists(e, row)
	if err != nil {
		env.fail(err)
	}
	return found, err
}

// pattern returns the compiled pattern with flags or without; nil and an error
// if there is none.
func (env *Env) pattern(args []Value) (*regex.Pattern, Value) {
	for _, v := range args {
		if v.kind != String {
			return nil, errType
		}
	}
	// 1. Look for the pattern under its text and flags.
	key := args[0].term.Value()
	if len(args) > 1 {
		key = args[1].term.Value() + "/" + key
	} else {
		key = "/" + key
	}
	if c, ok := env.patterns[key]; ok {
		return c.re, c.err
	}
	// 2. Compile it. Errors are kept too, because every row would meet them.
	re, err := patternOf(args)
	c, cost := compiled{re: re}, 0
	if re != nil {
		cost = re.Steps
	}
	if err != nil {
		c.err = errorValue(err.Error())
		if errors.Is(err, regex.ErrUnsupported) {
			env.fail(err)
		}
	}
	// 3. Patterns of the data may be many: if there are too many, all are dropped.
	if len(env.patterns) >= maxPatterns || env.steps+cost > maxKeptSteps {
		clear(env.patterns)
		env.steps = 0
	}
	env.steps += cost
	if env.patterns == nil {
		env.patterns = make(map[string]compiled)
	}
	env.patterns[strings.Clone(key)] = c
	return c.re, c.err
}

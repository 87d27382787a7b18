// Tests of the limits of one expression.

package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/triple"
)

// If an expression exceeds a limit, the query must end. An error of SPARQL would only leave a
// variable unbound.
func TestLimits(t *testing.T) {
	long := triple.NewString(strings.Repeat("a", triple.MaxTermBytes/2+1))
	short := triple.NewString(strings.Repeat("a", 600_000))
	text := func(s string) ast.Expr { return &ast.Constant{Term: triple.NewString(s)} }
	x, y := &ast.Var{}, &ast.Var{Slot: 1}
	call := func(f ast.Function, args ...ast.Expr) ast.Expr { return &ast.Call{Func: f, Args: args} }
	one := &ast.Constant{Term: triple.NewTyped("1", triple.XSD+"integer")}
	// As of a row: it is no constant.
	large := call(ast.FuncReplace, call(ast.FuncSubstr, y, one, one),
		text("a"), text(strings.Repeat("a{1000}", 25)))
	for name, test := range map[string]struct {
		expr ast.Expr
		want error
	}{
		"CONCAT":            {call(ast.FuncConcat, x, x), ErrLimit},
		"CONCAT, constant":  {call(ast.FuncConcat, &ast.Constant{Term: long}, &ast.Constant{Term: long}), ErrLimit},
		"within COALESCE":   {call(ast.FuncCoalesce, call(ast.FuncConcat, x, x), text("a")), ErrLimit},
		"REPLACE":           {call(ast.FuncReplace, y, text("aaaa"), text(strings.Repeat("b", 200))), ErrLimit},
		"REPLACE, matches":  {call(ast.FuncReplace, y, text("a"), text("b")), ErrLimit},
		"REPLACE, work":     {call(ast.FuncReplace, x, text("a{20}"), text("b")), ErrLimit},
		"REGEX, work":       {call(ast.FuncRegex, x, text("a{20}$")), ErrLimit},
		"ENCODE_FOR_URI":    {call(ast.FuncEncodeForURI, call(ast.FuncReplace, y, text("aaaa"), text(strings.Repeat(" ", 40)))), ErrLimit},
		"pattern of a row":  {call(ast.FuncRegex, text("a"), large), regex.ErrUnsupported},
		"CONCAT that fits":  {call(ast.FuncConcat, x), nil},
		"REPLACE that fits": {call(ast.FuncReplace, y, text("aaaa"), text("b")), nil},
	} {
		compiled, err := Compile(test.expr, Scope{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		env := &Env{}
		compiled.Eval(env, Terms{long, short})
		if err := env.Err(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// The size of written-out repetitions must be bounded, for one pattern and for all kept ones.
func TestRegexSteps(t *testing.T) {
	for pattern, supported := range map[string]bool{
		"(a+)+$":                      true,
		"a{1000}":                     true,
		"(a{1000}){1000}":             false,
		strings.Repeat("a{1000}", 19): true,
		strings.Repeat("a{1000}", 21): false,
		strings.Repeat("a", 8000):     true,
		strings.Repeat("a", 9000):     false,
		strings.Repeat("(", 2000) + strings.Repeat(")", 2000): false,
	} {
		_, err := regex.Compile(pattern, "")
		if supported != (err == nil) || err != nil && !errors.Is(err, regex.ErrUnsupported) {
			t.Errorf("%.40s: %v", pattern, err)
		}
	}
	env := &Env{}
	for i := range 50 {
		env.pattern([]Value{FromString(strings.Repeat("a{1000}", 10) + strings.Repeat("b", i))})
		if env.steps > maxKeptSteps || len(env.patterns) > maxKeptSteps/10_000+1 {
			t.Fatalf("%d patterns of %d steps are kept", len(env.patterns), env.steps)
		}
	}
}

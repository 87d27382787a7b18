// Tests of expressions as texts with their values.

package expr

import (
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// A test's expression is a function, operator or cast by name and its arguments as terms;
// "error" is an error as an argument, "unbound" an unbound variable.

var operators = map[string]ast.Op{"=": ast.OpEqual, "!=": ast.OpNotEqual, "<": ast.OpLess, ">": ast.OpGreater, "<=": ast.OpLessEq, ">=": ast.OpGreatEq,
	"+": ast.OpAdd, "-": ast.OpSubtract, "*": ast.OpMultiply, "/": ast.OpDivide, "||": ast.OpOr, "&&": ast.OpAnd}

// parseArgs reads the arguments of a test.
func parseArgs(t testing.TB, text string) []ast.Expr {
	t.Helper()
	var args []ast.Expr
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "error"); ok {
			args = append(args, &ast.Binary{Op: ast.OpDivide, Left: number("1"), Right: number("0")})
			text = strings.TrimLeft(rest, " ")
			continue
		}
		if rest, ok := strings.CutPrefix(text, "unbound"); ok {
			args = append(args, &ast.Var{Name: "none", Slot: ast.Unnumbered})
			text = strings.TrimLeft(rest, " ")
			continue
		}
		before := len(text)
		for end := 1; end <= len(text); end++ {
			if end < len(text) && text[end] != ' ' {
				continue
			}
			if term, err := triple.ParseTerm(text[:end]); err == nil {
				args = append(args, &ast.Constant{Term: term})
				text = strings.TrimLeft(text[end:], " ")
				break
			}
		}
		if len(text) == before {
			t.Fatalf("arguments %q: no term", text)
		}
	}
	return args
}

func number(s string) ast.Expr {
	return &ast.Constant{Term: triple.NewTyped(s, triple.XSDInteger)}
}

// build makes the expression of a test.
func build(t testing.TB, name, text string) ast.Expr {
	t.Helper()
	args := parseArgs(t, text)
	switch op, ok := operators[name]; {
	case ok && len(args) == 2:
		return &ast.Binary{Op: op, Left: args[0], Right: args[1]}
	case name == "!":
		return &ast.Unary{Op: ast.OpNot, Arg: args[0]}
	case name == "-" || name == "+":
		op := ast.OpMinus
		if name == "+" {
			op = ast.OpPlus
		}
		return &ast.Unary{Op: op, Arg: args[0]}
	case name == "IN" || name == "NOT IN":
		return &ast.In{Arg: args[0], List: args[1:], Not: name == "NOT IN"}
	case strings.HasPrefix(name, "xsd:"):
		return &ast.FunctionCall{IRI: triple.XSD + name[4:], Args: args}
	}
	for f := range ast.Function(ast.NumFunctions) {
		if f.String() == name {
			return &ast.Call{Func: f, Args: args, Base: "http://base.example/"}
		}
	}
	t.Fatalf("no function %q", name)
	return nil
}

func testEnv() *Env {
	seed := uint64(1)
	blanks := 0
	return &Env{
		Now:    time.Date(2026, 2, 3, 4, 5, 6, 700_000_000, time.UTC),
		Uint64: func() uint64 { seed = seed*6364136223846793005 + 1442695040888963407; return seed },
		NewBlank: func() triple.Term {
			blanks++
			return triple.NewBlank("n" + string(rune('0'+blanks)))
		},
	}
}

var testScope Scope

// eval evaluates in two ways: with constants folded, and with all of them in variables. The
// results must not differ.
func eval(t testing.TB, e ast.Expr) Value {
	t.Helper()
	x, err := Compile(e, testScope)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return x.Eval(testEnv(), Terms{})
}

type testCase struct{ name, args, want string }

func runTable(t *testing.T, table []testCase) {
	t.Helper()
	for _, c := range table {
		e := build(t, c.name, c.args)
		got := eval(t, e)
		if c.want == "error" {
			if got.IsBound() {
				t.Errorf("%s(%s) = %s, want an error", c.name, c.args, got.Term())
			}
		} else if want := wantTerm(t, c.want); got.Term() != want {
			t.Errorf("%s(%s) = %s (%v), want %s", c.name, c.args, got.Term(), got.Err(), want)
		}
		if again := evalVariables(t, e); again.Term() != got.Term() {
			t.Errorf("%s(%s) with variables = %s (%v), folded %s (%v)", c.name, c.args, again.Term(), again.Err(), got.Term(), got.Err())
		}
	}
}

func wantTerm(t testing.TB, text string) triple.Term {
	t.Helper()
	term, err := triple.ParseTerm(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return term
}

// evalVariables evaluates e with its constants in a row.
func evalVariables(t testing.TB, e ast.Expr) Value {
	t.Helper()
	var row Terms
	lift := func(x ast.Expr) ast.Expr {
		if c, ok := x.(*ast.Constant); ok {
			row = append(row, c.Term)
			return &ast.Var{Name: "v", Slot: len(row) - 1}
		}
		return x
	}
	liftAll := func(list []ast.Expr) []ast.Expr {
		out := make([]ast.Expr, len(list))
		for i, x := range list {
			out[i] = lift(x)
		}
		return out
	}
	switch e := e.(type) {
	case *ast.Binary:
		x, err := Compile(&ast.Binary{Op: e.Op, Left: lift(e.Left), Right: lift(e.Right)}, testScope)
		return mustEval(t, x, err, row)
	case *ast.Unary:
		x, err := Compile(&ast.Unary{Op: e.Op, Arg: lift(e.Arg)}, testScope)
		return mustEval(t, x, err, row)
	case *ast.In:
		x, err := Compile(&ast.In{Arg: lift(e.Arg), List: liftAll(e.List), Not: e.Not}, testScope)
		return mustEval(t, x, err, row)
	case *ast.FunctionCall:
		x, err := Compile(&ast.FunctionCall{IRI: e.IRI, Args: liftAll(e.Args)}, testScope)
		return mustEval(t, x, err, row)
	case *ast.Call:
		if e.Func == ast.FuncBound {
			return eval(t, e)
		}
		x, err := Compile(&ast.Call{Func: e.Func, Args: liftAll(e.Args), Base: e.Base}, testScope)
		return mustEval(t, x, err, row)
	}
	return eval(t, e)
}

func mustEval(t testing.TB, x *Expr, err error, row Terms) Value {
	t.Helper()
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return x.Eval(testEnv(), row)
}

// Benchmarks of expressions.

package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// parsedRow is a row whose values were parsed before.
type parsedRow []Value

func (r parsedRow) Value(slot int) Value { return r[slot] }
func (r parsedRow) Bound(slot int) bool  { return r[slot].IsBound() }

func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct{ name, x, y string }{
		{"integers", `30`, `35`}, {"decimals", `30.25`, `35.5`}, {"mixed", `30`, `35.5e0`}, {"strings", `"abc"`, `"abd"`},
		{"dateTimes", `"2000-01-01T00:00:00Z"^^xsd:dateTime`, `"2000-01-01T00:00:01Z"^^xsd:dateTime`}, {"big", `12345678901234567890`, `12345678901234567891.5`},
	} {
		x, y := FromTerm(wantTerm(b, c.x)), FromTerm(wantTerm(b, c.y))
		e, err := Compile(&ast.Binary{Op: ast.OpLess, Left: &ast.Var{Slot: 0}, Right: &ast.Var{Slot: 1}}, Scope{})
		if err != nil {
			b.Fatal(err)
		}
		env := testEnv()
		b.Run(c.name+"/parsed", func(b *testing.B) {
			var row Row = parsedRow{x.Parsed(), y.Parsed()}
			b.ReportAllocs()
			for range b.N {
				if !e.Test(env, row) {
					b.Fatal("not less")
				}
			}
		})
		b.Run(c.name+"/terms", func(b *testing.B) {
			var row Row = Terms{x.Term(), y.Term()}
			b.ReportAllocs()
			for range b.N {
				if !e.Test(env, row) {
					b.Fatal("not less")
				}
			}
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	age := &ast.Var{Slot: 0}
	name := &ast.Var{Slot: 1}
	between := &ast.Binary{Op: ast.OpAnd,
		Left:  &ast.Binary{Op: ast.OpGreatEq, Left: age, Right: number("30")},
		Right: &ast.Binary{Op: ast.OpLess, Left: age, Right: number("35")}}
	regex := &ast.Call{Func: ast.FuncRegex, Args: []ast.Expr{name, &ast.Constant{Term: triple.NewString("^A.*e$")}}}
	starts := &ast.Call{Func: ast.FuncStrStarts, Args: []ast.Expr{&ast.Call{Func: ast.FuncStr, Args: []ast.Expr{name}}, &ast.Constant{Term: triple.NewString("Al")}}}
	for _, c := range []struct {
		name string
		e    ast.Expr
	}{{"between", between}, {"regex", regex}, {"strstarts", starts}} {
		b.Run(c.name, func(b *testing.B) {
			x, err := Compile(c.e, Scope{})
			if err != nil {
				b.Fatal(err)
			}
			env := testEnv()
			var row Row = Terms{triple.NewTyped("33", triple.XSDInteger), triple.NewString("Alice")}
			b.ReportAllocs()
			for range b.N {
				if !x.Test(env, row) {
					b.Fatal("does not pass")
				}
			}
		})
	}
}

// BenchmarkRegex tests patterns on a comment of 500 bytes that lacks them, and on one that ends with
// them.
func BenchmarkRegex(b *testing.B) {
	lacks := strings.Repeat("Ein Text ueber dies und das, mit Worten. ", 12)
	for _, c := range []struct{ pattern, flags, ends string }{
		{"barrier", "", "barrier"}, {"barrier", "i", "Barrier"}, {"bookshelf", "i", "BOOKSHELF"},
		{"bar+ier", "i", "BARRRIER"}, {"word1.*word2", "", "word1 word2"}, {"(cat|dog) food", "i", "Dog food"},
	} {
		for _, text := range []string{lacks, lacks + c.ends} {
			b.Run(fmt.Sprintf("%s,%s/%v", c.pattern, c.flags, len(text) > len(lacks)), func(b *testing.B) {
				e := &ast.Call{Func: ast.FuncRegex, Args: []ast.Expr{&ast.Var{Slot: 0}, &ast.Constant{Term: triple.NewString(c.pattern)}, &ast.Constant{Term: triple.NewString(c.flags)}}}
				x, err := Compile(e, Scope{})
				if err != nil {
					b.Fatal(err)
				}
				env := testEnv()
				var row Row = parsedRow{FromTerm(triple.NewString(text)).Parsed()}
				b.ReportAllocs()
				for b.Loop() {
					if x.Test(env, row) != (len(text) > len(lacks)) {
						b.Fatal("wrong")
					}
				}
			})
		}
	}
}

func BenchmarkSum(b *testing.B) {
	a, err := CompileAggregate(&ast.Aggregate{Func: ast.AggSum, Arg: &ast.Var{Slot: 0}}, Scope{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	env, acc := testEnv(), a.New(nil)
	var row Row = Terms{triple.NewTyped("12.25", triple.XSDDecimal)}
	b.ReportAllocs()
	for range b.N {
		if err := acc.Add(env, row); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSortKey(b *testing.B) {
	v := FromTerm(triple.NewTyped("12.25", triple.XSDDecimal))
	var key []byte
	b.ReportAllocs()
	for range b.N {
		key, _ = AppendSortKey(key[:0], v, false)
	}
}

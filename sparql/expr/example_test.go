// Examples of the package.

package expr_test

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

func ExampleCompile() {
	// ?age * 2 >= 60
	age := &ast.Var{Name: "age", Slot: 0}
	integer := func(s string) ast.Expr { return &ast.Constant{Term: triple.NewTyped(s, triple.XSDInteger)} }
	x, err := expr.Compile(&ast.Binary{
		Op:    ast.OpGreatEq,
		Left:  &ast.Binary{Op: ast.OpMultiply, Left: age, Right: integer("2")},
		Right: integer("60"),
	}, expr.Scope{})
	if err != nil {
		fmt.Println(err)
		return
	}
	env := &expr.Env{}
	for _, lexical := range []string{"29.5", "30", "old"} {
		row := expr.Terms{triple.NewTyped(lexical, triple.XSDDecimal)}
		fmt.Println(lexical, x.Test(env, row), x.Eval(env, row).Err())
	}
	// Output:
	// 29.5 false <nil>
	// 30 true <nil>
	// old false an operand of the wrong type
}

func ExampleRestrict() {
	// ?age > 30
	r, ok := expr.Restrict(&ast.Binary{
		Op:    ast.OpGreater,
		Left:  &ast.Var{Name: "age"},
		Right: &ast.Constant{Term: triple.NewTyped("30", triple.XSDInteger)},
	})
	fmt.Println(ok, r.Var.Name, r.Ranges[0].GT, r.Exact)
	// Output: true age "30"^^<http://www.w3.org/2001/XMLSchema#integer> false
}

// The naive evaluation of groups and solution modifiers.

package sparql_test

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// modify evaluates groups and solution modifiers.
func (n naive) modify(node algebra.Node) []expr.Terms {
	switch node := node.(type) {
	case *algebra.Distinct:
		seen := map[string]bool{}
		return slices.DeleteFunc(n.evalAlone(node.Input), func(row expr.Terms) bool {
			key := fmt.Sprint(row)
			defer func() { seen[key] = true }()
			return seen[key]
		})
	case *algebra.Slice:
		rows := n.evalAlone(node.Input)
		rows = rows[min(node.Offset, int64(len(rows))):]
		if node.Limit != ast.NoLimit {
			rows = rows[:min(node.Limit, int64(len(rows)))]
		}
		return rows
	case *algebra.OrderBy:
		rows := n.eval(node.Input)
		slices.SortStableFunc(rows, func(a, b expr.Terms) int {
			for _, key := range node.Keys {
				c := expr.Compare(n.value(key.Expr, a), n.value(key.Expr, b))
				if key.Descending {
					c = -c
				}
				if c != 0 {
					return c
				}
			}
			return 0
		})
		return rows
	case *algebra.Group:
		return n.group(node)
	}
	panic(fmt.Sprintf("naive: %T", node))
}

func (n naive) value(e ast.Expr, row expr.Terms) expr.Value {
	x, err := expr.Compile(e, expr.Scope{})
	if err != nil {
		panic(err)
	}
	return x.Eval(n.env(), row)
}

func (n naive) group(node *algebra.Group) []expr.Terms {
	groups := map[string][]expr.Terms{}
	keys := map[string]expr.Terms{}
	if len(node.Keys) == 0 {
		groups[""], keys[""] = nil, make(expr.Terms, n.width)
	}
	for _, row := range n.eval(node.Input) {
		key := make(expr.Terms, n.width) // without the seed
		text := ""
		for _, k := range node.Keys {
			key[k.Slot] = n.value(k.Expr, row).Term()
			text += fmt.Sprint(key[k.Slot]) + "\n"
		}
		groups[text], keys[text] = append(groups[text], row), key
	}
	var out []expr.Terms
	for text, rows := range groups {
		row := slices.Clone(keys[text])
		for _, one := range node.Aggregates {
			all := make([]int, n.width)
			for i := range all {
				all[i] = i
			}
			a, err := expr.CompileAggregate(one.Agg, expr.Scope{}, all)
			if err != nil {
				panic(err)
			}
			acc := a.New(nil)
			for _, member := range rows {
				if err := acc.Add(n.env(), member); err != nil {
					panic(err)
				}
			}
			if v := acc.Result(); v.IsBound() {
				row[one.Slot] = v.Term()
			} else {
				row[one.Slot] = triple.Term{}
			}
		}
		out = append(out, row)
	}
	return out
}

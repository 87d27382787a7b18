// The parts of a join's patterns that only other arguments of the join link.

package plan

import (
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
)

// component are patterns that share variables, of themselves or by an equality.
type component struct {
	patterns []algebra.TriplePattern
	vars     algebra.Set
	rows     float64 // of the smallest pattern
}

// components splits patterns into those that share no variables, because their join is a product. A path may
// link them: then it should run between them. All variables of in count as shared. The one that in is part
// of comes first, then the others by size.
func (c *compiler) components(patterns []algebra.TriplePattern, in stream, g pattern.Graphs) (list []component, err error) {
	merge := func(patterns []algebra.TriplePattern, vars algebra.Set) {
		one := component{patterns: patterns, vars: vars}
		list = slices.DeleteFunc(list, func(other component) bool {
			linked := one.vars.Len() == 0 || other.vars.Intersect(one.vars).Len() > 0
			if linked {
				one.patterns, one.vars = append(other.patterns, one.patterns...), union(one.vars, other.vars)
			}
			return linked
		})
		list = append(list, one)
	}
	// 1. Patterns, and what links them.
	if in.possible.Len() > 0 {
		merge(nil, in.possible)
	}
	for _, p := range patterns {
		_, vars := algebra.Vars(&algebra.BGP{Patterns: []algebra.TriplePattern{p}})
		merge([]algebra.TriplePattern{p}, vars)
	}
	for _, one := range c.unfolds {
		merge(nil, with(one.inner, one.node.Slot))
	}
	for _, w := range c.waiting {
		if w.left >= 0 && !w.done {
			merge(nil, w.uses)
		}
	}
	// 2. Their sizes.
	list = slices.DeleteFunc(list, func(one component) bool { return len(one.patterns) == 0 })
	for i := range list {
		if len(list) > 1 && list[i].vars.Intersect(in.possible).Len() == 0 {
			if list[i].rows, err = c.patternRows(list[i].patterns, g); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(list, func(a, b component) int { return cmp.Compare(a.rows, b.rows) })
	return list, nil
}

// nextComponent takes the next component out of a list: one that shares a variable with in, or the first.
// ok is false if none shares one, and linked is wanted.
func nextComponent(list *[]component, in stream, linked bool) (next component, ok bool) {
	i := slices.IndexFunc(*list, func(one component) bool { return one.vars.Intersect(in.certain).Len() > 0 })
	if i < 0 && !linked {
		i = 0
	}
	if i < 0 || len(*list) == 0 {
		return component{}, false
	}
	next = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return next, true
}

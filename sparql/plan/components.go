// The parts of a join's patterns that only other arguments of the join link.

package plan

import (
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// component are patterns that share variables, of themselves or by an equality.
type component struct {
	patterns []algebra.TriplePattern
	slots    []int   // of the variables, perhaps more than once
	rows     float64 // of the smallest pattern
}

// sharesOne reports whether a set has a variable of the component.
func (one *component) sharesOne(s algebra.Set) bool { return slices.ContainsFunc(one.slots, s.Has) }

// components splits the patterns into those that share no variables, because their join is a product. A path may
// link them: then it should run between them. All variables of the rows count as shared. The parts come by
// size.
func (j *joinPlan) components() (err error) {
	patterns := j.patterns
	// 1. Patterns, and what links them, are one if they lead to the same root. A pattern without variables
	// belongs to the patterns before it.
	roots := make([]int, len(patterns))
	root := func(i int) int {
		for roots[i] != i {
			roots[i] = roots[roots[i]] // halves the way for the next one
			i = roots[i]
		}
		return i
	}
	of := map[int]int{} // by variable: a pattern or another thing with it
	link := func(i int, slots []int) {
		for _, slot := range slots {
			if other, ok := of[slot]; ok {
				roots[root(i)] = root(other)
			} else {
				of[slot] = i
			}
		}
	}
	places := make([][]int, len(patterns))
	for i, p := range patterns {
		_, vars := algebra.Vars(&algebra.BGP{Patterns: []algebra.TriplePattern{p}})
		places[i], roots[i] = vars.Slots(), i
		link(i, places[i])
		for before := i - 1; before >= 0 && len(places[i]) == 0; before-- {
			roots[root(before)] = root(i)
			if len(places[before]) == 0 {
				break // it has united those before it
			}
		}
	}
	also := func(slots []int) {
		roots = append(roots, len(roots))
		link(len(roots)-1, slots)
	}
	also(j.in.Possible.Slots())
	for _, one := range j.At.Unfolds {
		also(append(one.Parts[:len(one.Parts):len(one.Parts)], one.Node.Slot))
	}
	for _, w := range j.At.Waiting {
		if w.Left >= 0 && !w.Done {
			also(w.Uses)
		}
	}
	// 2. Collect them, and their sizes.
	var list []component
	at := map[int]int{}
	for i, p := range patterns {
		n, ok := at[root(i)]
		if !ok {
			n = len(list)
			at[root(i)] = n
			list = append(list, component{})
		}
		list[n].patterns, list[n].slots = append(list[n].patterns, p), append(list[n].slots, places[i]...)
	}
	for i := range list {
		if len(list) > 1 && !list[i].sharesOne(j.in.Possible) {
			if list[i].rows, err = j.Estimator.PatternRows(list[i].patterns, j.At.Graphs, j.At.Ranges); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(list, func(a, b component) int { return cmp.Compare(a.rows, b.rows) })
	j.apart = list
	return nil
}

// nextComponent takes the next component: one that shares a variable with the rows, or the first.
// ok is false if none shares one, and linked is wanted.
func (j *joinPlan) nextComponent(linked bool) (next component, ok bool) {
	i := slices.IndexFunc(j.apart, func(one component) bool { return one.sharesOne(j.in.Certain) })
	if i < 0 && !linked {
		i = 0
	}
	if i < 0 || len(j.apart) == 0 {
		return component{}, false
	}
	next = j.apart[i]
	j.apart = slices.Delete(j.apart, i, i+1)
	return next, true
}

// startsFirst puts the components with pages that samples start from before the others: a sample links them
// in one direction only.
func startsFirst(apart []component, functions []algebra.Node) {
	var pages algebra.Set
	for _, n := range functions {
		call, ok := n.(*algebra.LinkJoin)
		if ok && call.Page.IsVar() && (call.Function == ast.LinkSample || call.Function == ast.LinkSampleBackward) {
			pages.Add(call.Page.Slot)
		}
	}
	count := func(one component) int { return algebra.SetOf(one.slots...).Intersect(pages).Len() }
	if pages.Len() > 0 {
		slices.SortStableFunc(apart, func(a, b component) int { return -cmp.Compare(count(a), count(b)) })
	}
}

// OFFSET over a pattern: the scan begins behind most of what is to be skipped.

package optimize

import (
	"sort"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// minSkip is the least offset for which the columns are read.
const minSkip = 1000

// MaxListed is how many predicates a plan reads one by one. If there are more, rows are read.
const MaxListed = 1000

// offset begins the scan of one pattern, in the order of the store or of one variable, near the offset of a slice.
func offset(_ *passes, n algebra.Node, at place) algebra.Node {
	slice, ok := n.(*algebra.Slice)
	if !ok || slice.Offset < minSkip || at.columns == nil || at.outer {
		return n
	}
	project, ok := slice.Input.(*algebra.Project)
	if !ok {
		return n
	}
	out := *slice
	if sorted, ok := project.Input.(*algebra.OrderBy); ok {
		seek, skipped := at.seekSorted(sorted, slice.Offset)
		if seek == nil {
			return n
		}
		out.Skipped = skipped
		out.Input = &algebra.Project{Input: &algebra.OrderBy{Input: seek, Keys: sorted.Keys}, Slots: project.Slots}
		return &out
	}
	seek, skipped := at.seek(project.Input, slice.Offset)
	if seek == nil {
		return n
	}
	out.Skipped = skipped
	out.Input = &algebra.Project{Input: seek, Slots: project.Slots}
	return &out
}

// seek returns a scan of all triples that begins near an offset, and how many it skips; nil if n is anything else, or
// the columns do not have all triples.
func (at place) seek(n algebra.Node, offset int64) (seek *algebra.Seek, skipped int64) {
	one := lonePattern(n)
	if _, vars := algebra.Vars(n); one == nil || vars.Len() < 3 {
		return nil, 0
	}
	predicates, rows, ok := at.columns.All()
	if !ok || len(predicates) > MaxListed || rows == 0 {
		return nil, 0
	}
	number, before, ok := at.columns.SubjectAt(int(min(offset, int64(rows))))
	if !ok {
		return nil, 0
	}
	_, end := triple.NodeSpan()
	return &algebra.Seek{Input: n.(*algebra.BGP), Slot: one.Subject.Slot, Lo: at.columns.Dictionary().Append(nil, number), Hi: end}, int64(before)
}

// seekSorted is seek for a pattern in the order of one of its variables. The sequence of the store is that of
// ORDER BY before [expr.UnorderedTag], and equal values stand together.
func (at place) seekSorted(n *algebra.OrderBy, offset int64) (seek *algebra.Seek, skipped int64) {
	// 1. The column must have the terms of the variable, all of them short. No order has the subjects of a predicate
	// in sequence.
	one := lonePattern(n.Input)
	v, isVar := n.Keys[0].Expr.(*ast.Var)
	if one == nil || !isVar || len(n.Keys) > 1 || !one.Subject.IsVar() || !one.Object.IsVar() || one.Object.Slot != v.Slot {
		return nil, 0
	}
	column, ok := at.column(one)
	if !ok || column.LongObjects || !column.ByObject.Packed() {
		return nil, 0
	}
	lists := &column.ByObject
	seek = &algebra.Seek{Input: n.Input.(*algebra.BGP), Slot: v.Slot}
	// 2. Skip the keys whose values all lie within the offset.
	terms := at.columns.Dictionary()
	ordered, _ := lists.Count(0, terms.Spans(nil, nil, []byte{expr.UnorderedTag})[0][1])
	if n.Keys[0].Descending {
		keys := sort.Search(lists.Keys(), func(i int) bool { return int64(lists.Values())-valuesBefore(lists, i) <= offset })
		if ordered < lists.Keys() || keys == lists.Keys() {
			return nil, 0
		}
		seek.Hi = terms.Append(nil, lists.Key(keys))
		return seek, int64(lists.Values()) - valuesBefore(lists, keys)
	}
	keys := min(sort.Search(lists.Keys(), func(i int) bool { return valuesBefore(lists, i+1) > offset }), ordered, lists.Keys()-1)
	if keys <= 0 {
		return nil, 0
	}
	seek.Lo, seek.Hi = terms.Append(nil, lists.Key(keys)), []byte{0xff}
	return seek, valuesBefore(lists, keys)
}

// valuesBefore returns how many values the keys before a place have. The lists must be packed.
func valuesBefore(l *columns.Lists, place int) int64 {
	if place == l.Keys() {
		return int64(l.Values())
	}
	lo, _ := l.Bounds(place)
	return int64(lo)
}

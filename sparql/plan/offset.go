// OFFSET over a pattern: the scan begins behind most of what is to be skipped.

package plan

import (
	"sort"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// minSkip is the least offset for which the columns are asked.
const minSkip = 1000

// skip returns the restriction with which a scan of one pattern begins near an offset, and what is left of
// the offset. It is nil if n is not a projection of one pattern, in the order of the store or of one
// variable, or the columns do not know the pattern.
func (c *compiler) skip(n algebra.Node, offset int64, g pattern.Graphs) (from map[int]pattern.Restriction, left int64) {
	project, ok := n.(*algebra.Project)
	if !ok || offset < minSkip {
		return nil, offset
	}
	if sorted, ok := project.Input.(*algebra.OrderBy); ok {
		return c.skipSorted(sorted, offset, g)
	}
	l, ok := c.lonePattern(project.Input, g)
	if !ok {
		return nil, offset
	}
	predicates, rows, ok := l.everything()
	if !ok || len(predicates) > maxListed || rows == 0 {
		return nil, offset
	}
	number, before, ok := c.columns.SubjectAt(int(min(offset, int64(rows))))
	if !ok {
		return nil, offset
	}
	_, end := triple.NodeSpan()
	return spanOf(l.node.Subject.Slot, c.columns.Dictionary().Append(nil, number), end), offset - int64(before)
}

// spanOf restricts a variable to one span.
func spanOf(slot int, lo, hi []byte) map[int]pattern.Restriction {
	return map[int]pattern.Restriction{slot: {Spans: []pattern.Span{{Lo: lo, Hi: hi}}}}
}

// skipSorted is skip for a pattern in the order of one of its variables. The sequence of the store is that of
// ORDER BY before [exec.TagOther], and equal values stand together: see [exec.OrderBy].
func (c *compiler) skipSorted(n *algebra.OrderBy, offset int64, g pattern.Graphs) (from map[int]pattern.Restriction, left int64) {
	// 1. The column must have the terms of the variable, all of them short.
	l, ok := c.lonePattern(n.Input, g)
	v, isVar := n.Keys[0].Expr.(*ast.Var)
	if !ok || !isVar || len(n.Keys) > 1 {
		return nil, offset
	}
	lists, long := l.columnTerms(v.Slot)
	if lists == nil || long || !lists.Packed() || l.pat.Places[triple.Object].Slot != v.Slot {
		return nil, offset // no order has the subjects of a predicate in sequence
	}
	// 2. Skip the keys whose values all lie within the offset.
	terms := c.columns.Dictionary()
	other, _ := lists.Count(0, terms.Spans(nil, nil, []byte{exec.TagOther})[0][1])
	if n.Keys[0].Descending {
		keys := sort.Search(lists.Keys(), func(i int) bool { return int64(lists.Values())-before(lists, i) <= offset })
		if other < lists.Keys() || keys == lists.Keys() {
			return nil, offset
		}
		return spanOf(v.Slot, nil, terms.Append(nil, lists.Key(keys))), offset - int64(lists.Values()) + before(lists, keys)
	}
	keys := min(sort.Search(lists.Keys(), func(i int) bool { return before(lists, i+1) > offset }), other, lists.Keys()-1)
	if keys <= 0 {
		return nil, offset
	}
	return spanOf(v.Slot, terms.Append(nil, lists.Key(keys)), []byte{0xff}), offset - before(lists, keys)
}

// before returns how many values the keys before a place have. The lists must be packed.
func before(l *columns.Lists, place int) int64 {
	if place == l.Keys() {
		return int64(l.Values())
	}
	lo, _ := l.Bounds(place)
	return int64(lo)
}

// Counts and distinct terms of a single pattern over a column.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// numberRow returns an operator that gives a number in slots.
func (l lonePattern) numberRow(number int, slots ...int) stream {
	out := stream{rows: 1}
	for _, slot := range slots {
		out.bind(slot)
	}
	return l.c.traced(out, &exec.NumberRow{Exec: l.c.query, Number: int64(number), Slots: slots}, "count of a column", l.c.body.Scope.Pattern(l.node))
}

// knownCount answers COUNT of all rows, if the pattern has a column.
func (l lonePattern) knownCount(aggregates []algebra.Aggregate) (stream, bool) {
	col := l.c.column(l.pat)
	if col == nil {
		return stream{}, false
	}
	var slots []int
	for _, a := range aggregates {
		slots = append(slots, a.Slot)
	}
	return l.numberRow(col.rows(), slots...), true
}

// columnTerms returns the lists whose keys are the terms of a variable; nil if the pattern has no column,
// or a term beside the variable. long means that some of the terms may be long.
func (l lonePattern) columnTerms(slot int) (lists *columns.Lists, long bool) {
	col := l.c.column(l.pat)
	switch {
	case col == nil || col.subject.term || col.object.term:
		return nil, false
	case l.pat.Places[triple.Subject].Slot == slot:
		return &col.BySubject, col.LongSubjects
	case l.pat.Places[triple.Object].Slot == slot:
		return &col.ByObject, col.LongObjects
	}
	return nil, false
}

// termsOf returns an operator over the keys of lists, none of which is long, with the number of their values in counts.
func (l lonePattern) termsOf(lists *columns.Lists, slot int, counts []int) stream {
	out := stream{rows: float64(max(lists.Keys(), 1))}
	for _, one := range append([]int{slot}, counts...) {
		out.bind(one)
	}
	out.numbers = setOf([]int{slot})
	op := &exec.ColumnTerms{Exec: l.c.query, Lists: lists, Slot: slot, Counts: counts}
	name := "terms of a column"
	if len(counts) > 0 {
		name = "count of each term of a column"
	}
	out = l.c.traced(out, op, name, l.c.body.Scope.Pattern(l.node))
	op.Plan = out.plan
	return out
}

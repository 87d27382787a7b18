// Columns of patterns: what is known without reading rows.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// column is the column of a pattern, with what the pattern says of both ends.
type column struct {
	*columns.Column
	subject, object columnEnd
}

// columnEnd is the subject or the object of a pattern over a column.
type columnEnd struct {
	term   bool
	number uint32 // of the term; 0 if no column has it
	// spans restrict the numbers of a variable: from [0] up to [1] of each. nil means all.
	spans [][2]uint32
}

// column returns the column of a pattern; nil if its rows must be read. It needs the default graph, a
// predicate with a column and two different ends.
func (q *query) column(pat *pattern.Pattern) *column {
	subject, predicate, object := &pat.Places[triple.Subject], &pat.Places[triple.Predicate], &pat.Places[triple.Object]
	if q.columns == nil || predicate.Key == "" || pat.Graphs.Mode != pattern.DefaultGraph || subject.Slot >= 0 && subject.Slot == object.Slot {
		return nil
	}
	of, ok := q.columns.Column(predicate.Key)
	if !ok {
		return nil
	}
	terms := q.columns.Dictionary()
	return &column{of, endOf(terms, pat, triple.Subject), endOf(terms, pat, triple.Object)}
}

// endOf returns an end of a pattern.
func endOf(terms *columns.Dictionary, pat *pattern.Pattern, position int) (e columnEnd) {
	if at := &pat.Places[position]; at.Slot < 0 {
		e.term = true
		e.number = terms.Number([]byte(at.Key))
		return e
	}
	spans := pat.Restricted(position)
	if spans == nil {
		return e
	}
	e.spans = [][2]uint32{}
	for _, s := range spans {
		e.spans = terms.Spans(e.spans, s.Lo, s.Hi)
	}
	return e
}

// count returns how many keys and values of lists have a key that an end allows.
func (e *columnEnd) count(l *columns.Lists) (keys, values int) {
	switch {
	case e.term:
		if i, ok := l.Find(e.number, 0); ok {
			lo, hi := l.Bounds(i)
			return 1, hi - lo
		}
		return 0, 0
	case e.spans == nil:
		return l.Keys(), l.Values()
	}
	for _, s := range e.spans {
		k, v := l.Count(s[0], s[1])
		keys, values = keys+k, values+v
	}
	return keys, values
}

// rows returns how many triples match the pattern. If a variable is restricted, it returns an upper bound.
func (col *column) rows() int {
	_, bySubject := col.subject.count(&col.BySubject)
	_, byObject := col.object.count(&col.ByObject)
	if !col.subject.term || !col.object.term {
		return min(bySubject, byObject)
	}
	l := &col.BySubject
	if i, ok := l.Find(col.subject.number, 0); ok {
		lo, hi := l.Bounds(i)
		if j := l.FindValue(lo, hi, col.object.number); j < hi && l.Value(j) == col.object.number {
			return 1
		}
	}
	return 0
}

// measure sets the rows of a candidate and how many terms they have.
func (one *candidate) measure() {
	col := one.column
	subjects, _ := col.subject.count(&col.BySubject)
	objects, _ := col.object.count(&col.ByObject)
	rows := col.rows()
	one.rows = max(float64(rows), leastRows)
	one.distinct[triple.Subject] = max(float64(min(subjects, rows)), leastRows)
	one.distinct[triple.Object] = max(float64(min(objects, rows)), leastRows)
}

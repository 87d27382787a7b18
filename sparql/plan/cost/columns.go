// Columns of patterns: what is known without reading rows.

package cost

import (
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// Column is the column of a pattern, with what the pattern says of both ends.
type Column struct {
	*columns.Column
	Subject, Object End
}

// End is the subject or the object of a pattern over a column.
type End struct {
	Term   bool
	Number uint32 // of the term; 0 if no column has it
	// Spans restrict the numbers of a variable: from [0] up to [1] of each. nil means all.
	Spans [][2]uint32
}

// Column returns the column of a pattern; nil if its rows must be read. It needs the default graph, a
// predicate with a column and two different ends.
func (e *Estimator) Column(pat *pattern.Pattern) *Column {
	subject, predicate, object := &pat.Places[triple.Subject], &pat.Places[triple.Predicate], &pat.Places[triple.Object]
	if e.Columns == nil || predicate.Key == "" || pat.Graphs.Mode != pattern.DefaultGraph || subject.Slot >= 0 && subject.Slot == object.Slot {
		return nil
	}
	of, ok := e.Columns.Column(predicate.Key)
	if !ok {
		return nil
	}
	terms := e.Columns.Dictionary()
	return &Column{of, endOf(terms, pat, triple.Subject), endOf(terms, pat, triple.Object)}
}

// endOf returns an end of a pattern.
func endOf(terms *columns.Dictionary, pat *pattern.Pattern, position int) (e End) {
	if at := &pat.Places[position]; at.Slot < 0 {
		e.Term = true
		e.Number = terms.Number([]byte(at.Key))
		return e
	}
	spans := pat.Restricted(position)
	if spans == nil {
		return e
	}
	e.Spans = [][2]uint32{}
	for _, s := range spans {
		e.Spans = terms.Spans(e.Spans, s.Lo, s.Hi)
	}
	return e
}

// Count returns how many keys and values of lists have a key that an end allows.
func (e *End) Count(l *columns.Lists) (keys, values int) {
	switch {
	case e.Term:
		if i, ok := l.Find(e.Number, 0); ok {
			lo, hi := l.Bounds(i)
			return 1, hi - lo
		}
		return 0, 0
	case e.Spans == nil:
		return l.Keys(), l.Values()
	}
	for _, s := range e.Spans {
		k, v := l.Count(s[0], s[1])
		keys, values = keys+k, values+v
	}
	return keys, values
}

// Rows returns how many triples match the pattern. If a variable is restricted, it returns an upper bound.
func (col *Column) Rows() int {
	_, bySubject := col.Subject.Count(&col.BySubject)
	_, byObject := col.Object.Count(&col.ByObject)
	if !col.Subject.Term || !col.Object.Term {
		return min(bySubject, byObject)
	}
	l := &col.BySubject
	if i, ok := l.Find(col.Subject.Number, 0); ok {
		lo, hi := l.Bounds(i)
		if j := l.FindValue(lo, hi, col.Object.Number); j < hi && l.Value(j) == col.Object.Number {
			return 1
		}
	}
	return 0
}

// measure sets the rows of a candidate and how many terms they have.
func (one *Candidate) measure() {
	col := one.Column
	subjects, _ := col.Subject.Count(&col.BySubject)
	objects, _ := col.Object.Count(&col.ByObject)
	rows := col.Rows()
	one.Rows = max(float64(rows), LeastRows)
	one.Distinct[triple.Subject] = max(float64(min(subjects, rows)), LeastRows)
	one.Distinct[triple.Object] = max(float64(min(objects, rows)), LeastRows)
}

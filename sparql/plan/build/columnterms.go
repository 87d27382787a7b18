// Tallies that a column, or all columns together, know: numbers of rows, and terms.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/columnjoin"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/triple"
)

// columnNumber answers with a number that the columns have: of rows, or of different terms.
func (t *tally) columnNumber() (Stream, bool, error) {
	number, ok := 0, false
	col := t.p.Column(t.pat)
	predicates, rows, all := t.allTriples()
	switch {
	case t.node.Kind == algebra.TallyRows && col != nil:
		number, ok = col.Rows(), true
	case t.node.Kind == algebra.TallyRows:
		number, ok = rows, all
	default:
		if lists, _ := t.lists(t.node.Slot); lists != nil {
			number, ok = lists.Keys(), true
		} else if t.ofPredicates() {
			number, ok = len(predicates), all
		}
	}
	if !ok {
		return Stream{}, false, nil
	}
	op := &columnjoin.NumberRow{Exec: t.p.Exec, Number: int64(number), Slots: t.node.Counts}
	return t.p.Traced(t.binding(1), op, "count of a column", t.p.patternText(t.node.Pattern)), true, nil
}

// allTriples returns the predicates and the number of triples of the default graph, if the pattern is of
// three variables and its solutions are these triples.
func (t *tally) allTriples() (predicates []string, rows int, ok bool) {
	var vars algebra.Set
	for _, at := range t.pat.Places[:triple.Graph] {
		if at.Slot < 0 {
			return nil, 0, false
		}
		vars.Add(at.Slot)
	}
	if vars.Len() < 3 || t.p.Columns == nil || t.pat.Graphs.Mode != pattern.DefaultGraph {
		return nil, 0, false
	}
	return t.p.Columns.All()
}

// ofPredicates reports whether the tally is of the predicates.
func (t *tally) ofPredicates() bool { return t.node.Slot == t.pat.Places[triple.Predicate].Slot }

// lists returns the lists whose keys are the terms of a variable; nil if the pattern has no column,
// or a term beside the variable. long means that some of the terms may be long.
func (t *tally) lists(slot int) (lists *columns.Lists, long bool) {
	col := t.p.Column(t.pat)
	switch {
	case col == nil || col.Subject.Term || col.Object.Term:
		return nil, false
	case t.pat.Places[triple.Subject].Slot == slot:
		return &col.BySubject, col.LongSubjects
	case t.pat.Places[triple.Object].Slot == slot:
		return &col.ByObject, col.LongObjects
	}
	return nil, false
}

// columnTerms lists the keys of a column, none of which is long, with the numbers of their values.
func (t *tally) columnTerms() (Stream, bool, error) {
	lists, long := t.lists(t.node.Slot)
	if lists == nil || long {
		return Stream{}, false, nil
	}
	out := t.binding(float64(max(lists.Keys(), 1)))
	out.Numbers = algebra.SetOf(t.node.Slot)
	op := &columnjoin.Terms{Exec: t.p.Exec, Lists: lists, Slot: t.node.Slot, Counts: t.node.Counts}
	name := "terms of a column"
	if len(t.node.Counts) > 0 {
		name = "count of each term of a column"
	}
	out = t.p.Traced(out, op, name, t.p.patternText(t.node.Pattern))
	op.Plan = out.Plan
	return out, true, nil
}

// columnPredicates lists the predicates of all triples, with the number of triples of each.
func (t *tally) columnPredicates() (Stream, bool, error) {
	predicates, _, ok := t.allTriples()
	if !ok || !t.ofPredicates() || len(predicates) > optimize.MaxListed {
		return Stream{}, false, nil
	}
	slots := append([]int{t.node.Slot}, t.node.Counts...)
	op := &exec.Values{Exec: t.p.Exec, Input: &exec.Unit{}, Slots: slots, Batch: t.p.Exec.NewBatch()}
	for _, p := range predicates {
		if triple.IsLongTerm([]byte(p)) {
			return Stream{}, false, nil
		}
		column, _ := t.p.Columns.Column(p)
		row := []string{p}
		for range t.node.Counts {
			row = append(row, solution.Encode(expr.FromInt(int64(column.Rows())).Term()))
		}
		op.Rows = append(op.Rows, row)
	}
	out := t.binding(float64(max(len(predicates), 1)))
	return t.p.Traced(out, op, "predicates of the columns", t.p.patternText(t.node.Pattern)), true, nil
}

// columnKeys counts rows under conditions of one variable, an end of the pattern whose other end is another variable: each
// term of the column is tested once.
func (t *tally) columnKeys() (Stream, bool, error) {
	// 1. The terms must be those of a column. An index may have candidates among them.
	p, conds, of := t.p, t.node.Conds, t.node.Pattern
	uses := p.Body.Uses(conds[0])
	slot := uses.Slots()[0]
	if lists, long := t.lists(slot); lists == nil || long {
		return Stream{}, false, nil
	}
	spans, err := p.Estimator.WithCandidates(of, t.pat.Graphs, algebra.Set{}, cost.Restrictions(nil, conds))
	if err != nil {
		return Stream{}, false, err
	}
	t.pat = cost.NewPattern(of.Subject, of.Predicate, of.Object, t.pat.Graphs, spans)
	lists, _ := t.lists(slot)
	end := &p.Column(t.pat).Object
	if t.pat.Places[triple.Subject].Slot == slot {
		end = &p.Column(t.pat).Subject
	}
	// 2. Make the operator.
	compiled, err := CompileExprs(conds)
	if err != nil {
		return Stream{}, false, err
	}
	op := &columnjoin.CountKeys{Exec: p.Exec, Lists: lists, Spans: end.Spans, Slot: slot, Slots: t.node.Counts, Conditions: compiled, Env: p.Exec.NewEnv()}
	text := func() string { return p.Body.Scope.Pattern(*of) + " FILTER(" + ExprText(conds)() + ")" }
	return p.Traced(t.binding(1), op, "count of a column", text), true, nil
}

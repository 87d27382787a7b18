// Basic graph patterns: an order of steps, and an operator for each.

package build

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// patternJoin is a join of rows with triple patterns being planned.
type patternJoin struct {
	*Part
	list    []cost.Candidate
	in      Stream // the rows before the patterns
	aliases []optimize.Alias
}

// Patterns joins in with patterns, in the order expected to cost least.
func (p *Part) Patterns(patterns []algebra.TriplePattern, in Stream) (Stream, error) {
	if len(patterns) == 0 {
		return in, nil
	}
	in, err := p.unfold(in)
	if err != nil {
		return in, err
	}
	// 1. Make a candidate of each pattern, with one variable in place of two that must be equal.
	b := &patternJoin{Part: p, in: in}
	unified := b.unify(patterns)
	b.list = make([]cost.Candidate, len(unified))
	for i := range unified {
		if b.list[i], err = b.candidateOf(&unified[i]); err != nil {
			return in, err
		}
	}
	// 2. Find the order of least cost, and make its operators.
	steps, sorted, err := p.Orders.Find(p.Estimator, b.list, p.input(in), p.Want)
	if err != nil {
		return in, err
	}
	in.Sorted = in.Sorted || sorted
	var behind func(from, slot int) bool // made once, if a join over columns needs it
	needed := func(from, slot int) bool {
		if behind == nil {
			behind = b.neededBehind(steps, patterns)
		}
		return behind(from, slot)
	}
	for i := 0; i < len(steps); {
		n, out, err := b.operator(steps[i:], in, func(n, slot int) bool { return needed(i+n, slot) })
		if err != nil {
			return in, err
		}
		if in, err = p.Ready(out); err != nil {
			return in, err
		}
		i += n
	}
	return p.Ready(b.bindAliases(in))
}

// input returns what the order of joins depends on beside the patterns.
func (p *Part) input(in Stream) order.Input {
	return order.Input{Rows: in.Rows, Certain: in.Certain, Start: in.Start, Lateral: p.At.Lateral(), Sorted: in.Sorted, Waiting: p.At.Waiting, Unfolds: p.At.Unfolds}
}

// operator joins in with the next steps by one operator, and returns how many these are. needed reports whether a variable is
// used behind the first n steps.
func (b *patternJoin) operator(steps []order.Step, in Stream, needed func(n, slot int) bool) (n int, out Stream, err error) {
	// 1. A join over columns goes first, because it takes several steps without rows between them.
	if n := b.columnSteps(steps, in); n > 0 {
		out, err := b.columnJoin(steps[:n], in, func(slot int) bool { return needed(n, slot) })
		return n, out, err
	}
	// 2. Each other step is an operator, but a star of look-ups is one: it reads all rows of its subjects together.
	step := &steps[0]
	one := &b.list[step.List[0]]
	switch step.Method {
	case order.ByMerge:
		return 1, b.merge(step), nil
	case order.ByHash:
		right, err := b.scan(one)
		if err != nil {
			return 0, in, err
		}
		out = b.HashJoin(blocking.InnerJoin, in, right, b.At, nil, nil)
		out.Rows, out.Plan.Estimate = step.Rows, step.Rows
		return 1, out, nil
	case order.ByNarrow:
		return 1, b.lookNarrow(one, in, step.Rows), nil
	case order.ByEquality:
		out, err = b.equalityJoin(in, one, step.Equality, step.Rows)
		return 1, out, err
	}
	if n := b.star(steps, in); n > 1 {
		return n, b.starOf(steps[:n], in), nil
	}
	return 1, b.look(one, b.Terms(in, one.Vars), step.Rows), nil
}

// unify carries out [optimize.Unify] by the waiting conditions.
func (b *patternJoin) unify(patterns []algebra.TriplePattern) []algebra.TriplePattern {
	var waiting []*order.Condition
	var conds []ast.Expr
	for _, one := range b.At.Waiting {
		if !one.Done {
			waiting, conds = append(waiting, one), append(conds, one.Expr)
		}
	}
	if len(conds) == 0 {
		return patterns
	}
	// A variable in the requested sequence must stay, because the scan is chosen by it.
	rows := optimize.Bound{Certain: b.in.Certain, Possible: b.in.Possible, Nodes: b.At.Nodes, Wanted: -1, EachGraph: b.At.Graphs.Mode == pattern.EachGraph}
	if b.Want.Sequence != nil {
		rows.Wanted = b.Want.Sequence.Slot
	}
	for _, one := range b.At.Unfolds {
		if !one.Done {
			rows.Unfolds = rows.Unfolds.Union(one.Inner).With(one.Node.Slot)
		}
	}
	rows.ExactObjects = func(p algebra.TriplePattern) bool {
		col := b.Column(cost.NewPattern(p.Subject, p.Predicate, p.Object, b.At.Graphs, nil))
		return col != nil && b.Columns.Dictionary().Exact(&col.ByObject)
	}
	patterns, aliases, done := optimize.Unify(patterns, conds, rows)
	for i, one := range waiting {
		one.Done = done[i]
	}
	b.aliases = aliases
	return patterns
}

// bindAliases binds the variables that unify has replaced.
func (b *patternJoin) bindAliases(s Stream) Stream {
	for _, a := range b.aliases {
		detail := func() string { return "?" + b.Body.Scope.Name(a.Slot) + " = " + b.EndText(a.To) }
		s.Bind(a.Slot)
		if !a.To.IsVar() {
			s = b.Traced(s, &exec.Constant{Input: s.Op, Slot: a.Slot, Binding: solution.Encode(a.To.Term)}, "extend", detail, s.Plan)
			continue
		}
		if s.Numbers.Has(a.To.Slot) {
			s.Numbers = s.Numbers.With(a.Slot)
		}
		s = b.Traced(s, &exec.Copy{Input: s.Op, From: a.To.Slot, To: a.Slot}, "extend", detail, s.Plan)
	}
	return s
}

// candidateOf returns the candidate of a pattern.
func (b *patternJoin) candidateOf(p *algebra.TriplePattern) (one cost.Candidate, err error) {
	ranges, err := b.Estimator.WithCandidates(p, b.At.Graphs, b.in.Certain, b.At.Ranges)
	if err != nil {
		return one, err
	}
	one.Pat = cost.NewPattern(p.Subject, p.Predicate, p.Object, b.At.Graphs, ranges)
	one.Column = b.Column(one.Pat)
	one.Text = b.patternText(p)
	for _, at := range one.Pat.Places {
		if at.Slot >= 0 {
			one.Vars.Add(at.Slot)
		}
	}
	return one, nil
}

// scan returns all rows of a pattern.
func (b *patternJoin) scan(one *cost.Candidate) (Stream, error) {
	in := b.At.Begin()
	if one.Column == nil {
		return b.look(one, in, one.Rows), nil
	}
	same := func(c cost.Candidate) bool { return c.Pat == one.Pat }
	return b.columnJoin([]order.Step{{List: []int{slices.IndexFunc(b.list, same)}, Rows: one.Rows}}, in, one.Vars.Has)
}

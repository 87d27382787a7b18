// Text search.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/textcall"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// WantsBestText reports whether rows are wanted in the sequence of scores, and nothing is known of the literals.
func (p *Part) WantsBestText(n *algebra.TextJoin, in Stream) bool {
	return n.HasScore && p.Want.IsOf(n.Score.Slot) && p.Want.Sequence.Descending && in.Start && !p.At.Lateral() && !in.Possible.Has(n.Literal.Slot) && !in.Possible.Has(n.Score.Slot)
}

// TextJoin joins in with the literals of a search. In GRAPH, and with FROM, these are the literals of the graphs.
func (p *Part) TextJoin(n *algebra.TextJoin, in Stream) (Stream, error) {
	search, err := p.Estimator.TextSearch(n)
	if err != nil {
		return in, err
	}
	// 1. The best literals come first, which saves the sort.
	if p.WantsBestText(n, in) {
		in.Sorted = true
	}
	rows := max(float64(search.Estimate()), cost.LeastRows)
	if in.Certain.Has(n.Literal.Slot) {
		rows = min(rows/cost.TextLiterals, 1)
	}
	// 2. Make the operator. It reads and binds terms.
	var places algebra.Set
	for _, at := range n.Places() {
		places.Add(at.Slot)
	}
	if p.At.Graphs.Mode == pattern.EachGraph {
		places.Add(p.At.Graphs.Slot)
	}
	in = p.Terms(in, places)
	j := &textcall.Join{Exec: p.Exec, Input: in.Op, Node: n, Search: search.Restart(), Goal: p.Want.Goal, Graphs: p.At.Graphs, Looped: p.At.Looped, Batch: p.Exec.NewBatch(), Holder: p.Exec.Account.NewHolder("text:matches")}
	out := in
	out.Rows = max(in.Rows*rows, cost.LeastRows)
	for slot := range places.All {
		out.Bind(slot)
	}
	out = p.Traced(out, j, "text", func() string {
		if search.ScannedBytes() > 0 {
			return p.Body.Scope.TextCall(n) + ", by a scan without an index"
		}
		return p.Body.Scope.TextCall(n)
	}, in.Plan)
	j.SetPlan(out.Plan)
	return out, nil
}

// Functions of hyperlinks.

package build

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/linkcall"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// LinkJoin joins in with a function that ranks nothing.
func (p *Part) LinkJoin(n *algebra.LinkJoin, in Stream) (Stream, error) {
	if err := p.CheckLinks(&n.LinkCall); err != nil {
		return in, err
	}
	// 1. Choose the end to start from: distances may go against the links.
	reverse := reversed(n, in.Certain)
	start := n.Page
	if reverse {
		start = n.Results[0]
	}
	every := start.IsVar() && !in.Possible.Has(start.Slot) // no row binds it
	if every && n.Function != ast.LinkPageRank {
		return in, fmt.Errorf("%w of %s at %s: nothing binds ?%s before it; add a pattern that does", exec.ErrLinks, n.Function, n.Pos, p.Body.Scope.Name(n.Page.Slot))
	}
	rows := cost.LinkRows(n, in.Certain)
	if n.Function == ast.LinkPageRank {
		pages, err := p.Estimator.ScoredPages(&n.LinkCall)
		if err != nil {
			return in, err
		}
		if every {
			rows = pages
		}
	}
	// 2. The best pages come first, which saves the sort.
	if every && p.WantsBest(n, in) {
		in.Sorted = true
	}
	// 3. Make the operator. It reads and binds terms.
	var places algebra.Set
	for _, at := range n.Places() {
		if at.IsVar() {
			places.Add(at.Slot)
		}
	}
	in = p.Terms(in, places)
	j := &linkcall.Join{
		Exec: p.Exec, Input: in.Op, Call: &n.LinkCall, Reverse: reverse, Goal: p.Want.Goal, Batch: p.Exec.NewBatch(),
		Holder: p.Exec.Account.NewHolder(n.Function.String()),
	}
	out := in
	out.Rows = max(in.Rows*rows, cost.LeastRows)
	for slot := range places.All {
		out.Bind(slot)
	}
	name := "links"
	if reverse {
		name = "links backward"
	}
	out = p.Traced(out, j, name, p.LinkText(&n.LinkCall), in.Plan)
	j.SetPlan(out.Plan)
	return out, nil
}

// WantsBest reports whether rows are wanted in the sequence of scores, and nothing is known of the pages.
func (p *Part) WantsBest(n *algebra.LinkJoin, in Stream) bool {
	return n.Function == ast.LinkPageRank && p.Want.IsOf(n.Results[0].Slot) && p.Want.Sequence.Descending && in.Start && !p.At.Lateral() &&
		n.Page.IsVar() && n.Page.Slot != n.Results[0].Slot
}

// LinkText returns the detail of an operator of a function.
func (q *Query) LinkText(call *algebra.LinkCall) func() string {
	return func() string { return q.Body.Scope.LinkCall(call) }
}

// CheckLinks returns an error if there is no graph of hyperlinks, or if it lacks changes of the update. Scores of PageRank
// are those of a job that has ended, whatever an update changes.
func (q *Query) CheckLinks(call *algebra.LinkCall) error {
	if q.Exec.Options.Links == nil {
		return fmt.Errorf("%w for %s at %s: a node keeps one unless it serves with --no-links or read-only; ask such a node", exec.ErrNoLinks, call.Function, call.Pos)
	}
	if call.Function == ast.LinkPageRank {
		return nil
	}
	if err := q.CheckCommitted("the graph of hyperlinks", q.Exec.Options.LinkPredicate); err != nil {
		return fmt.Errorf("%s at %s: %w", call.Function, call.Pos, err)
	}
	return nil
}

// reversed reports whether a distance is searched from its other page: it is one for all rows, or they may leave
// the page unbound.
func reversed(n *algebra.LinkJoin, certain algebra.Set) bool {
	return n.Function == ast.LinkDistance && cost.IsBound(n.Results[0], certain) &&
		(!cost.IsBound(n.Page, certain) || n.Page.IsVar() && !n.Results[0].IsVar())
}

// Text search.

package plan

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/textcall"
)

// ErrNoText ends a query with a text search if there is no text index.
var ErrNoText = errors.New("there is no text index")

// textLiterals is the guessed number of literals of a store.
const textLiterals = 1e6

// textSearch begins a search, or returns it if it has begun. All operators of the query share it.
func (e *estimator) textSearch(n *algebra.TextJoin) (exec.TextSearch, error) {
	if found := e.texts[n]; found != nil {
		return found, nil
	}
	if n.Call.Query == "" {
		return nil, fmt.Errorf("%w: text:matches at %s: ?%s has no value; a query is a string, or a variable whose value is sent beside the text", exec.ErrText, n.Call.Pos, n.Call.QueryVar)
	}
	index := e.exec.Options.Text
	if index == nil {
		return nil, fmt.Errorf("%w for text:matches at %s: a node has one unless it is read-only", ErrNoText, n.Call.Pos)
	}
	if err := e.checkCommitted("the text index", n.Call.Predicates...); err != nil {
		return nil, fmt.Errorf("text:matches at %s: %w", n.Call.Pos, err)
	}
	found, err := index.Search(e.exec.Ctx, exec.TextRequest{Query: n.Call.Query, Language: n.Call.Language, Predicates: n.Call.Predicates, Scan: n.Call.Scan})
	if err != nil {
		return nil, fmt.Errorf("text:matches at %s: %w", n.Call.Pos, err)
	}
	e.exec.Account.Take(found.ScannedBytes())
	if e.texts == nil {
		e.texts = map[*algebra.TextJoin]exec.TextSearch{}
	}
	e.texts[n] = found
	return found, nil
}

// textRows returns about how many literals a search finds.
func (e *estimator) textRows(n *algebra.TextJoin) (float64, error) {
	found, err := e.textSearch(n)
	if err != nil {
		return 0, err
	}
	return max(float64(found.Estimate()), leastRows), nil
}

// wantsBestText reports whether rows are wanted in the sequence of scores, and nothing is known of the literals.
func (p *part) wantsBestText(n *algebra.TextJoin, in stream) bool {
	return n.HasScore && p.want.isOf(n.Score.Slot) && p.want.sequence.descending && in.start && !p.at.lateral() && !in.possible.Has(n.Literal.Slot) && !in.possible.Has(n.Score.Slot)
}

// textJoin joins in with the literals of a search. In GRAPH, and with FROM, these are the literals of the graphs.
func (p *part) textJoin(n *algebra.TextJoin, in stream) (stream, error) {
	search, err := p.estimator.textSearch(n)
	if err != nil {
		return in, err
	}
	// 1. The best literals come first, which saves the sort.
	if p.wantsBestText(n, in) {
		in.sorted = true
	}
	rows := max(float64(search.Estimate()), leastRows)
	if in.certain.Has(n.Literal.Slot) {
		rows = min(rows/textLiterals, 1)
	}
	// 2. Make the operator. It reads and binds terms.
	var places algebra.Set
	for _, at := range n.Places() {
		places.Add(at.Slot)
	}
	if p.at.graphs.Mode == pattern.EachGraph {
		places.Add(p.at.graphs.Slot)
	}
	in = p.terms(in, places)
	j := &textcall.Join{Exec: p.exec, Input: in.op, Node: n, Search: search.Again(), Goal: p.want.goal, Graphs: p.at.graphs, Looped: p.at.looped, Batch: p.exec.NewBatch(), Holder: p.exec.Account.NewHolder("text:matches")}
	out := in
	out.rows = max(in.rows*rows, leastRows)
	for slot := range places.All {
		out.bind(slot)
	}
	out = p.traced(out, j, "text", func() string {
		if search.ScannedBytes() > 0 {
			return p.body.Scope.TextCall(n) + ", by a scan without an index"
		}
		return p.body.Scope.TextCall(n)
	}, in.plan)
	j.SetPlan(out.plan)
	return out, nil
}

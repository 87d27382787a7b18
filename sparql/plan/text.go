// Text search becomes an operator.

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
func (c *compiler) textSearch(n *algebra.TextJoin) (exec.TextSearch, error) {
	if found := c.estimator.texts[n]; found != nil {
		return found, nil
	}
	if n.Call.Query == "" {
		return nil, fmt.Errorf("%w: text:matches at %s: ?%s has no value; a query is a string, or a variable whose value is sent beside the text", exec.ErrText, n.Call.Pos, n.Call.QueryVar)
	}
	index := c.query.Options.Text
	if index == nil {
		return nil, fmt.Errorf("%w for text:matches at %s: a node has one unless it is read-only", ErrNoText, n.Call.Pos)
	}
	if err := c.checkCommitted("the text index", n.Call.Predicates...); err != nil {
		return nil, fmt.Errorf("text:matches at %s: %w", n.Call.Pos, err)
	}
	found, err := index.Search(c.query.Ctx, exec.TextRequest{Query: n.Call.Query, Language: n.Call.Language, Predicates: n.Call.Predicates, Scan: n.Call.Scan})
	if err != nil {
		return nil, fmt.Errorf("text:matches at %s: %w", n.Call.Pos, err)
	}
	c.query.Account.Take(found.ScannedBytes())
	if c.estimator.texts == nil {
		c.estimator.texts = map[*algebra.TextJoin]exec.TextSearch{}
	}
	c.estimator.texts[n] = found
	return found, nil
}

// textRows returns about how many literals a search finds.
func (c *compiler) textRows(n *algebra.TextJoin) (float64, error) {
	found, err := c.textSearch(n)
	if err != nil {
		return 0, err
	}
	return max(float64(found.Estimate()), leastRows), nil
}

// wantsBestText reports whether rows are wanted in the sequence of scores, and nothing is known of the literals.
func (c *compiler) wantsBestText(n *algebra.TextJoin, in stream) bool {
	return n.HasScore && c.wants(n.Score.Slot) && c.want.descending && in.start && c.feed == nil && !in.possible.Has(n.Literal.Slot) && !in.possible.Has(n.Score.Slot)
}

// textJoin joins in with the literals of a search. In GRAPH, and with FROM, these are the literals of the graphs.
func (c *compiler) textJoin(n *algebra.TextJoin, in stream, g pattern.Graphs) (stream, error) {
	search, err := c.textSearch(n)
	if err != nil {
		return in, err
	}
	// 1. The best literals come first, which saves the sort.
	if c.wantsBestText(n, in) {
		c.want.got = true
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
	if g.Mode == pattern.EachGraph {
		places.Add(g.Slot)
	}
	in = c.terms(in, places)
	j := &textcall.Join{Exec: c.query, Input: in.op, Node: n, Search: search.Again(), Goal: c.goal, Graphs: g, Looped: c.looped, Batch: c.query.NewBatch(), Holder: c.query.Account.NewHolder("text:matches")}
	out := in
	out.rows = max(in.rows*rows, leastRows)
	for slot := range places.All {
		out.bind(slot)
	}
	out = c.traced(out, j, "text", func() string {
		if search.ScannedBytes() > 0 {
			return c.body.Scope.TextCall(n) + ", by a scan without an index"
		}
		return c.body.Scope.TextCall(n)
	}, in.plan)
	j.SetPlan(out.plan)
	return out, nil
}

// Functions of hyperlinks.

package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/linkcall"
)

// ErrNoLinks ends a query with a function of hyperlinks if there is no graph of them.
var ErrNoLinks = errors.New("there is no graph of hyperlinks")

// Guesses of the rows of functions: the links of a page, and the pages of a graph.
const (
	linkFan   = 17
	linkPages = 1e6
)

// linkJoin joins in with a function that ranks nothing.
func (p *part) linkJoin(n *algebra.LinkJoin, in stream) (stream, error) {
	if err := p.checkLinks(&n.LinkCall); err != nil {
		return in, err
	}
	// 1. Choose the end to start from: distances may go against the links.
	reverse := reversed(n, in.certain)
	start := n.Page
	if reverse {
		start = n.Results[0]
	}
	every := start.IsVar() && !in.possible.Has(start.Slot) // no row binds it
	if every && n.Function != ast.LinkPageRank {
		return in, fmt.Errorf("%w of %s at %s: nothing binds ?%s before it; add a pattern that does", exec.ErrLinks, n.Function, n.Pos, p.body.Scope.Name(n.Page.Slot))
	}
	rows := linkRows(n, in.certain)
	if n.Function == ast.LinkPageRank {
		pages, err := p.estimator.scoredPages(&n.LinkCall)
		if err != nil {
			return in, err
		}
		if every {
			rows = pages
		}
	}
	// 2. The best pages come first, which saves the sort.
	if every && p.wantsBest(n, in) {
		in.sorted = true
	}
	// 3. Make the operator. It reads and binds terms.
	var places algebra.Set
	for _, at := range n.Places() {
		if at.IsVar() {
			places.Add(at.Slot)
		}
	}
	in = p.terms(in, places)
	j := &linkcall.Join{
		Exec: p.exec, Input: in.op, Call: &n.LinkCall, Reverse: reverse, Goal: p.want.goal, Batch: p.exec.NewBatch(),
		Holder: p.exec.Account.NewHolder(n.Function.String()),
	}
	out := in
	out.rows = max(in.rows*rows, leastRows)
	for slot := range places.All {
		out.bind(slot)
	}
	name := "links"
	if reverse {
		name = "links backward"
	}
	out = p.traced(out, j, name, p.linkText(&n.LinkCall), in.plan)
	j.SetPlan(out.plan)
	return out, nil
}

// scoredPages returns about the number of pages with a score of PageRank. An error reports that there are none,
// before any row is computed.
func (e *estimator) scoredPages(call *algebra.LinkCall) (float64, error) {
	if e.scored == 0 {
		ranking, err := e.exec.Options.Links.Rank(e.exec.Ctx, exec.RankRequest{Function: ast.LinkPageRank, Top: 1})
		if err != nil {
			return 0, fmt.Errorf("%s at %s: %w", call.Function, call.Pos, err)
		}
		e.scored = max(float64(ranking.Total), 1)
	}
	return e.scored, nil
}

// wantsBest reports whether rows are wanted in the sequence of scores, and nothing is known of the pages.
func (p *part) wantsBest(n *algebra.LinkJoin, in stream) bool {
	return n.Function == ast.LinkPageRank && p.want.isOf(n.Results[0].Slot) && p.want.sequence.descending && in.start && !p.at.lateral() &&
		n.Page.IsVar() && n.Page.Slot != n.Results[0].Slot
}

// linkText returns the detail of an operator of a function.
func (q *query) linkText(call *algebra.LinkCall) func() string {
	return func() string { return q.body.Scope.LinkCall(call) }
}

// checkLinks returns an error if there is no graph of hyperlinks, or if it lacks changes of the update. Scores of PageRank
// are those of a job that has ended, whatever an update changes.
func (q *query) checkLinks(call *algebra.LinkCall) error {
	if q.exec.Options.Links == nil {
		return fmt.Errorf("%w for %s at %s: a node keeps one unless it serves with --no-links or read-only; ask such a node", ErrNoLinks, call.Function, call.Pos)
	}
	if call.Function == ast.LinkPageRank {
		return nil
	}
	if err := q.checkCommitted("the graph of hyperlinks", q.exec.Options.LinkPredicate); err != nil {
		return fmt.Errorf("%s at %s: %w", call.Function, call.Pos, err)
	}
	return nil
}

// checkCommitted returns an error if an index lacks changes of triples with some predicates; none stands for any.
func (q *query) checkCommitted(index string, predicates ...string) error {
	if len(predicates) == 0 {
		predicates = []string{""}
	}
	if slices.ContainsFunc(predicates, q.changed) {
		return fmt.Errorf("%w, and %s has these changes only after the update; send two updates", exec.ErrChanged, index)
	}
	return nil
}

// reversed reports whether a distance is searched from its other page: it is one for all rows, or they may leave
// the page unbound.
func reversed(n *algebra.LinkJoin, certain algebra.Set) bool {
	return n.Function == ast.LinkDistance && isBound(n.Results[0], certain) &&
		(!isBound(n.Page, certain) || n.Page.IsVar() && !n.Results[0].IsVar())
}

func isBound(at algebra.VarOrTerm, certain algebra.Set) bool {
	return !at.IsVar() || certain.Has(at.Slot)
}

// linkRows guesses how many solutions a function has for a row with certain variables; infinity if the row
// does not bind its page.
func linkRows(n *algebra.LinkJoin, certain algebra.Set) float64 {
	start := isBound(n.Page, certain)
	rows := 1.0
	switch n.Function {
	case ast.LinkPageRank:
		if !start {
			return linkPages
		}
	case ast.LinkDistance:
		start = start || isBound(n.Results[0], certain)
		rows = min(math.Pow(linkFan, float64(n.Numbers[0])), linkPages)
	case ast.LinkSample, ast.LinkSampleBackward:
		rows = float64(min(n.Numbers[0], linkFan))
	}
	if !start {
		return math.Inf(1)
	}
	// If both pages are bound, few of them are linked.
	if rows > 1 && isBound(n.Results[0], certain) && isBound(n.Page, certain) {
		rows = max(rows/linkPages, 0.1)
	}
	return rows
}

// linkRank ranks the solutions of its input. These are all there are, because it is executed on its own.
func (c *compiler) linkRank(n *algebra.LinkRank, in stream, at scope) (stream, error) {
	if err := c.checkLinks(&n.LinkCall); err != nil {
		return in, err
	}
	out, err := c.compile(n.Input, in, at.unfiltered(), request{})
	if err != nil {
		return in, err
	}
	if n.Page.IsVar() && !out.possible.Has(n.Page.Slot) {
		return in, fmt.Errorf("%w of %s at %s: it ranks the solutions of the rest of its group, where nothing binds ?%s; add a pattern that does",
			exec.ErrLinks, n.Function, n.Pos, c.body.Scope.Name(n.Page.Slot))
	}
	// It holds rows, so terms take the place of all numbers.
	out = c.terms(out, out.numbers)
	r := &linkcall.Rank{Exec: c.exec, Input: out.op, Call: &n.LinkCall, Holder: c.exec.Account.NewHolder(n.Function.String())}
	for _, at := range n.Places() {
		if at.IsVar() {
			out.bind(at.Slot)
		}
	}
	out.sequence = false
	return c.traced(out, r, "link ranking", c.linkText(&n.LinkCall), out.plan), nil
}

// nextPath returns the index of the path or function of links to join next: the one with the fewest
// solutions for a row. bound is false if rows bind no end of it, and a later argument may.
func (j *joinPlan) nextPath() (best int, bound bool, err error) {
	rows := func(n algebra.Node) float64 {
		switch n := n.(type) {
		case *algebra.LinkJoin:
			return linkRows(n, j.in.certain)
		case *algebra.TextJoin:
			var found float64
			if found, err = j.estimator.textRows(n); j.in.certain.Has(n.Literal.Slot) {
				return min(found/textLiterals, 1)
			}
			return found
		default:
			if unboundPath(n, j.in.certain) {
				return linkPages / 2
			}
			return pathFan
		}
	}
	// 1. Each one is asked once, because a function of links or text may read an index for it.
	least, fewest := j.paths[0], rows(j.paths[0])
	for i, n := range j.paths[1:] {
		if some := rows(n); some < fewest {
			best, least, fewest = i+1, n, some
		}
	}
	// 2. The best pages need their page, whatever their number.
	if n, ok := least.(*algebra.LinkJoin); ok && n.Function == ast.LinkPageRank {
		return best, isBound(n.Page, j.in.certain), err
	}
	_, text := least.(*algebra.TextJoin) // it needs no binding
	return best, text || fewest < linkPages/2, err
}

// pathFan is the assumed number of solutions of a repeated path for a row with one end.
const pathFan = 10

func unboundPath(n algebra.Node, certain algebra.Set) bool {
	p := n.(*algebra.Path)
	return p.Subject.IsVar() && p.Object.IsVar() && !certain.Has(p.Subject.Slot) && !certain.Has(p.Object.Slot)
}

// bestFirst returns the argument of the join that gives the best pages first, if a query wants the first ones and
// finds them there sooner than by a sort of all rows; nil if there is none.
func (j *joinPlan) bestFirst() (best algebra.Node, err error) {
	i := slices.IndexFunc(j.paths, func(n algebra.Node) bool {
		if search, ok := n.(*algebra.TextJoin); ok {
			return j.wantsBestText(search, j.in)
		}
		call, ok := n.(*algebra.LinkJoin)
		return ok && j.exec.Options.Links != nil && j.wantsBest(call, j.in)
	})
	if j.want.sequence == nil || i < 0 {
		return nil, nil
	}
	if len(j.patterns) == 0 {
		return j.paths[i], nil
	}
	var pages float64
	if search, ok := j.paths[i].(*algebra.TextJoin); ok {
		pages, err = j.estimator.textRows(search)
	} else {
		pages, err = j.estimator.scoredPages(&j.paths[i].(*algebra.LinkJoin).LinkCall)
	}
	if err != nil {
		return nil, err
	}
	rows, err := j.estimator.patternRows(j.patterns, j.at)
	if err != nil {
		return nil, err
	}
	// Of the best pages, a share of rows/pages is in the patterns. Each costs a look-up.
	if float64(j.want.sequence.top)*pages/rows < rows {
		return j.paths[i], nil
	}
	return nil, nil
}

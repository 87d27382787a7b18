// The rows of functions of hyperlinks, and of text searches.

package cost

import (
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// Guesses of the rows of functions: the links of a page, and the pages of a graph.
const (
	linkFan   = 17
	LinkPages = 1e6
)

// ScoredPages returns about the number of pages with a score of PageRank. An error reports that there are none,
// before any row is computed.
func (e *Estimator) ScoredPages(call *algebra.LinkCall) (float64, error) {
	if e.scored == 0 {
		ranking, err := e.Exec.Options.Links.Rank(e.Exec.Ctx, exec.RankRequest{Function: ast.LinkPageRank, Top: 1})
		if err != nil {
			return 0, fmt.Errorf("%s at %s: %w", call.Function, call.Pos, err)
		}
		e.scored = max(float64(ranking.Total), 1)
	}
	return e.scored, nil
}

// LinkRows guesses how many solutions a function has for a row with certain variables; infinity if the row
// does not bind its page.
func LinkRows(n *algebra.LinkJoin, certain algebra.Set) float64 {
	start := IsBound(n.Page, certain)
	rows := 1.0
	switch n.Function {
	case ast.LinkPageRank:
		if !start {
			return LinkPages
		}
	case ast.LinkDistance:
		start = start || IsBound(n.Results[0], certain)
		rows = min(math.Pow(linkFan, float64(n.Numbers[0])), LinkPages)
	case ast.LinkSample, ast.LinkSampleBackward:
		rows = float64(min(n.Numbers[0], linkFan))
	}
	if !start {
		return math.Inf(1)
	}
	// If both pages are bound, few of them are linked.
	if rows > 1 && IsBound(n.Results[0], certain) && IsBound(n.Page, certain) {
		rows = max(rows/LinkPages, 0.1)
	}
	return rows
}

func IsBound(at algebra.VarOrTerm, certain algebra.Set) bool {
	return !at.IsVar() || certain.Has(at.Slot)
}

// TextLiterals is the guessed number of literals of a store.
const TextLiterals = 1e6

// TextSearch begins a search, or returns it if it has begun. All operators of the query share it.
func (e *Estimator) TextSearch(n *algebra.TextJoin) (exec.TextSearch, error) {
	if found := e.texts[n]; found != nil {
		return found, nil
	}
	if n.Call.Query == "" {
		return nil, fmt.Errorf("%w: text:matches at %s: ?%s has no value; a query is a string, or a variable whose value is sent beside the text", exec.ErrText, n.Call.Pos, n.Call.QueryVar)
	}
	index := e.Exec.Options.Text
	if index == nil {
		return nil, fmt.Errorf("%w for text:matches at %s: a node has one unless it is read-only", exec.ErrNoText, n.Call.Pos)
	}
	if err := e.CheckCommitted("the text index", n.Call.Predicates...); err != nil {
		return nil, fmt.Errorf("text:matches at %s: %w", n.Call.Pos, err)
	}
	found, err := index.Search(e.Exec.Ctx, exec.TextRequest{Query: n.Call.Query, Language: n.Call.Language, Predicates: n.Call.Predicates, Scan: n.Call.Scan})
	if err != nil {
		return nil, fmt.Errorf("text:matches at %s: %w", n.Call.Pos, err)
	}
	e.Exec.Account.Take(found.ScannedBytes())
	if e.texts == nil {
		e.texts = map[*algebra.TextJoin]exec.TextSearch{}
	}
	e.texts[n] = found
	return found, nil
}

// TextRows returns about how many literals a search finds.
func (e *Estimator) TextRows(n *algebra.TextJoin) (float64, error) {
	found, err := e.TextSearch(n)
	if err != nil {
		return 0, err
	}
	return max(float64(found.Estimate()), LeastRows), nil
}

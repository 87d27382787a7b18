// What the graph says about the pages of a chunk of rows.

package linkcall

import (
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// found is a solution of a function: the bindings of the page that it starts from and of its results.
type found struct{ start, first, second string }

// reached is a page at a distance.
type reached struct {
	page     uint64
	distance int
}

// answers are the solutions of a function for the pages of rows. More rows may be queried.
type answers struct {
	join  *Join
	graph exec.LinkGraph

	// numbers are the pages of the rows by their bindings: 0 if they are no pages. open are the bindings from
	// which all solutions are wanted, because a row leaves the other page unbound.
	numbers map[string]uint64
	open    map[string]bool
	starts  map[string]bool
	// Of the rows since the last answer: new bindings, those among them to start from, and those that
	// have become open.
	bindings, fresh, unnamed []string

	reached  map[uint64][]reached // by start, ascending; of functions with another page
	values   map[uint64]string    // by start; of the others
	names    map[uint64]string    // bindings of reached pages
	integers []string             // bindings of 0, 1, 2 and so on
}

func newAnswers(j *Join) *answers {
	return &answers{join: j, graph: j.Exec.Options.Links, numbers: map[string]uint64{}, open: map[string]bool{}, starts: map[string]bool{},
		reached: map[uint64][]reached{}, values: map[uint64]string{}, names: map[uint64]string{}}
}

// addRow records the bindings of a row.
func (a *answers) addRow(start, other string) error {
	if start == "" {
		return nil
	}
	if !a.starts[start] {
		a.starts[start] = true
		a.fresh = append(a.fresh, start)
	}
	if other == "" && !a.open[start] {
		a.open[start] = true
		a.unnamed = append(a.unnamed, start)
	}
	for _, binding := range [...]string{start, other} {
		if _, ok := a.numbers[binding]; !ok && binding != "" {
			if err := a.join.Grow(len(binding) + nameBytes); err != nil {
				return err
			}
			a.numbers[binding] = 0
			a.bindings = append(a.bindings, binding)
		}
	}
	return nil
}

// find queries the graph for what ask has noted since the last call.
func (a *answers) find() error {
	pages, err := a.join.Exec.LinkPages(a.graph, a.bindings)
	if err != nil {
		return err
	}
	for i, binding := range a.bindings {
		a.numbers[binding] = pages[i]
	}
	var starts []uint64
	for _, binding := range a.fresh {
		if page := a.numbers[binding]; page != 0 {
			starts = append(starts, page)
		}
	}
	a.bindings, a.fresh = nil, nil
	// 1. Compute the function for the new ones.
	if len(starts) > 0 {
		switch call := a.join.Call; call.Function {
		case ast.LinkPageRank:
			err = a.pageRank(starts)
		case ast.LinkOutDegree, ast.LinkInDegree:
			err = a.degrees(starts, call.Function == ast.LinkInDegree)
		case ast.LinkSample, ast.LinkSampleBackward:
			err = a.sample(starts, call.Numbers[0], call.Function == ast.LinkSampleBackward)
		default:
			err = a.distances(starts, call.Numbers[0], a.join.Reverse)
		}
	}
	if err != nil {
		return err
	}
	// 2. Name the pages that rows do not bind.
	return a.nameReached()
}

func (a *answers) pageRank(starts []uint64) error {
	ranking, err := a.graph.Rank(a.join.Exec.Ctx, exec.RankRequest{Function: ast.LinkPageRank, Pages: starts})
	if err != nil {
		return err
	}
	for _, one := range ranking.Pages {
		a.values[one.Page] = score(one.Score)
	}
	return nil
}

// score returns the binding of a score.
func score(f float64) string { return solution.Encode(expr.FromDouble(f).Term()) }

// integer returns the binding of a number.
func integer(n int) string { return solution.Encode(expr.FromInt(int64(n)).Term()) }

func (a *answers) degrees(starts []uint64, backward bool) error {
	degrees, err := a.graph.Degrees(a.join.Exec.Ctx, starts, backward)
	if err != nil {
		return err
	}
	for i, page := range starts {
		a.values[page] = integer(degrees[i])
	}
	return nil
}

func (a *answers) sample(starts []uint64, n int, backward bool) error {
	if n == 0 {
		return nil
	}
	for len(starts) > 0 {
		if err := a.join.Exec.Check(); err != nil {
			return err
		}
		some := starts[:min(len(starts), max(1, exec.LinksAtOnce/n))]
		if err := a.join.Grow(len(some) * n * reachedBytes); err != nil {
			return err
		}
		lists, err := a.graph.Links(a.join.Exec.Ctx, exec.LinkRequest{Pages: some, Backward: backward, Sample: n})
		if err != nil {
			return err
		}
		for i, list := range lists {
			for _, page := range list {
				a.reached[some[i]] = append(a.reached[some[i]], reached{page, 1})
			}
		}
		starts = starts[len(some):]
	}
	return nil
}

// nameReached finds the URLs of the pages reached from open starts.
func (a *answers) nameReached() error {
	var pages []uint64
	for _, binding := range a.unnamed {
		for _, r := range a.reached[a.numbers[binding]] {
			if _, ok := a.names[r.page]; !ok {
				a.names[r.page] = ""
				pages = append(pages, r.page)
			}
		}
		if err := a.join.Exec.Check(); err != nil {
			return err
		}
	}
	a.unnamed = nil
	slices.Sort(pages)
	return a.join.Exec.EachPageURL(a.graph, pages, func(page uint64, binding string) error {
		a.names[page] = binding
		return a.join.Grow(len(binding) + nameBytes)
	})
}

// nameBytes are counted for a page with a name, beside the name.
const nameBytes = 64

// solution returns the k-th solution of a row with the bindings of both pages; ok is false behind the last
// one. Its first result is "" if the page has gone.
func (a *answers) solution(start, other string, k int) (f found, ok bool) {
	page := a.numbers[start]
	if value := a.values[page]; value != "" && page != 0 {
		return found{start: start, first: value}, k == 0
	}
	// 1. All pages reached, if the row leaves the other one unbound.
	all := a.reached[page]
	if page == 0 || k >= len(all) {
		return f, false
	}
	if other == "" {
		return found{start, a.names[all[k].page], a.integer(all[k].distance)}, true
	}
	// 2. Otherwise the row's page, if it is reached.
	i, ok := slices.BinarySearchFunc(all, a.numbers[other], func(r reached, page uint64) int { return cmp.Compare(r.page, page) })
	if !ok || k > 0 {
		return f, false
	}
	return found{start, other, a.integer(all[i].distance)}, true
}

// integer returns the binding of a distance, which many solutions have.
func (a *answers) integer(n int) string {
	for len(a.integers) <= n {
		a.integers = append(a.integers, integer(len(a.integers)))
	}
	return a.integers[n]
}

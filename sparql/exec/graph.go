package exec

import (
	"bytes"
	"context"
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// graphMode says which graphs a pattern looks at.
type graphMode uint8

const (
	defaultGraph graphMode = iota // triples without a graph name
	anyGraph                      // the merge of all graphs
	someGraphs                    // the merge of the graphs of a set
	oneGraph                      // the graph of a name
	eachGraph                     // every named graph, with a variable for its name
)

// graphs is the active graph of a pattern.
type graphs struct {
	mode graphMode
	set  map[string]bool // key forms: of someGraphs; of eachGraph the graphs that there are, nil for all
	name *string         // of oneGraph: the key form; a [graphLoop] moves it
	slot int             // of eachGraph
}

// accept reports whether a row's graph is one of g, before variables are looked at.
func (g *graphs) accept(graph []byte) bool {
	switch g.mode {
	case defaultGraph:
		return len(graph) == 0
	case someGraphs:
		return g.set[string(graph)]
	case oneGraph:
		return string(graph) == *g.name
	case eachGraph:
		return len(graph) > 0 && (g.set == nil || g.set[string(graph)])
	}
	return true
}

// merged reports whether a triple that is in several graphs is to come once.
func (g *graphs) merged() bool { return g.mode == anyGraph || g.mode == someGraphs }

// named calls each with the names of the graphs of the store, whole, until it
// returns an error.
func named(ctx context.Context, src Source, each func(name []byte) error) error {
	rows, err := src.Scan(ctx, triple.OrderRange(triple.GSPO), false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for ok := rows.Next(); ok; {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, terms, err := triple.SplitKey(rows.Key())
		if err != nil {
			return err
		}
		key := append([]byte{byte(triple.GSPO)}, terms[triple.Graph]...)
		whole, err := triple.WholeTerms(terms, rows.Value())
		if err != nil {
			return err
		}
		if err := each(whole[triple.Graph]); err != nil {
			return err
		}
		ok = rows.SeekGE(append(key, 0, 2))
	}
	return rows.Err()
}

// graphLoop runs its input once for each named graph, whose name binds a variable.
type graphLoop struct {
	q     *query
	input operator
	name  *string  // what the patterns of input look at
	slot  int      // of the variable
	only  []string // whole names; nil for those of the store
	holder

	begun bool
	names []string
	at    int
}

func (g *graphLoop) next(out *batch) error {
	if !g.begun {
		if err := g.list(); err != nil {
			return err
		}
		g.begun = true
		g.at = -1
	}
	for {
		if g.at >= 0 && g.at < len(g.names) {
			if err := g.input.next(out); err != nil {
				return err
			}
			if out.n > 0 {
				g.bind(out)
				if out.n > 0 {
					return nil
				}
				continue
			}
		}
		if g.at+1 >= len(g.names) {
			g.at = len(g.names)
			return nil
		}
		if err := g.q.check(); err != nil {
			return err
		}
		g.at++
		*g.name = string(appendKeyForm(nil, g.names[g.at]))
		g.input.reset()
	}
}

// bind binds the variable, and drops rows that bind it to something else.
func (g *graphLoop) bind(out *batch) {
	n := 0
	for i := range out.n {
		row := out.row(i)
		if row[g.slot] != "" && row[g.slot] != g.names[g.at] {
			continue
		}
		row[g.slot] = g.names[g.at]
		copy(out.row(n), row)
		out.ord[n] = out.ord[i]
		n++
	}
	out.truncate(n)
}

func (g *graphLoop) list() error {
	g.names = nil
	if g.only != nil {
		g.names = g.only
		return nil
	}
	g.account, g.holder.name = &g.q.account, "each graph"
	g.free()
	return named(g.q.ctx, g.q.src, func(name []byte) error {
		if err := g.grow(len(name) + 2*16); err != nil {
			return err
		}
		g.names = append(g.names, string(name))
		return nil
	})
}

func (g *graphLoop) reset() { g.begun = false; g.input.reset() }
func (g *graphLoop) close() {
	if g.account != nil {
		g.names = nil
		g.free()
	}
	g.input.close()
}

var errFound = errors.New("found")

// hasGraph reports whether the store has a named graph; name is its key form.
func (q *query) hasGraph(name string) (bool, error) {
	lo := append([]byte{byte(triple.GSPO)}, name...)
	r := triple.Range{Lo: append(bytes.Clone(lo), 0, 1), Hi: append(lo, 0, 2)}
	return q.any(r, nil)
}

// any reports whether a range has a row that accept accepts.
func (q *query) any(r triple.Range, accept func(triple.KeyTerms) bool) (bool, error) {
	err := q.src.Lookup(q.ctx, []triple.Range{r}, func(_ int, key, _ []byte) error {
		if accept != nil {
			_, terms, err := triple.SplitKey(key)
			if err != nil {
				return err
			}
			if !accept(terms) {
				return nil
			}
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// The changes of a request, as the caller applies them.

package update

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Changes is the effect of a request on a dataset: first the graphs are cleared, then triples
// are deleted, then triples are added. No triple is both deleted and added, and none is deleted
// from a graph cleared. An added triple may exist already, and a deleted one may be missing.
type Changes struct {
	ClearAll     bool // the whole store; then ClearDefault and ClearGraphs have no meaning
	ClearDefault bool // the default graph
	// ClearGraphs are named graphs, in the order of terms, each once. Some may not
	// be there.
	ClearGraphs []triple.Term

	delta *delta
}

// Empty reports whether nothing is changed.
func (c *Changes) Empty() bool {
	return !c.ClearAll && !c.ClearDefault && len(c.ClearGraphs) == 0 && c.delta.adds+c.delta.deletes == 0
}

// NumDeletes and NumAdds return how many triples [Changes.Deletes] and
// [Changes.Adds] yield.
func (c *Changes) NumDeletes() int { return c.delta.deletes }

// NumAdds is described with NumDeletes.
func (c *Changes) NumAdds() int { return c.delta.adds }

// Bytes returns about how many bytes of memory the changes take.
func (c *Changes) Bytes() int64 { return c.delta.bytes }

// Deletes yields the triples deleted: those of the default graph in SPO
// order, then those of named graphs in GSPO order. It may be ranged over any
// number of times.
func (c *Changes) Deletes() iter.Seq[triple.Triple] { return c.triples(true) }

// Adds yields the triples added, in the order of Deletes.
func (c *Changes) Adds() iter.Seq[triple.Triple] { return c.triples(false) }

func (c *Changes) triples(deleted bool) iter.Seq[triple.Triple] {
	return func(yield func(triple.Triple) bool) {
		for _, o := range []triple.Order{triple.SPO, triple.GSPO} {
			more := true
			c.delta.ownRows(triple.OrderRange(o), func(key string, r row, _ triple.KeyTerms) bool {
				if r.deleted != deleted {
					return true
				}
				_, t, err := triple.DecodeKey([]byte(key), []byte(r.value))
				if err != nil {
					panic(fmt.Sprintf("update: a row of the delta: %v", err)) // put made it
				}
				more = yield(t)
				return more
			})
			if !more {
				return
			}
		}
	}
}

// changes returns the net effect of the run.
func (r *run) changes() (*Changes, error) {
	r.delta.begin(false)
	c := &Changes{delta: r.delta}
	cleared := &r.delta.cleared
	if cleared.all() {
		c.ClearAll = true
		return c, nil
	}
	c.ClearDefault = cleared.unnamed
	c.ClearGraphs = slices.Collect(maps.Values(cleared.graphs))
	if cleared.named {
		err := r.graphs(r.base, func(graph triple.Term) error {
			c.ClearGraphs = append(c.ClearGraphs, graph)
			return r.delta.grow(int64(len(graph.Value())) + rowBytes)
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(c.ClearGraphs, triple.CompareTerms)
	return c, nil
}

// graphs calls each with the names of a source's graphs, with one seek for each.
func (r *run) graphs(src source.Source, each func(graph triple.Term) error) error {
	rows, err := src.Scan(r.ctx, triple.OrderRange(triple.GSPO), false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for ok := rows.Next(); ok; {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		key, value := rows.Row()
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return err
		}
		// The key has the beginning of a long name only; the value has all of it.
		next := graphRange(terms[triple.Graph]).Hi
		if terms, err = triple.WholeTerms(terms, value); err != nil {
			return err
		}
		graph, err := triple.DecodeTerm(terms[triple.Graph])
		if err != nil {
			return err
		}
		if err := each(graph); err != nil {
			return err
		}
		// Skip the other rows of the graph.
		ok = rows.SeekGE(next)
	}
	return rows.Err()
}

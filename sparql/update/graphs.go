// CLEAR, DROP, CREATE, ADD, MOVE and COPY.

package update

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// clearGraphs returns CLEAR (section 3.1.5) or DROP (3.2.2). Both are the same operation,
// because no empty graph exists.
func clearGraphs(target ast.GraphRef) func(*run) error {
	return func(r *run) error {
		if target.Kind != ast.AllGraphs && target.Kind != ast.NamedGraphs {
			return r.delta.clear(graphOf(target))
		}
		// A kept graph is cleared only by its name. If it has no triples, whole ranges are cleared,
		// because that is faster.
		if keep := r.opts.Keep; !keep.IsZero() {
			kept, err := r.exists(keep)
			if err != nil || kept {
				return errors.Join(err, r.clearExcept(keep, target.Kind == ast.AllGraphs))
			}
		}
		if target.Kind == ast.AllGraphs {
			r.delta.clearAll()
		} else {
			r.delta.clearNamed()
		}
		return nil
	}
}

// clearExcept clears all named graphs but one and, if unnamed is set, the default graph.
func (r *run) clearExcept(keep triple.Term, unnamed bool) error {
	// The names are collected first, because clearing changes what is read.
	var names []triple.Term
	err := r.graphs(r.source(), func(graph triple.Term) error {
		if graph != keep {
			names = append(names, graph)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if unnamed {
		names = append(names, triple.Term{})
	}
	for _, graph := range names {
		if err := r.delta.clear(graph); err != nil {
			return err
		}
	}
	return nil
}

// graphOf returns the name of one graph, the zero Term of the default graph.
func graphOf(ref ast.GraphRef) triple.Term {
	if ref.Kind == ast.DefaultGraph {
		return triple.Term{}
	}
	return triple.NewIRI(ref.IRI)
}

// create returns CREATE (section 3.2.1).
func create(op *ast.Create) func(*run) error {
	return func(r *run) error {
		exists, err := r.exists(triple.NewIRI(op.Graph))
		if err == nil && exists && !op.Silent {
			err = fmt.Errorf("%w: <%s>; leave CREATE away, or write CREATE SILENT", ErrGraphExists, op.Graph)
		}
		return err
	}
}

// exists reports whether a graph has triples; the default graph always exists.
func (r *run) exists(graph triple.Term) (bool, error) {
	if graph.IsZero() {
		return true, nil
	}
	key, _ := triple.AppendTerm(nil, graph)
	rows, err := r.source().Scan(r.ctx, graphRange(key), false)
	if err != nil {
		return false, err
	}
	ok := rows.Next()
	err = rows.Err()
	if e := rows.Close(); err == nil {
		err = e
	}
	return ok, err
}

// transfer returns ADD, MOVE or COPY (sections 3.2.3 to 3.2.5).
func transfer(op *ast.Transfer) func(*run) error {
	from, to := graphOf(op.From), graphOf(op.To)
	return func(r *run) error {
		if from == to {
			return nil
		}
		// 1. The graph must exist, unless SILENT is given.
		exists, err := r.exists(from)
		if err != nil {
			return err
		}
		if !exists {
			if op.Silent {
				return nil
			}
			return fmt.Errorf("%w: <%s> has no triples; write %s SILENT to pass over it", ErrNoGraph, op.From.IRI, op.Verb)
		}
		// 2. COPY and MOVE replace the target, so it must be cleared first.
		if op.Verb != ast.Add {
			if err := r.delta.clear(to); err != nil {
				return err
			}
		}
		if err := r.copyGraph(from, to); err != nil {
			return err
		}
		// 3. MOVE removes the source, because it is in the target now.
		if op.Verb == ast.Move {
			return r.delta.clear(from)
		}
		return nil
	}
}

// copyGraph adds the triples of one graph to another. It decodes none of them.
func (r *run) copyGraph(from, to triple.Term) error {
	fromKey, _ := triple.AppendTerm(nil, from)
	target := boundOf(to)
	rows, err := r.source().Scan(r.ctx, graphRange(fromKey), false)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		key, data := rows.Row()
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return err
		}
		// The rows of the default graph stand among those of named graphs.
		if from.IsZero() && len(terms[triple.Graph]) > 0 {
			continue
		}
		value, err := triple.DecodeValue(data)
		if err != nil {
			return err
		}
		// The keys are taken over; only the graph is another. Stamps are given when the change is
		// applied.
		terms[triple.Graph], value.Long[triple.Graph] = target.key, target.whole
		value.Stamp = triple.Stamp{}
		q := quad{terms: terms, value: valueString(value.Append(nil))}
		if err := r.delta.add(&q); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Edges and nodes from columns.

package path

import (
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// lists returns the neighbours by a predicate from its column; nil if it has none, or one with long
// terms, because their names are in rows only.
func (w *Walker) lists(iri string, forward bool) *columns.Lists {
	if w.Columns == nil {
		return nil
	}
	col, ok := w.Columns.Column(solution.KeyOfIRI(iri))
	switch {
	case !ok || col.LongSubjects || col.LongObjects:
		return nil
	case forward:
		return &col.BySubject
	}
	return &col.ByObject
}

// columnEdges returns for each node its neighbours in lists.
func (w *Walker) columnEdges(from []int32, l *columns.Lists) ([][]int32, error) {
	to := make([][]int32, len(from))
	near, reads := 0, 0
	for i, node := range from {
		number, ok := solution.Number(w.names[node])
		if !ok {
			continue // a term that no column has
		}
		if near, ok = l.Find(number, near); !ok {
			continue
		}
		for at, end := l.Bounds(near); at < end; at++ {
			if reads++; reads%solution.BatchRows == 0 {
				if err := w.Exec.Check(); err != nil {
					return nil, err
				}
			}
			id, err := w.idOf(l.Value(at))
			if err != nil {
				return nil, err
			}
			to[i] = append(to[i], id)
		}
	}
	w.Plan.AddReads(reads)
	return to, nil
}

// complete reports whether the columns have all nodes of the active graph.
func (w *Walker) complete() bool { return w.Columns != nil && w.Columns.Complete() }

// addKeys adds the keys of lists to nodes.
func (w *Walker) addKeys(to *nodeList, l *columns.Lists) error {
	w.Plan.AddReads(l.Keys())
	keys := l.All()
	for {
		i, ok := l.Next(&keys)
		if !ok {
			return nil
		}
		if err := w.addNumber(to, l.Key(i)); err != nil {
			return err
		}
	}
}

// addNumber adds the node with a number to nodes.
func (w *Walker) addNumber(to *nodeList, number uint32) error {
	if number%solution.BatchRows == 0 {
		if err := w.Exec.Check(); err != nil {
			return err
		}
	}
	id, err := w.idOf(number)
	if err == nil {
		to.add(id)
	}
	return err
}

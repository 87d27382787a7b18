// DELETE and INSERT with WHERE.

package update

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/plan"
	"github.com/trefoildb/trefoil/triple"
)

// modify is DELETE and INSERT with WHERE (section 3.1.3).
type modify struct {
	body             algebra.Body
	dataset          plan.Dataset
	deletes, inserts []template
	labels           int // of blank nodes in inserts
	computed         bool
}

func modifyName(m *ast.Modify) string {
	switch {
	case len(m.Insert) == 0:
		return "DELETE"
	case len(m.Delete) == 0:
		return "INSERT"
	}
	return "DELETE and INSERT"
}

// modify returns the operation.
func (r *Request) modify(op *ast.Modify) (func(*run) error, error) {
	query := r.opts.Query
	given := len(query.DefaultGraphs) > 0 || len(query.NamedGraphs) > 0
	if given && (op.With != "" || len(op.Using) > 0) {
		return nil, fmt.Errorf("%w: by WITH or USING, and by using-graph-uri or using-named-graph-uri; leave one away", ErrDataset)
	}
	// 1. Translate WHERE and the templates.
	translated := algebra.TranslateModify(op)
	m := &modify{body: translated.Body.Simplify()}
	m.computed = computes(m.body.Root)
	// 2. Choose the dataset of WHERE: the protocol's goes before USING, and USING before WITH.
	switch {
	case given:
		m.dataset = plan.Dataset{Default: query.DefaultGraphs, Named: query.NamedGraphs}
	case len(op.Using) > 0:
		for _, clause := range op.Using {
			if clause.Named {
				m.dataset.Named = append(m.dataset.Named, clause.IRI)
			} else {
				m.dataset.Default = append(m.dataset.Default, clause.IRI)
			}
		}
	case op.With != "":
		m.dataset = plan.Dataset{Default: []string{op.With}, AllNamed: true}
	}
	// 3. WITH is also the graph of a template if it names none. All templates must share
	// labels.
	var with triple.Term
	if op.With != "" {
		with = triple.NewIRI(op.With)
	}
	labels := map[string]int{}
	m.deletes = templates(translated.Delete, with, labels)
	m.inserts = templates(translated.Insert, with, labels)
	m.labels = len(labels)
	return m.run, nil
}

// computes reports whether solutions of n may have terms from no row. These must be checked,
// because a store would reject the request if one is not RDF's.
func computes(n algebra.Node) bool {
	switch n.(type) {
	case *algebra.Extend, *algebra.Group, *algebra.Service, *algebra.LinkJoin, *algebra.LinkRank, *algebra.TextJoin:
		return true
	}
	return slices.ContainsFunc(algebra.Inputs(n), computes)
}

// run carries the operation out. The solutions are those of the state before it, because its
// source does not show its own writes.
func (m *modify) run(r *run) error {
	query := r.opts.Query
	src := r.source()
	if changed, ok := src.(*overlay); ok {
		query.Changed = changed.changes
	}
	solutions, err := plan.Start(r.ctx, src, &m.body, m.dataset, query, nil)
	if err != nil {
		return err
	}
	defer solutions.Close()
	// Solutions are read from the state before the operation: the delta hides this operation's
	// changes from it.
	f := filler{modify: m, run: r, solution: solutions, labels: make([]bound, m.labels)}
	for _, slot := range f.slots() {
		f.vars = append(f.vars, variable{slot: slot})
	}
	for solutions.Next() {
		if err := f.solve(); err != nil {
			return err
		}
		// Deletions must go before insertions, because a triple in both must stay.
		for i := range m.deletes {
			ok, err := f.fill(&m.deletes[i])
			if ok && err == nil {
				err = r.delta.remove(&f.quad)
			}
			if err != nil {
				return err
			}
		}
		for i := range m.inserts {
			ok, err := f.fill(&m.inserts[i])
			if ok && err == nil {
				err = r.delta.add(&f.quad)
			}
			if err != nil {
				return err
			}
		}
	}
	return solutions.Err()
}

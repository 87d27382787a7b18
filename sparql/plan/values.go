// VALUES: rows of the query.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// table joins in with rows.
func (p *part) table(n *algebra.Table, in stream) (stream, error) {
	in = p.terms(in, algebra.SetOf(n.Slots...))
	v := &exec.Values{Exec: p.exec, Input: in.op, Slots: n.Slots, Batch: p.exec.NewBatch()}
	for _, terms := range n.Rows {
		row := make([]string, len(terms))
		for i, t := range terms {
			row[i] = solution.Encode(t)
		}
		v.Rows = append(v.Rows, row)
	}
	certain, possible := p.variables.Vars(n)
	in.certain, in.possible = in.certain.Union(certain), in.possible.Union(possible)
	in.rows *= float64(max(1, len(n.Rows)))
	return p.traced(in, v, "values", func() string { return fmt.Sprintf("%d rows", len(n.Rows)) }, in.plan), nil
}

// VALUES: rows of the query.

package build

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Table joins in with rows.
func (p *Part) Table(n *algebra.Table, in Stream) (Stream, error) {
	in = p.Terms(in, algebra.SetOf(n.Slots...))
	v := &exec.Values{Exec: p.Exec, Input: in.Op, Slots: n.Slots, Batch: p.Exec.NewBatch()}
	for _, terms := range n.Rows {
		row := make([]string, len(terms))
		for i, t := range terms {
			row[i] = solution.Encode(t)
		}
		v.Rows = append(v.Rows, row)
	}
	certain, possible := p.Variables.Vars(n)
	in.Certain, in.Possible = in.Certain.Union(certain), in.Possible.Union(possible)
	in.Rows *= float64(max(1, len(n.Rows)))
	return p.Traced(in, v, "values", func() string { return fmt.Sprintf("%d rows", len(n.Rows)) }, in.Plan), nil
}

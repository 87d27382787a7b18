// Property paths become operators.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

func (c *compiler) path(n *algebra.Path, in stream, g pattern.Graphs) (stream, error) {
	if negated, ok := n.Path.(*ast.PathNegated); ok {
		// 1. A negated set is one pattern with excluded predicates.
		pat := newPattern(n.Subject, algebra.VarOrTerm{Slot: -1}, n.Object, g, c.spans)
		pat.Excluded = map[string]bool{}
		for _, member := range negated.Set {
			pat.Excluded[solution.KeyOfIRI(member.IRI)] = true
		}
		list := []candidate{{pat: pat, text: "!" + ast.PathString(n.Path)}}
		if err := c.estimator.estimate(list, 0); err != nil {
			return in, err
		}
		in = c.terms(in, in.numbers)
		p := newPlanner(c, list, in)
		return c.look(&p.list[0], in, p.best()[0].rows), nil
	}
	// 2. A repeated path is searched. If a term replaces a variable, it need not be in the
	// graph.
	for _, at := range []algebra.VarOrTerm{n.Subject, n.Object} {
		if at.IsVar() {
			in = c.terms(in, setOf([]int{at.Slot}))
		}
	}
	p := &path.Join{
		Exec: c.query, Input: in.op, Subject: placeOf(n.Subject, true), Object: placeOf(n.Object, true),
		Repeat: n.Path.(*ast.PathRepeat), Empty: path.Empty(n.Path), Chunk: exec.FirstChunkRows, Graphs: g, Batch: c.query.NewBatch(), Seeded: map[int]bool{},
		Holder: c.query.Account.NewHolder("path"),
	}
	if c.substitute {
		for _, slot := range c.maybeSeeds.Slots() {
			p.Seeded[slot] = true
		}
	}
	in.rows *= 10
	for _, at := range []algebra.VarOrTerm{n.Subject, n.Object} {
		if at.IsVar() {
			in.bind(at.Slot)
		}
	}
	out := c.traced(in, p, "path", ast.PathString(n.Path), in.plan)
	p.Plan = out.plan
	p.Walk = path.Walker{Exec: c.query, Graphs: &p.Graphs, Plan: p.Plan, Holder: &p.Holder}
	return out, nil
}

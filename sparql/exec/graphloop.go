// GRAPH with a variable: the input runs once for each named graph.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// GraphLoop runs its input once for each named graph, whose name binds a variable.
type GraphLoop struct {
	Exec  *Execution
	Input Operator
	Name  *string  // the graph of the patterns of input
	Slot  int      // of the variable
	Only  []string // whole names; nil for those of the store
	memory.Holder

	begun bool
	names []string
	at    int
}

func (g *GraphLoop) Next(out *solution.Batch) error {
	// 1. List the graphs when the first row is wanted.
	if !g.begun {
		if err := g.list(); err != nil {
			return err
		}
		g.begun = true
		g.at = -1
	}
	for {
		// 2. Give the rows of the present graph.
		if g.at >= 0 && g.at < len(g.names) {
			if err := g.Input.Next(out); err != nil {
				return err
			}
			if out.Len > 0 {
				g.bind(out)
				if out.Len > 0 {
					return nil
				}
				continue
			}
		}
		if g.at+1 >= len(g.names) {
			g.at = len(g.names)
			return nil
		}
		if err := g.Exec.Check(); err != nil {
			return err
		}
		// 3. Move to the next graph. The patterns of the input share the name.
		g.at++
		*g.Name = string(solution.AppendKeyForm(nil, g.names[g.at]))
		g.Input.Reset()
	}
}

// bind binds the variable, and drops a row if it binds the variable to another term.
func (g *GraphLoop) bind(out *solution.Batch) {
	n := 0
	for i := range out.Len {
		row := out.Row(i)
		if row[g.Slot] != "" && row[g.Slot] != g.names[g.at] {
			continue
		}
		row[g.Slot] = g.names[g.at]
		copy(out.Row(n), row)
		out.Origin[n] = out.Origin[i]
		n++
	}
	out.Truncate(n)
}

func (g *GraphLoop) list() error {
	g.names = nil
	if g.Only != nil {
		g.names = g.Only
		return nil
	}
	g.Account, g.Holder.Name = g.Exec.Account, "each graph"
	g.Free()
	return pattern.EachGraphName(g.Exec.Ctx, g.Exec.Source, func(name []byte) error {
		if err := g.Grow(len(name) + 2*16); err != nil {
			return err
		}
		g.names = append(g.names, string(name))
		return nil
	})
}

func (g *GraphLoop) Reset() { g.begun = false; g.Input.Reset() }
func (g *GraphLoop) Close() {
	if g.Account != nil {
		g.names = nil
		g.Free()
	}
	g.Input.Close()
}

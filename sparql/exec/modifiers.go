// Projection, LIMIT and OFFSET.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Project unbinds all variables but some.
type Project struct {
	Input Operator
	Keep  []bool
}

func (p *Project) Next(out *solution.Batch) error {
	if err := p.Input.Next(out); err != nil {
		return err
	}
	for i := range out.Len {
		row := out.Row(i)
		for slot, keep := range p.Keep {
			if !keep {
				row[slot] = ""
			}
		}
	}
	return nil
}

func (p *Project) Reset() { p.Input.Reset() }
func (p *Project) Close() { p.Input.Close() }

// Slice passes a part of the rows, and reads no more.
type Slice struct {
	Input         Operator
	Offset, Limit int64
	seen, given   int64
}

func (s *Slice) Next(out *solution.Batch) error {
	for s.Limit == ast.NoLimit || s.given < s.Limit {
		if err := s.Input.Next(out); err != nil || out.Len == 0 {
			return err
		}
		skip := int(min(s.Offset-s.seen, int64(out.Len)))
		s.seen += int64(skip)
		take := out.Len - skip
		if s.Limit != ast.NoLimit {
			take = int(min(int64(take), s.Limit-s.given))
		}
		if skip > 0 {
			copy(out.Cells, out.Cells[skip*out.Width:])
			copy(out.Origin, out.Origin[skip:])
		}
		out.Truncate(take)
		s.given += int64(take)
		if take > 0 {
			return nil
		}
		out.Clear()
	}
	return nil
}

func (s *Slice) Reset() { s.seen, s.given = 0, 0; s.Input.Reset() }
func (s *Slice) Close() { s.Input.Close() }

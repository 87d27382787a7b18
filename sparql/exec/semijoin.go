// EXISTS: for a batch of rows, or for one row within an expression.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// SemiJoin passes a row if it has a match in an EXISTS, or with not if it has none. The pattern
// starts from a whole batch at a time.
type SemiJoin struct {
	Exec     *Execution
	Input    Operator
	Inner    Operator
	Feed     *Feed
	Negated  bool
	RowByRow bool // the pattern is run row by row

	Got     *solution.Batch
	matched []bool
	Single  *solution.Batch
}

// semiMatches bounds the matches for each row of a batch. If a pattern gives more, it is run
// row by row, for the first match of each.
const semiMatches = 8

func (s *SemiJoin) Next(out *solution.Batch) error {
	for {
		if err := s.Exec.Check(); err != nil {
			return err
		}
		if err := s.Input.Next(out); err != nil || out.Len == 0 {
			return err
		}
		if err := s.match(out); err != nil {
			return err
		}
		n := 0
		for i := range out.Len {
			if s.matched[i] == s.Negated {
				continue
			}
			if n < i {
				copy(out.Row(n), out.Row(i))
				out.Origin[n] = out.Origin[i]
			}
			n++
		}
		if out.Truncate(n); n > 0 {
			return nil
		}
	}
}

// match marks a row if it has a match.
func (s *SemiJoin) match(rows *solution.Batch) error {
	s.matched = append(s.matched[:0], make([]bool, rows.Len)...)
	if s.RowByRow {
		return s.matchRowByRow(rows)
	}
	s.Feed.Rows = rows
	s.Inner.Reset()
	left := rows.Len
	for seen := 0; left > 0; seen += s.Got.Len {
		s.Got.Clear()
		if seen > semiMatches*rows.Len+solution.BatchRows {
			return s.matchRowByRow(rows)
		}
		if err := s.Inner.Next(s.Got); err != nil || s.Got.Len == 0 {
			return err
		}
		for _, ord := range s.Got.Origin {
			if !s.matched[ord] {
				s.matched[ord] = true
				left--
			}
		}
	}
	return nil
}

func (s *SemiJoin) matchRowByRow(rows *solution.Batch) error {
	for i, matched := range s.matched {
		if matched {
			continue
		}
		s.Single.Clear()
		s.Single.Add(rows.Row(i), 0)
		s.Feed.Rows = s.Single
		s.Inner.Reset()
		s.Got.Clear()
		if err := s.Inner.Next(s.Got); err != nil {
			return err
		}
		s.matched[i] = s.Got.Len > 0
	}
	return nil
}

func (s *SemiJoin) Reset() { s.Input.Reset() }
func (s *SemiJoin) Close() {
	s.Got.Free()
	s.Single.Free()
	s.Input.Close()
	s.Inner.Close()
}

// Exists is the pattern of an EXISTS: it starts from one row at a time, with which each of its groups begins.
type Exists struct {
	Feed     *Feed
	Operator Operator
	Copies   []algebra.Copy
	Out      *solution.Batch
}

// Test reports whether the pattern has a solution for the row.
func (x *Exists) Test(row []string) (bool, error) {
	x.Feed.Rows.Clear()
	first := x.Feed.Rows.Add(row, 0)
	for _, one := range x.Copies {
		first[one.To] = first[one.From]
	}
	x.Operator.Reset()
	x.Out.Clear()
	err := x.Operator.Next(x.Out)
	return x.Out.Len > 0, err
}

package exec

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// semiJoin passes the rows that have a match in an EXISTS, or with not those that
// have none. The pattern starts from a whole batch at a time.
type semiJoin struct {
	q     *query
	in    operator
	inner operator
	feed  *feed
	not   bool
	apart bool // the pattern is asked row by row

	got     *batch
	matched []bool
	single  *batch
}

// semiMatches is how many matches for each row of a batch are taken together. A
// pattern that gives more is asked row by row, for the first match of each.
const semiMatches = 8

func (s *semiJoin) next(out *batch) error {
	for {
		if err := s.q.check(); err != nil {
			return err
		}
		if err := s.in.next(out); err != nil || out.n == 0 {
			return err
		}
		if err := s.match(out); err != nil {
			return err
		}
		n := 0
		for i := range out.n {
			if s.matched[i] == s.not {
				continue
			}
			if n < i {
				copy(out.row(n), out.row(i))
				out.ord[n] = out.ord[i]
			}
			n++
		}
		if out.truncate(n); n > 0 {
			return nil
		}
	}
}

// match sets which rows have a match.
func (s *semiJoin) match(rows *batch) error {
	s.matched = append(s.matched[:0], make([]bool, rows.n)...)
	if s.apart {
		return s.rowByRow(rows)
	}
	s.feed.rows = rows
	s.inner.reset()
	left := rows.n
	for seen := 0; left > 0; seen += s.got.n {
		s.got.clear()
		if seen > semiMatches*rows.n+batchRows {
			return s.rowByRow(rows)
		}
		if err := s.inner.next(s.got); err != nil || s.got.n == 0 {
			return err
		}
		for _, ord := range s.got.ord {
			if !s.matched[ord] {
				s.matched[ord] = true
				left--
			}
		}
	}
	return nil
}

func (s *semiJoin) rowByRow(rows *batch) error {
	for i, matched := range s.matched {
		if matched {
			continue
		}
		s.single.clear()
		s.single.add(rows.row(i), 0)
		s.feed.rows = s.single
		s.inner.reset()
		s.got.clear()
		if err := s.inner.next(s.got); err != nil {
			return err
		}
		s.matched[i] = s.got.n > 0
	}
	return nil
}

func (s *semiJoin) reset() { s.in.reset() }
func (s *semiJoin) close() { s.in.close(); s.inner.close() }

// semiJoins takes from conditions those that are an EXISTS whose pattern may start
// from many rows.
func (c *compiler) semiJoins(conds []ast.Expr) (semi []*ast.Exists, others []ast.Expr) {
	for _, cond := range algebra.SplitConds(conds) {
		x, ok := cond.(*ast.Exists)
		if ok && structural(c.body.Exists[x.Index]) {
			semi = append(semi, x)
			continue
		}
		others = append(others, cond)
	}
	return semi, others
}

// semiJoin passes the rows of in for which x holds.
func (c *compiler) semiJoin(x *ast.Exists, in stream, g graphs, depth int) (stream, error) {
	sub := c.substituted(in)
	inner, err := sub.compile(c.body.Exists[x.Index], sub.begin(), g, depth)
	if err != nil {
		return in, err
	}
	s := &semiJoin{
		q: c.query, in: in.op, inner: inner.op, feed: sub.feed, not: x.Not, apart: *sub.mixed,
		got: newBatch(c.query.width), single: newBatch(c.query.width),
	}
	name := "semi join"
	if x.Not {
		name = "anti join"
	}
	return c.traced(in, s, name, "", in.plan, inner.plan), nil
}

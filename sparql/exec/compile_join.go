// How joins of all kinds become operators: joins, unions, optional parts, MINUS.

package exec

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// hashed joins in with n, which is executed on its own.
func (c *compiler) hashed(n algebra.Node, in stream, g graphs, depth int) (stream, error) {
	right, err := c.inner(n, g, depth)
	if err != nil {
		return stream{}, err
	}
	return c.hashJoin(innerJoin, in, right, nil, nil), nil
}

// inner returns n executed on its own; under substitution, from the row whose
// terms replace variables.
func (c *compiler) inner(n algebra.Node, g graphs, depth int) (stream, error) {
	sub := c.alone()
	if !c.substitute {
		sub.feed, sub.certain, sub.possible = nil, nil, nil
	}
	return sub.compile(n, sub.begin(), g, depth)
}

var joinNames = [...]string{innerJoin: "hash join", leftJoin: "hash left join", minus: "minus"}

func (c *compiler) hashJoin(kind joinKind, left, right stream, conds []*expr.Expr, env *expr.Env) stream {
	if c.substitute {
		*c.mixed = true
	}
	shared := left.possible.Intersect(right.possible)
	keys := left.certain.Intersect(right.certain)
	if keys.Len() == 0 {
		keys = shared
	}
	j := &hashJoin{
		q: c.query, kind: kind, left: left.op, right: right.op, shared: shared.Slots(),
		conds: conds, env: env, again: c.substitute || c.looped, input: newBatch(c.query.width),
		keepOrder: c.feed != nil || c.want != nil && c.want.got,
	}
	j.table = newHashTable(c.query, joinNames[kind], keys.Slots())
	out := left
	switch kind {
	case minus:
		for _, slot := range j.shared {
			if !c.possible.Has(slot) {
				j.domain = append(j.domain, slot)
			}
		}
	case leftJoin:
		out.possible = union(left.possible, right.possible)
	default:
		out.possible = union(left.possible, right.possible)
		out.certain = union(left.certain, right.certain)
		out.rows = max(left.rows, right.rows)
		if len(j.shared) == 0 {
			out.rows = left.rows * right.rows
		}
	}
	return c.traced(out, j, joinNames[kind], c.names(keys), left.plan, right.plan)
}

// join compiles the arguments of a join: rows of the query first, then patterns,
// then all others, as they were written.
func (c *compiler) join(n *algebra.Join, in stream, g graphs, depth int) (stream, error) {
	var patterns []algebra.TriplePattern
	var tables, paths, others []algebra.Node
	var flatten func(args []algebra.Node)
	flatten = func(args []algebra.Node) {
		for _, arg := range args {
			switch arg := arg.(type) {
			case *algebra.Join:
				flatten(arg.Args)
			case *algebra.BGP:
				patterns = append(patterns, arg.Patterns...)
			case *algebra.Table:
				tables = append(tables, arg)
			case *algebra.Path:
				paths = append(paths, arg)
			case *algebra.Unit:
			default:
				others = append(others, arg)
			}
		}
	}
	flatten(n.Args)
	for _, arg := range tables {
		var err error
		if in, err = c.compile(arg, in, g, depth); err != nil {
			return in, err
		}
	}
	if i, err := c.pathFirst(paths, patterns, in, g); err != nil {
		return in, err
	} else if i >= 0 {
		if in, err = c.compile(paths[i], in, g, depth); err != nil {
			return in, err
		}
		paths = slices.Delete(paths, i, i+1)
	}
	if len(patterns) > 0 {
		var err error
		if in, err = c.bgp(patterns, in, g); err != nil {
			return in, err
		}
	}
	// A path with a bound end first, and before what is hashed.
	for len(paths) > 0 {
		best := 0
		for i, arg := range paths {
			p := arg.(*algebra.Path)
			if !p.Subject.IsVar() || !p.Object.IsVar() || in.certain.Has(p.Subject.Slot) || in.certain.Has(p.Object.Slot) {
				best = i
				break
			}
		}
		if in.start && len(others) > 0 && unboundPath(paths[best], in.certain) {
			break // what follows may bind an end
		}
		var err error
		if in, err = c.compile(paths[best], in, g, depth); err != nil {
			return in, err
		}
		paths = append(paths[:best], paths[best+1:]...)
	}
	for _, arg := range append(others, paths...) {
		var err error
		if in, err = c.compile(arg, in, g, depth); err != nil {
			return in, err
		}
	}
	return in, nil
}

// pathFirst returns which path to go before the patterns, negative for none: one
// from a term of the query, of which few nodes are expected, where every pattern
// has many rows.
func (c *compiler) pathFirst(paths []algebra.Node, patterns []algebra.TriplePattern, in stream, g graphs) (int, error) {
	if !in.start || c.feed != nil || c.want != nil || len(patterns) == 0 {
		return -1, nil
	}
	for i, n := range paths {
		p := n.(*algebra.Path)
		if _, repeats := p.Path.(*ast.PathRepeat); !repeats || p.Subject.IsVar() == p.Object.IsVar() {
			continue
		}
		list := make([]candidate, len(patterns))
		for n, pattern := range patterns {
			list[n].pat = c.newPattern(pattern.Subject, pattern.Predicate, pattern.Object, g)
		}
		if err := c.survey(list, 0); err != nil {
			return -1, err
		}
		if slices.ContainsFunc(list, func(one candidate) bool { return one.rows < manyRows }) {
			return -1, nil
		}
		return i, nil
	}
	return -1, nil
}

// manyRows is how many rows every pattern has at least for a path to go first.
const manyRows = 1000

func unboundPath(n algebra.Node, certain algebra.Set) bool {
	p := n.(*algebra.Path)
	return p.Subject.IsVar() && p.Object.IsVar() && !certain.Has(p.Subject.Slot) && !certain.Has(p.Object.Slot)
}

// below returns a compiler whose leaves start from a feed of the stream's rows.
func (c *compiler) below(s stream) *compiler {
	sub := *c
	sub.feed = &feed{}
	sub.certain, sub.possible = s.certain, s.possible
	sub.want, sub.top, sub.goal, sub.spans = nil, -1, 0, nil
	return &sub
}

func (c *compiler) union(n *algebra.Union, in stream, g graphs, depth int) (stream, error) {
	sub := c
	lateral := !in.start
	if lateral {
		sub = c.below(in)
		sub.spans = c.spans
	} else {
		copied := *c
		sub = &copied
		sub.want, sub.top = nil, -1
	}
	if c.want != nil {
		c.want.got = false
	}
	var ops []operator
	var plans []*Plan
	out := stream{}
	for i, arg := range n.Args {
		s, err := sub.compile(arg, sub.begin(), g, depth)
		if err != nil {
			return in, err
		}
		if s.start && s.plan == nil {
			s.plan = c.plan("unit", "", 1)
		}
		ops = append(ops, s.op)
		plans = append(plans, s.plan)
		out.rows += s.rows
		out.possible = union(out.possible, s.possible)
		if i == 0 {
			out.certain = s.certain
		} else {
			out.certain = out.certain.Intersect(s.certain)
		}
	}
	branches := &concat{inputs: ops}
	if !lateral {
		return c.traced(out, branches, "union", "", plans...), nil
	}
	u := &lateralUnion{q: c.query, in: in.op, feed: sub.feed, branches: branches, input: newBatch(c.query.width)}
	out.rows *= max(1, in.rows/batchRows)
	return c.traced(out, u, "union of each row", "", append([]*Plan{in.plan}, plans...)...), nil
}

func (c *compiler) leftJoin(n *algebra.LeftJoin, in stream, g graphs, depth int) (stream, error) {
	left, err := c.compile(n.Left, in, g, depth)
	if err != nil {
		return in, err
	}
	conds, err := c.exprs(n.Conds)
	if err != nil {
		return in, err
	}
	if !c.mayStart(n.Right, left.possible) {
		right, err := c.inner(n.Right, g, depth)
		if err != nil {
			return in, err
		}
		env, plans, err := c.newEnv(g, n.Conds, both(left, right))
		if err != nil {
			return in, err
		}
		out := c.hashJoin(leftJoin, left, right, conds, env)
		out.plan.Inputs = append(out.plan.Inputs, plans...)
		return out, nil
	}
	sub := c.below(left)
	sub.spans = restrictions(nil, n.Conds)
	right, err := sub.compile(n.Right, sub.begin(), g, depth)
	if err != nil {
		return in, err
	}
	env, plans, err := c.newEnv(g, n.Conds, both(left, right))
	if err != nil {
		return in, err
	}
	l := &lateralLeft{
		q: c.query, left: left.op, right: right.op, feed: sub.feed, conds: conds, env: env,
		inSequence: right.sequence, input: newBatch(c.query.width), got: newBatch(c.query.width),
	}
	out := left
	out.possible = union(left.possible, right.possible)
	out.sequence = left.sequence && right.sequence
	if !out.sequence && c.want != nil {
		c.want.got = false
	}
	return c.traced(out, l, "left join of each row", exprText(n.Conds), append([]*Plan{left.plan, right.plan}, plans...)...), nil
}

// both returns what two sides of a join bind together.
func both(left, right stream) stream {
	return stream{certain: union(left.certain, right.certain), possible: union(left.possible, right.possible)}
}

func (c *compiler) minus(n *algebra.Minus, in stream, g graphs, depth int) (stream, error) {
	left, err := c.compile(n.Left, in, g, depth)
	if err != nil {
		return in, err
	}
	right, err := c.inner(n.Right, g, depth)
	if err != nil {
		return in, err
	}
	return c.hashJoin(minus, left, right, nil, nil), nil
}

// alone says that what is below is not under the modifiers and filters above.
func (c *compiler) alone() *compiler {
	sub := *c
	sub.spans, sub.want, sub.top, sub.goal = nil, nil, -1, 0
	return &sub
}

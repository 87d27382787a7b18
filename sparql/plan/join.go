// How joins of all kinds become operators: joins, unions, optional parts, MINUS.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// hashed joins in with n. n is executed on its own.
func (c *compiler) hashed(n algebra.Node, in stream, g pattern.Graphs, depth int) (stream, error) {
	right, err := c.inner(n, g, depth)
	if err != nil {
		return stream{}, err
	}
	return c.hashJoin(exec.InnerJoin, in, right, nil, nil), nil
}

// inner returns n executed on its own; under substitution, from the row whose
// terms replace variables.
func (c *compiler) inner(n algebra.Node, g pattern.Graphs, depth int) (stream, error) {
	sub := c.alone()
	if !c.substitute {
		none := algebra.Set{}
		sub.feed, sub.certain, sub.possible, sub.numbers = nil, none, none, none
	}
	return sub.compile(n, sub.begin(), g, depth)
}

var joinNames = [...]string{exec.InnerJoin: "hash join", exec.LeftJoin: "hash left join", exec.Minus: "minus"}

func (c *compiler) hashJoin(kind exec.JoinKind, left, right stream, conds []*expr.Expr, env *expr.Env) stream {
	if c.substitute {
		*c.mixed = true
	}
	left, right = c.alike(left, right)
	// 1. Rows are hashed by the certain variables of both sides. If there are none, any shared
	// ones serve, and a row stands apart if it leaves one unbound.
	shared := left.possible.Intersect(right.possible)
	keys := left.certain.Intersect(right.certain)
	if keys.Len() == 0 {
		keys = shared
	}
	j := &exec.HashJoin{
		Exec: c.query, Kind: kind, Left: left.op, Right: right.op, Shared: shared.Slots(),
		Conditions: conds, Env: env, Again: c.substitute || c.looped, Batch: c.query.NewBatch(),
		KeepOrder: c.feed != nil || c.want != nil && c.want.got,
	}
	j.Table = solution.NewHashTable(c.query.Account.NewHolder(joinNames[kind]), c.query.Width, keys.Slots())
	// 2. Set the variables and the estimate of the resulting rows.
	out := left
	switch kind {
	case exec.Minus:
		// In an EXISTS both sides begin with its solution, which they share.
		j.Domain = j.Shared
	case exec.LeftJoin:
		out.possible = left.possible.Union(right.possible)
		out.numbers = left.numbers.Union(right.numbers)
	default:
		out.numbers = left.numbers.Union(right.numbers)
		out.possible = left.possible.Union(right.possible)
		out.certain = left.certain.Union(right.certain)
		out.rows = max(left.rows, right.rows)
		if len(j.Shared) == 0 {
			out.rows = left.rows * right.rows
		}
	}
	return c.traced(out, j, joinNames[kind], names(c.body.Scope, keys), left.plan, right.plan)
}

// join compiles the arguments of a join: rows of the query first, then patterns,
// then all others, as they were written.
func (c *compiler) join(n *algebra.Join, in stream, g pattern.Graphs, depth int) (stream, error) {
	// 1. Sort the arguments by kind. Joins in joins are one.
	var patterns []algebra.TriplePattern
	var tables, paths, others []algebra.Node
	var unfolds []*algebra.Unfold
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
			case *algebra.Path, *algebra.LinkJoin, *algebra.TextJoin:
				paths = append(paths, arg)
			case *algebra.Unfold:
				unfolds = append(unfolds, arg)
			case *algebra.Unit:
			default:
				others = append(others, arg)
			}
		}
	}
	flatten(n.Args)
	if len(unfolds) > 0 {
		c = c.withUnfolds(unfolds, patterns, g)
	}
	// 2. Rows of the query go first, because they are few.
	for _, arg := range tables {
		var err error
		if in, err = c.joined(arg, in, g, depth); err != nil {
			return in, err
		}
	}
	// 3. An argument with few rows goes before the patterns if all have many, and so do the best pages of a graph
	// if the query wants them first.
	if len(others) == 0 {
		best, err := c.bestFirst(paths, patterns, in, g)
		if err != nil {
			return in, err
		}
		if best != nil {
			if in, err = c.joined(best, in, g, depth); err != nil {
				return in, err
			}
			paths = slices.DeleteFunc(paths, func(n algebra.Node) bool { return n == best })
		}
	}
	if in.start && c.feed == nil && !c.wantsAny(patterns) && len(patterns) > 0 {
		first, err := c.first(append(slices.Clip(paths), others...), patterns, g)
		if err != nil {
			return in, err
		}
		if first != nil {
			sub := *c
			sub.want = nil // the patterns behind it need not keep its sequence
			if in, err = sub.joined(first, in, g, depth); err != nil {
				return in, err
			}
			isFirst := func(n algebra.Node) bool { return n == first }
			paths, others = slices.DeleteFunc(paths, isFirst), slices.DeleteFunc(others, isFirst)
		}
	}
	// 4. All patterns are ordered together, but those that a path or a function links with the others follow it.
	apart := []component{{patterns: patterns}}
	if len(paths) > 0 && len(patterns) > 1 {
		var err error
		if apart, err = c.components(patterns, in, g); err != nil {
			return in, err
		}
	}
	startsFirst(apart, paths)
	if next, ok := nextComponent(&apart, in, false); ok {
		var err error
		if in, err = c.bgp(next.patterns, in, g); err != nil {
			return in, err
		}
	}
	in, err := c.bgps(&apart, in, g, len(paths) > 0)
	if err != nil {
		return in, err
	}
	// 5. Paths and functions follow: before inputs hashed if an end is bound, else behind them. The others are
	// joined as they were written.
	if in, paths, err = c.joinPaths(paths, &apart, len(others) > 0, in, g, depth); err != nil {
		return in, err
	}
	if in, err = c.bgps(&apart, in, g, false); err != nil {
		return in, err
	}
	for _, arg := range others {
		if in, err = c.joined(arg, in, g, depth); err != nil {
			return in, err
		}
	}
	if in, _, err = c.joinPaths(paths, &apart, false, in, g, depth); err != nil {
		return in, err
	}
	return c.allUnfolded(in)
}

// bgps joins in with components. With linked, they must share variables with it.
func (c *compiler) bgps(apart *[]component, in stream, g pattern.Graphs, linked bool) (out stream, err error) {
	for next, ok := nextComponent(apart, in, linked); ok; next, ok = nextComponent(apart, in, linked) {
		if in, err = c.bgp(next.patterns, in, g); err != nil {
			return in, err
		}
	}
	return in, nil
}

// joinPaths joins in with paths and functions of links, the one with the fewest solutions first, and with the
// components that they link. With wait it returns those whose ends are not bound, because a later argument may
// bind them.
func (c *compiler) joinPaths(paths []algebra.Node, apart *[]component, wait bool, in stream, g pattern.Graphs, depth int) (out stream, rest []algebra.Node, err error) {
	for len(paths) > 0 {
		best, bound, err := c.nextPath(paths, in.certain)
		if err != nil {
			return in, nil, err
		}
		_, isFunction := paths[best].(*algebra.LinkJoin)
		if isFunction && !bound {
			// 1. The next component may bind its page.
			if next, ok := nextComponent(apart, in, false); ok {
				if in, err = c.bgp(next.patterns, in, g); err != nil {
					return in, nil, err
				}
				continue
			}
		}
		if wait && !bound && (in.start || isFunction) {
			break
		}
		// 2. Join it, and what it links with the rows.
		if in, err = c.joined(paths[best], in, g, depth); err != nil {
			return in, nil, err
		}
		paths = slices.Delete(paths, best, best+1)
		if in, err = c.bgps(apart, in, g, len(paths) > 0); err != nil {
			return in, nil, err
		}
	}
	return in, paths, nil
}

// joined returns in joined with n, filtered by the conditions whose variables are bound then.
func (c *compiler) joined(n algebra.Node, in stream, g pattern.Graphs, depth int) (stream, error) {
	out, err := c.compile(n, in, g, depth)
	if err != nil {
		return in, err
	}
	return c.ready(out)
}

func unboundPath(n algebra.Node, certain algebra.Set) bool {
	p := n.(*algebra.Path)
	return p.Subject.IsVar() && p.Object.IsVar() && !certain.Has(p.Subject.Slot) && !certain.Has(p.Object.Slot)
}

// below returns a compiler whose leaves start from a feed of the stream's rows.
func (c *compiler) below(s stream) *compiler {
	sub := *c
	sub.feed = &exec.Feed{}
	sub.certain, sub.possible, sub.numbers = s.certain, s.possible, s.numbers
	sub.want, sub.goal, sub.spans, sub.waiting = nil, 0, nil, nil
	return &sub
}

func (c *compiler) union(n *algebra.Union, in stream, g pattern.Graphs, depth int) (stream, error) {
	// 1. If there are solutions so far, each branch starts from a feed of them.
	sub := c
	lateral := !in.start
	if lateral {
		sub = c.below(in)
		sub.spans = c.spans
	} else {
		copied := *c
		sub = &copied
		sub.want = nil
	}
	if c.want != nil {
		c.want.got = false
	}
	// 2. Compile the branches. A variable is certain only if all of them bind it.
	var branches []stream
	out := stream{}
	for i, arg := range n.Args {
		s, err := sub.compile(arg, sub.begin(), g, depth)
		if err != nil {
			return in, err
		}
		if s.start && s.plan == nil {
			s.plan = newPlan("unit", nil, 1)
		}
		branches = append(branches, s)
		out.rows += s.rows
		out.possible = out.possible.Union(s.possible)
		if i == 0 {
			out.certain = s.certain
		} else {
			out.certain = out.certain.Intersect(s.certain)
		}
	}
	// 3. Give their rows one after the other, for all of the input or for each batch.
	out.numbers = c.unionNumbers(branches)
	concat := &exec.Concat{}
	var plans []*explain.Plan
	for _, s := range branches {
		s = c.terms(s, s.numbers.Without(out.numbers))
		concat.Inputs, plans = append(concat.Inputs, s.op), append(plans, s.plan)
	}
	if !lateral {
		return c.traced(out, concat, "union", nil, plans...), nil
	}
	u := &exec.Lateral{Exec: c.query, Input: in.op, Feed: sub.feed, Inner: concat, Batch: c.query.NewBatch()}
	out.rows *= max(1, in.rows/solution.BatchRows)
	return c.traced(out, u, "union of each row", nil, append([]*explain.Plan{in.plan}, plans...)...), nil
}

func (c *compiler) leftJoin(n *algebra.LeftJoin, in stream, g pattern.Graphs, depth int) (stream, error) {
	// 1. The left side starts from the solutions so far.
	left, err := c.compile(n.Left, in, g, depth)
	if err != nil {
		return in, err
	}
	if len(n.Conds) == 0 {
		if out, ok := c.columnStep(exec.OptionalStep, "OPTIONAL", n.Right, left, g); ok {
			return out, nil
		}
	}
	conds, err := compileExprs(n.Conds)
	if err != nil {
		return in, err
	}
	// 2. If the right side must not see the left, it is hashed.
	if !c.mayStart(n.Right, left.possible) {
		right, err := c.inner(n.Right, g, depth)
		if err != nil {
			return in, err
		}
		left, right = c.alike(left, right)
		env, plans, err := c.newEnv(g, n.Conds, both(left, right))
		if err != nil {
			return in, err
		}
		out := c.hashJoin(exec.LeftJoin, left, right, conds, env)
		out.plan.Inputs = append(out.plan.Inputs, plans...)
		return out, nil
	}
	// 3. So is a right side that only an equality links with the left.
	if cond := c.linking(n, left, g); cond != nil {
		if out, ok, err := c.equalityLeftJoin(n, left, cond, conds, g, depth); ok || err != nil {
			return out, err
		}
	}
	// 4. Any other one starts from the rows of the left. The conditions may restrict its
	// variables and run within it, because a row is no match if they fail.
	sub := c.below(left)
	sub.spans = restrictions(nil, n.Conds)
	sub.nodes = c.nodes.Union(c.visible.Nodes(n.Left))
	sub.waiting = c.linked(n, left)
	right, err := sub.compile(n.Right, sub.begin(), g, depth)
	if err != nil {
		return in, err
	}
	rest := undone(n.Conds, sub.waiting)
	if conds, err = compileExprs(rest); err != nil {
		return in, err
	}
	tested := both(left, right)
	tested.numbers = right.numbers
	env, plans, err := c.newEnv(g, rest, tested)
	if err != nil {
		return in, err
	}
	l := &exec.LateralLeftJoin{
		Exec: c.query, Left: left.op, Right: right.op, Feed: sub.feed, Conditions: conds, Env: env,
		InSequence: right.sequence, Batch: c.query.NewBatch(), Got: c.query.NewBatch(),
	}
	out := left
	out.possible = left.possible.Union(right.possible)
	out.sequence = left.sequence && right.sequence
	if !out.sequence && c.want != nil {
		c.want.got = false
	}
	out = c.traced(out, l, "left join of each row", exprText(rest), append([]*explain.Plan{left.plan, right.plan}, plans...)...)
	// 5. Rows without a match have the bindings of the left, all others those of the right.
	out.numbers = c.unionNumbers([]stream{left, right})
	mixed := left.numbers.Union(right.numbers).Without(out.numbers)
	out.numbers = out.numbers.Union(mixed)
	return c.terms(out, mixed), nil
}

// linked returns the conditions of a left join that may run within its right side, which starts from
// rows of left.
func (c *compiler) linked(n *algebra.LeftJoin, left stream) []*condition {
	certain, _ := c.visible.Vars(n.Right)
	return c.waitFor(nil, n.Conds, left.certain.Union(certain))
}

// linking returns the equality by which a left join is hashed: between a variable of each side, if
// nothing else links the sides. nil means that the right side starts from rows of the left.
func (c *compiler) linking(n *algebra.LeftJoin, left stream, g pattern.Graphs) *condition {
	certain, possible := c.visible.Vars(n.Right)
	if left.possible.Intersect(possible).Len() > 0 || c.feed != nil || c.want != nil {
		return nil
	}
	nodes := c.nodes.Union(c.visible.Nodes(n.Left).Union(c.visible.Nodes(n.Right)))
	var link *condition
	for _, one := range c.linked(n, left) {
		if one.left < 0 || left.certain.Has(one.left) == left.certain.Has(one.right) || certain.Has(one.left) == certain.Has(one.right) {
			continue
		}
		if nodes.Has(one.left) || nodes.Has(one.right) {
			return nil // the right side has the variable of the left in place of its own
		}
		link = one
	}
	return link
}

// equalityLeftJoin joins left with the right side of n by an equality of two variables. ok is false if the
// right side is too large to be held for few rows of the left: it may be a product, of which the equality
// leaves little if it runs within.
func (c *compiler) equalityLeftJoin(n *algebra.LeftJoin, left stream, link *condition, conds []*expr.Expr, g pattern.Graphs, depth int) (out stream, ok bool, err error) {
	right, err := c.inner(n.Right, g, depth)
	if err != nil {
		return left, false, err
	}
	if left.rows <= solution.BatchRows && right.rows*rowBytes > float64(c.query.Account.Limit/4) {
		return left, false, nil
	}
	outer, inner := link.left, link.right
	if !left.certain.Has(outer) {
		outer, inner = inner, outer
	}
	left, right = c.keyed(left, outer, link, true), c.keyed(right, inner, link, false)
	env, plans, err := c.newEnv(g, n.Conds, both(left, right))
	if err != nil {
		return left, false, err
	}
	out = c.hashJoin(exec.LeftJoin, left, right, conds, env)
	out.plan.Inputs = append(out.plan.Inputs, plans...)
	out.plan.Detail = exprText(n.Conds)
	return unkeyed(out, link.key), true, nil
}

// both returns the bindings of two sides of a join together.
func both(left, right stream) stream {
	return stream{
		certain: left.certain.Union(right.certain), possible: left.possible.Union(right.possible),
		numbers: left.numbers.Union(right.numbers),
	}
}

func (c *compiler) minus(n *algebra.Minus, in stream, g pattern.Graphs, depth int) (stream, error) {
	left, err := c.compile(n.Left, in, g, depth)
	if err != nil {
		return in, err
	}
	right, err := c.inner(n.Right, g, depth)
	if err != nil {
		return in, err
	}
	return c.hashJoin(exec.Minus, left, right, nil, nil), nil
}

// lateral joins each row of the left side with the right side, which starts from it.
func (c *compiler) lateral(n *algebra.Lateral, in stream, g pattern.Graphs, depth int) (stream, error) {
	first := *c
	first.want, first.goal = nil, 0
	if c.want != nil {
		c.want.got = false
	}
	left, err := first.compile(n.Left, in, g, depth)
	if err != nil {
		return in, err
	}
	sub := c.correlated(left, nil)
	right, err := sub.compile(n.Right, sub.begin(), g, depth)
	if err != nil {
		return in, err
	}
	// A batch of rows may start together if nothing on the right looks at more than one row at a time.
	l := &exec.Lateral{
		Exec: c.query, Input: left.op, Feed: sub.feed, Inner: right.op, Batch: c.query.NewBatch(),
		RowByRow: *sub.mixed || !c.visible.Structural(n.Right), Single: c.query.NewBatch(),
	}
	out := right
	out.sequence = false
	out.rows = right.rows * max(1, left.rows/solution.BatchRows)
	if l.RowByRow {
		out.rows = left.rows * max(1, right.rows/solution.BatchRows)
	}
	return c.traced(out, l, "lateral join", nil, left.plan, right.plan), nil
}

// alone returns a compiler for nodes below. The modifiers and filters above must not apply to
// them.
func (c *compiler) alone() *compiler {
	sub := *c
	sub.spans, sub.waiting, sub.want, sub.goal = nil, nil, nil, 0
	return &sub
}

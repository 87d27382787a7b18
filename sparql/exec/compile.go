package exec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// ErrTooDeep is what the error of a query wraps whose patterns nest too deep.
var ErrTooDeep = errors.New("the query nests too deep")

// maxDepth is how deep operators may stand in one another.
const maxDepth = 4000

// Dataset is what FROM and FROM NAMED say. Where both are empty, the dataset is
// the store's.
type Dataset struct{ Default, Named []string }

// compiler makes operators of algebra. A compiler of a lateral run has a feed,
// from which all leaves start.
type compiler struct {
	query   *query
	body    *algebra.Body
	dataset Dataset
	feed    *feed
	// Of the feed's rows.
	certain, possible algebra.Set
	// substitute: the feed's bindings replace variables (section 18.6), filters see
	// them wherever they stand.
	substitute bool

	known map[algebra.Node]known // of the whole query
	spans map[int]restriction
	top   int64 // of the next OrderBy below: rows that are needed of it; negative for all
	want  *sequence
}

// sequence asks for rows in the store's order of a variable.
type sequence struct {
	slot       int
	descending bool
	top        int64
	got        bool
}

// begin returns what a leaf starts from.
func (c *compiler) begin() stream {
	if c.feed == nil {
		return stream{op: &unit{}, rows: 1, start: true, sequence: true}
	}
	return stream{
		op: &feedReader{feed: c.feed}, certain: c.certain, possible: c.possible,
		rows: batchRows, start: true, sequence: true,
		plan: &Plan{Operator: "rows of the outer pattern", Estimate: -1},
	}
}

// defaultGraphs returns the default graph of the dataset.
func (c *compiler) defaultGraphs() graphs {
	d := c.dataset
	if len(d.Default) == 0 && len(d.Named) == 0 {
		if c.query.opts.UnionDefaultGraph {
			return graphs{mode: anyGraph}
		}
		return graphs{mode: defaultGraph}
	}
	if len(d.Default) == 1 {
		name := keyOfIRI(d.Default[0])
		return graphs{mode: oneGraph, name: &name}
	}
	return graphs{mode: someGraphs, set: keySet(d.Default)}
}

func keyOfIRI(iri string) string {
	return string(appendKeyForm(nil, encode(triple.NewIRI(iri))))
}

func keySet(iris []string) map[string]bool {
	set := make(map[string]bool, len(iris))
	for _, iri := range iris {
		set[keyOfIRI(iri)] = true
	}
	return set
}

// namedSet returns the names of the dataset's named graphs; nil for the store's.
func (c *compiler) namedSet() map[string]bool {
	if len(c.dataset.Default) == 0 && len(c.dataset.Named) == 0 {
		return nil
	}
	return keySet(c.dataset.Named)
}

// traced puts an operator into the plan.
func (c *compiler) traced(s stream, op operator, name, detail string, inputs ...*Plan) stream {
	s.plan = c.plan(name, detail, s.rows, inputs...)
	return c.tracedAs(s, op)
}

func (c *compiler) plan(name, detail string, rows float64, inputs ...*Plan) *Plan {
	p := &Plan{Operator: name, Detail: detail, Estimate: rows}
	for _, in := range inputs {
		if in != nil {
			p.Inputs = append(p.Inputs, in)
		}
	}
	return p
}

func (c *compiler) tracedAs(s stream, op operator) stream {
	s.op = &traced{op: op, plan: s.plan, nanos: c.query.opts.Nanos}
	s.start = false
	return s
}

// compile returns the join of in with n.
func (c *compiler) compile(n algebra.Node, in stream, g graphs, depth int) (stream, error) {
	if depth > maxDepth {
		return stream{}, fmt.Errorf("%w: more than %d operators in one another", ErrTooDeep, maxDepth)
	}
	if err := c.query.check(); err != nil {
		return stream{}, err
	}
	depth++
	if !in.start && !c.substitute && !c.lateral(n, in.possible) || !in.start && !structural(n) {
		return c.hashed(n, in, g, depth)
	}
	switch n := n.(type) {
	case *algebra.Unit:
		return in, nil
	case *algebra.BGP:
		return c.bgp(n.Patterns, in, g)
	case *algebra.Path:
		return c.path(n, in, g)
	case *algebra.Table:
		return c.table(n, in)
	case *algebra.Join:
		return c.join(n, in, g, depth)
	case *algebra.Union:
		return c.union(n, in, g, depth)
	case *algebra.LeftJoin:
		return c.leftJoin(n, in, g, depth)
	case *algebra.Filter:
		return c.filter(n, in, g, depth)
	case *algebra.Extend:
		return c.extend(n, in, g, depth)
	case *algebra.Graph:
		return c.graph(n, in, depth)
	case *algebra.Minus:
		return c.minus(n, in, g, depth)
	case *algebra.Group:
		return c.group(n, in, g, depth)
	case *algebra.OrderBy:
		return c.orderBy(n, in, g, depth)
	case *algebra.Project:
		return c.project(n, in, g, depth)
	case *algebra.Distinct:
		return c.distinct(n.Input, in, g, depth)
	case *algebra.Reduced:
		return c.distinct(n.Input, in, g, depth)
	case *algebra.Slice:
		return c.slice(n, in, g, depth)
	case *algebra.Service:
		if n.Silent {
			return in, nil
		}
		return stream{}, fmt.Errorf("%w: at %s", ErrService, n.Pos)
	}
	return stream{}, fmt.Errorf("no operator for %T", n)
}

// known is what [algebra.Vars] said of a node.
type known struct{ certain, possible algebra.Set }

// vars is [algebra.Vars], remembered: deep trees ask for the same nodes again
// and again.
func (c *compiler) vars(n algebra.Node) (certain, possible algebra.Set) {
	k, ok := c.known[n]
	if !ok {
		k.certain, k.possible = algebra.Vars(n)
		c.known[n] = k
	}
	return k.certain, k.possible
}

// structural tells whether n may start from rows at all, whatever it sees.
func structural(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.Unit, *algebra.BGP, *algebra.Path, *algebra.Table:
		return true
	case *algebra.Join, *algebra.Filter, *algebra.LeftJoin, *algebra.Union, *algebra.Extend:
		for _, in := range algebra.Inputs(n) {
			if !structural(in) {
				return false
			}
		}
		return true
	case *algebra.Graph:
		return structural(n.Input) && (!n.Name.IsVar() || pushable(n.Input, n.Name.Slot))
	}
	return false
}

// lateral tells whether n may start from rows that may bind outer: whether each
// gives what the join with n on its own would.
func (c *compiler) lateral(n algebra.Node, outer algebra.Set) bool {
	if !structural(n) {
		return false
	}
	for _, in := range algebra.Inputs(n) {
		if !c.lateral(in, outer) {
			return false
		}
	}
	sees := func(certain algebra.Set, exprs ...ast.Expr) bool {
		for _, e := range exprs {
			for _, slot := range c.body.Uses(e).Slots() {
				if outer.Has(slot) && !certain.Has(slot) {
					return true
				}
			}
		}
		return false
	}
	switch n := n.(type) {
	case *algebra.Filter:
		certain, _ := c.vars(n.Input)
		return !sees(certain, n.Conds...)
	case *algebra.Extend:
		certain, _ := c.vars(n.Input)
		return !outer.Has(n.Slot) && !sees(certain, n.Expr)
	case *algebra.LeftJoin:
		left, _ := c.vars(n.Left)
		right, possible := c.vars(n.Right)
		for _, slot := range possible.Slots() {
			if outer.Has(slot) && !left.Has(slot) {
				return false
			}
		}
		return !sees(union(left, right), n.Conds...)
	}
	return true
}

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
	shared := left.possible.Intersect(right.possible)
	keys := left.certain.Intersect(right.certain)
	if keys.Len() == 0 {
		keys = shared
	}
	j := &hashJoin{
		q: c.query, kind: kind, left: left.op, right: right.op, shared: shared.Slots(),
		conds: conds, env: env, seeded: c.substitute, input: newBatch(c.query.width),
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

func (c *compiler) names(s algebra.Set) string {
	var names []string
	for _, slot := range s.Slots() {
		names = append(names, "?"+c.body.Scope.Name(slot))
	}
	return strings.Join(names, " ")
}

func (c *compiler) exprs(list []ast.Expr) ([]*expr.Expr, error) {
	var out []*expr.Expr
	for _, e := range list {
		x, err := expr.Compile(e, c.scope())
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (c *compiler) scope() expr.Scope { return expr.Scope{} }

func exprText(list []ast.Expr) string {
	var text []string
	for _, e := range list {
		text = append(text, ast.ExprString(e))
	}
	return strings.Join(text, " && ")
}

func (c *compiler) table(n *algebra.Table, in stream) (stream, error) {
	v := &values{q: c.query, in: in.op, slots: n.Slots, input: newBatch(c.query.width)}
	for _, terms := range n.Rows {
		row := make([]string, len(terms))
		for i, t := range terms {
			row[i] = encode(t)
		}
		v.rows = append(v.rows, row)
	}
	certain, possible := c.vars(n)
	in.certain, in.possible = union(in.certain, certain), union(in.possible, possible)
	in.rows *= float64(max(1, len(n.Rows)))
	return c.traced(in, v, "values", fmt.Sprintf("%d rows", len(n.Rows)), in.plan), nil
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

func unboundPath(n algebra.Node, certain algebra.Set) bool {
	p := n.(*algebra.Path)
	return p.Subject.IsVar() && p.Object.IsVar() && !certain.Has(p.Subject.Slot) && !certain.Has(p.Object.Slot)
}

// below returns a compiler whose leaves start from a feed of the stream's rows.
func (c *compiler) below(s stream) *compiler {
	sub := *c
	sub.feed = &feed{}
	sub.certain, sub.possible = s.certain, s.possible
	sub.want, sub.top, sub.spans = nil, -1, nil
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
	if !structural(n.Right) || !c.substitute && !c.lateral(n.Right, left.possible) {
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

func (c *compiler) filter(n *algebra.Filter, in stream, g graphs, depth int) (stream, error) {
	conds, err := c.exprs(n.Conds)
	if err != nil {
		return in, err
	}
	sub := *c
	sub.spans = restrictions(c.spans, n.Conds)
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	env, plans, err := c.newEnv(g, n.Conds, out)
	if err != nil {
		return in, err
	}
	f := &filter{q: c.query, in: out.op, conds: conds, env: env}
	return c.traced(out, f, "filter", exprText(n.Conds), append([]*Plan{out.plan}, plans...)...), nil
}

// extend compiles neighbouring Extends to one operator: those of one SELECT
// share blank nodes.
func (c *compiler) extend(n *algebra.Extend, in stream, g graphs, depth int) (stream, error) {
	e := &extend{q: c.query}
	var list []*algebra.Extend
	var input algebra.Node = n
	for {
		x, ok := input.(*algebra.Extend)
		if !ok {
			break
		}
		list = append(list, x)
		input = x.Input
	}
	out, err := c.compile(input, in, g, depth)
	if err != nil {
		return in, err
	}
	var exprs []ast.Expr
	var detail []string
	for i := len(list) - 1; i >= 0; i-- {
		x, err := expr.Compile(list[i].Expr, c.scope())
		if err != nil {
			return in, err
		}
		e.slots, e.exprs = append(e.slots, list[i].Slot), append(e.exprs, x)
		exprs = append(exprs, list[i].Expr)
		out.possible = with(out.possible, list[i].Slot)
		detail = append(detail, "?"+c.body.Scope.Name(list[i].Slot)+" = "+ast.ExprString(list[i].Expr))
	}
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	e.in, e.env = out.op, env
	return c.traced(out, e, "extend", strings.Join(detail, ", "), append([]*Plan{out.plan}, plans...)...), nil
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
	sub.spans, sub.want, sub.top = nil, nil, -1
	return &sub
}

func (c *compiler) group(n *algebra.Group, in stream, g graphs, depth int) (stream, error) {
	if s, ok, err := c.count(n, g); ok || err != nil {
		return s, err
	}
	out, err := c.alone().compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	_, possible := c.vars(n.Input)
	var visible []int
	for _, slot := range possible.Slots() {
		if name := c.body.Scope.Name(slot); !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_:") {
			visible = append(visible, slot)
		}
	}
	op := &group{q: c.query, in: out.op, holder: holder{account: &c.query.account, name: "group by"}}
	result := stream{rows: 1, certain: c.certain, possible: c.possible}
	if c.feed != nil {
		op.pass = c.possible.Slots()
	}
	var exprs []ast.Expr
	var keys []string
	for _, key := range n.Keys {
		x, err := expr.Compile(key.Expr, c.scope())
		if err != nil {
			return in, err
		}
		from := -1
		if v, ok := key.Expr.(*ast.Var); ok {
			from = v.Slot
		}
		op.keys = append(op.keys, groupKey{x, from, key.Slot})
		exprs = append(exprs, key.Expr)
		keys = append(keys, ast.ExprString(key.Expr))
		result.rows = max(1, out.rows/4)
	}
	for _, a := range n.Aggregates {
		agg, err := expr.CompileAggregate(a.Agg, c.scope(), visible)
		if err != nil {
			return in, err
		}
		op.aggs = append(op.aggs, groupAggregate{agg, a.Slot})
		exprs = append(exprs, a.Agg)
		keys = append(keys, ast.ExprString(a.Agg))
	}
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	op.env = env
	certain, vars := c.vars(n)
	result.certain, result.possible = union(result.certain, certain), union(result.possible, vars)
	return c.traced(result, op, "group", strings.Join(keys, ", "), append([]*Plan{out.plan}, plans...)...), nil
}

func (c *compiler) orderBy(n *algebra.OrderBy, in stream, g graphs, depth int) (stream, error) {
	op := &order{q: c.query, top: c.top, inSequence: -1, holder: holder{account: &c.query.account, name: "order by"}}
	sub := c.alone()
	if v, ok := n.Keys[0].Expr.(*ast.Var); ok && c.top > 0 && c.feed == nil {
		sub.want = &sequence{slot: v.Slot, descending: n.Keys[0].Descending, top: c.top}
	}
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	name := "order by"
	if op.top >= 0 {
		name = fmt.Sprintf("top %d", op.top)
	}
	if sub.want != nil && sub.want.got {
		op.inSequence = sub.want.slot
		name += " of the store's sequence"
	}
	var exprs []ast.Expr
	var detail []string
	for _, key := range n.Keys {
		x, err := expr.Compile(key.Expr, c.scope())
		if err != nil {
			return in, err
		}
		op.keys = append(op.keys, orderKey{x, key.Descending})
		exprs = append(exprs, key.Expr)
		text := ast.ExprString(key.Expr)
		if key.Descending {
			text = "desc " + text
		}
		detail = append(detail, text)
	}
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	op.in, op.env = out.op, env
	if op.top >= 0 {
		out.rows = min(out.rows, float64(op.top))
	}
	out.sequence = false
	return c.traced(out, op, name, strings.Join(detail, ", "), append([]*Plan{out.plan}, plans...)...), nil
}

func (c *compiler) project(n *algebra.Project, in stream, g graphs, depth int) (stream, error) {
	sub := c.alone()
	sub.top = c.top
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	p := &project{in: out.op, keep: make([]bool, c.query.width)}
	var kept algebra.Set
	kept.AddAll(c.possible)
	for _, slot := range n.Slots {
		kept.Add(slot)
	}
	for _, slot := range kept.Slots() {
		p.keep[slot] = true
	}
	out.certain, out.possible = out.certain.Intersect(kept), out.possible.Intersect(kept)
	return c.traced(out, p, "project", c.names(kept), out.plan), nil
}

func (c *compiler) distinct(input algebra.Node, in stream, g graphs, depth int) (stream, error) {
	sub := c.alone()
	out, err := sub.compile(input, in, g, depth)
	if err != nil {
		return in, err
	}
	d := &distinct{q: c.query, in: out.op, slots: out.possible.Slots(), holder: holder{account: &c.query.account, name: "distinct"}}
	return c.traced(out, d, "distinct", "", out.plan), nil
}

func (c *compiler) slice(n *algebra.Slice, in stream, g graphs, depth int) (stream, error) {
	sub := c.alone()
	if n.Limit != ast.NoLimit && n.Limit >= 0 && n.Limit+n.Offset >= 0 && n.Limit+n.Offset <= maxTop {
		sub.top = n.Limit + n.Offset
	}
	if _, ok := n.Input.(*algebra.Distinct); ok {
		sub.top = -1
	}
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	s := &slice{in: out.op, offset: n.Offset, limit: n.Limit}
	detail := ""
	if n.Limit != ast.NoLimit {
		detail = fmt.Sprintf("limit %d", n.Limit)
		out.rows = min(out.rows, float64(n.Limit))
	}
	if n.Offset > 0 {
		detail = strings.TrimSpace(fmt.Sprintf("%s offset %d", detail, n.Offset))
	}
	return c.traced(out, s, "slice", detail, out.plan), nil
}

// maxTop is up to which limit a heap is kept rather than all rows sorted.
const maxTop = 100_000

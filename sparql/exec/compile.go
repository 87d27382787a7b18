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
type Dataset struct {
	Default, Named []string
	// AllNamed makes every named graph of the store one of the dataset's: WITH of
	// an update names the default graph only.
	AllNamed bool
}

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
	// Of the rows around the EXISTS.
	seeds, maybeSeeds algebra.Set
	mixed             *bool // set where an operator joins rows of different rows of the feed
	// looped: it is run again for other graphs, and nothing may be kept from one to
	// the next.
	looped bool

	known map[algebra.Node]known // of the whole query
	spans map[int]restriction
	top   int64 // of the next OrderBy below: rows that are needed of it; negative for all
	want  *sequence
	goal  int64 // rows that are likely to be wanted; 0 where that is not known
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
	if c.dataset.AllNamed || len(c.dataset.Default) == 0 && len(c.dataset.Named) == 0 {
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
	c.query.attach(op, s.plan)
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
	switch n.(type) {
	case *algebra.Project, *algebra.OrderBy, *algebra.Slice:
	default: // what is in between may drop rows
		if c.top >= 0 {
			sub := *c
			sub.top = -1
			c = &sub
		}
	}
	if !in.start && !c.mayStart(n, in.possible) {
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
		return c.reduced(n.Input, in, g, depth)
	case *algebra.Slice:
		return c.slice(n, in, g, depth)
	case *algebra.Service:
		return c.service(n, in, g, depth)
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

// structural reports whether n may start from rows at all, whatever it sees.
func structural(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.Unit, *algebra.BGP, *algebra.Path, *algebra.Table, *algebra.Service:
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

// mayStart reports whether n may start from rows that may bind outer. Bindings that
// replace variables are seen everywhere.
func (c *compiler) mayStart(n algebra.Node, outer algebra.Set) bool {
	if !structural(n) {
		return false
	}
	if c.substitute {
		outer = append(algebra.Set(nil), outer...)
		for i := range min(len(outer), len(c.seeds)) {
			outer[i] &^= c.seeds[i]
		}
	}
	return c.lateral(n, outer)
}

// lateral reports whether n may start from rows that may bind outer: whether each
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

// Joins: the order of their arguments.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// joinPlan is a join being planned: what is left of its arguments, and the rows of those before.
type joinPlan struct {
	*build.Part
	c        *compiler
	in       build.Stream
	patterns []algebra.TriplePattern
	tables   []algebra.Node
	paths    []algebra.Node // and functions of links and text
	others   []algebra.Node // in the order of the text
	apart    []component    // the patterns that are left, in groups
}

// join joins in with arguments: rows of the query first, then patterns, then all others, as they were written.
func (c *compiler) join(args []algebra.Node, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	j := &joinPlan{c: c, in: in}
	var unfolds []*algebra.Unfold
	j.sortArgs(args, &unfolds)
	j.Part = c.part(at, want)
	if len(unfolds) > 0 {
		j.At = j.WithUnfolds(unfolds, j.patterns)
	}
	for _, step := range [...]func() error{j.joinTables, j.joinFirst, j.joinPatterns, j.joinRest} {
		if err := step(); err != nil {
			return j.in, err
		}
	}
	return j.AllUnfolded(j.in)
}

// sortArgs puts the arguments to those of their kind. Joins in joins are one.
func (j *joinPlan) sortArgs(args []algebra.Node, unfolds *[]*algebra.Unfold) {
	for _, arg := range args {
		switch arg := arg.(type) {
		case *algebra.Join:
			j.sortArgs(arg.Args, unfolds)
		case *algebra.BGP:
			j.patterns = append(j.patterns, arg.Patterns...)
		case *algebra.Table:
			j.tables = append(j.tables, arg)
		case *algebra.Path, *algebra.LinkJoin, *algebra.TextJoin:
			j.paths = append(j.paths, arg)
		case *algebra.Unfold:
			*unfolds = append(*unfolds, arg)
		case *algebra.Unit:
		default:
			j.others = append(j.others, arg)
		}
	}
}

// joinTables joins rows of the query, because they are few.
func (j *joinPlan) joinTables() error {
	for _, arg := range j.tables {
		if err := j.joinArg(arg, j.Want); err != nil {
			return err
		}
	}
	return nil
}

// joinFirst joins an argument that goes before the patterns: the best pages of a graph if the query wants them first,
// or one with few rows if all patterns have many.
func (j *joinPlan) joinFirst() error {
	if len(j.others) == 0 {
		best, err := j.bestFirst()
		if err != nil {
			return err
		}
		if best != nil {
			if err := j.joinArg(best, j.Want); err != nil {
				return err
			}
			j.paths = slices.DeleteFunc(j.paths, func(n algebra.Node) bool { return n == best })
		}
	}
	if !j.in.Start || j.At.Lateral() || j.wantsAny() || len(j.patterns) == 0 {
		return nil
	}
	first, err := j.first()
	if err != nil || first == nil {
		return err
	}
	isFirst := func(n algebra.Node) bool { return n == first }
	j.paths, j.others = slices.DeleteFunc(j.paths, isFirst), slices.DeleteFunc(j.others, isFirst)
	return j.joinArg(first, j.Want.AnySequence()) // the patterns behind it need not keep its sequence
}

// wantsAny reports whether rows must come in the sequence of a variable of the patterns.
func (j *joinPlan) wantsAny() bool {
	_, possible := algebra.Vars(&algebra.BGP{Patterns: j.patterns})
	return j.Want.Sequence != nil && possible.Has(j.Want.Sequence.Slot)
}

// joinPatterns joins the patterns, all ordered together, but those that a path or a function links with the others
// follow it.
func (j *joinPlan) joinPatterns() error {
	j.apart = []component{{patterns: j.patterns}}
	if len(j.paths) > 0 && len(j.patterns) > 1 {
		if err := j.components(); err != nil {
			return err
		}
	}
	startsFirst(j.apart, j.paths)
	if next, ok := j.nextComponent(false); ok {
		if err := j.joinComponent(next); err != nil {
			return err
		}
	}
	return j.joinComponents(len(j.paths) > 0)
}

// joinRest joins paths and functions: before inputs hashed if an end is bound, else behind them. The others are
// joined as they were written.
func (j *joinPlan) joinRest() error {
	if err := j.joinPaths(len(j.others) > 0); err != nil {
		return err
	}
	if err := j.joinComponents(false); err != nil {
		return err
	}
	for _, arg := range j.others {
		if err := j.joinArg(arg, j.Want); err != nil {
			return err
		}
	}
	return j.joinPaths(false)
}

// joinPaths joins paths and functions of links, the one with the fewest solutions first, and the components that they
// link. With wait it leaves those whose ends are not bound, because a later argument may bind them.
func (j *joinPlan) joinPaths(wait bool) error {
	for len(j.paths) > 0 {
		best, bound, err := j.nextPath()
		if err != nil {
			return err
		}
		path := j.paths[best]
		_, isFunction := path.(*algebra.LinkJoin)
		if isFunction && !bound {
			// 1. The next component may bind its page.
			if next, ok := j.nextComponent(false); ok {
				if err := j.joinComponent(next); err != nil {
					return err
				}
				continue
			}
		}
		if wait && !bound && (j.in.Start || isFunction) {
			return nil
		}
		// 2. Join it, and what it links with the rows.
		if err := j.joinArg(path, j.Want); err != nil {
			return err
		}
		j.paths = slices.Delete(j.paths, best, best+1)
		if err := j.joinComponents(len(j.paths) > 0); err != nil {
			return err
		}
	}
	return nil
}

// joinArg joins the rows with n, filtered by the conditions whose variables are bound then.
func (j *joinPlan) joinArg(n algebra.Node, want order.Request) error {
	out, err := j.c.compile(n, j.in, j.At, want)
	if err != nil {
		return err
	}
	j.in, err = j.Ready(out)
	return err
}

// joinComponent joins the rows with a component.
func (j *joinPlan) joinComponent(next component) (err error) {
	j.in, err = j.Part.Patterns(next.patterns, j.in)
	return err
}

// joinComponents joins the rows with components. With linked, they must share variables with the rows.
func (j *joinPlan) joinComponents(linked bool) error {
	for next, ok := j.nextComponent(linked); ok; next, ok = j.nextComponent(linked) {
		if err := j.joinComponent(next); err != nil {
			return err
		}
	}
	return nil
}

// fewer is how many times more rows every pattern must have than an argument that goes first, because
// both are estimates.
const fewer = 4

// first returns the argument of the join that runs before them; nil for none. It must
// bind a variable of the patterns, and all patterns must have many times its rows: they are then
// looked up from these rows, and do not read all of theirs.
func (j *joinPlan) first() (algebra.Node, error) {
	args := append(slices.Clip(j.paths), j.others...)
	if len(args) == 0 {
		return nil, nil
	}
	// 1. Of the patterns the one with the fewest rows decides.
	most, err := j.Estimator.PatternRows(j.patterns, j.At.Graphs, j.At.Ranges)
	if err != nil {
		return nil, err
	}
	_, inPatterns := algebra.Vars(&algebra.BGP{Patterns: j.patterns})
	// 2. Take the smallest argument.
	var first algebra.Node
	most /= fewer
	for _, arg := range args {
		certain, _ := j.Variables.Vars(arg)
		if certain.Intersect(inPatterns).Len() == 0 {
			continue
		}
		rows, err := j.Estimator.RowsOf(arg, j.At.Graphs, j.At.Ranges)
		if err != nil {
			return nil, err
		}
		if rows < most {
			first, most = arg, rows
		}
	}
	return first, nil
}

// Join orders kept for the next runs of a query.

package plan

import (
	"slices"
	"weak"

	"github.com/trefoildb/trefoil/sparql/columns"
)

// Orders are join orders of a query over one set of columns. They never change.
type Orders struct {
	// The set's dictionary stands for the set. It is weak, so the orders of a query that does not run
	// again keep no old set in memory.
	set weak.Pointer[columns.Dictionary]
	// of has them by the place of their joins among those of the plan, because rewrites of a query make new
	// nodes in each run.
	of map[int]order
}

// order is the join order of patterns, after rows of an input.
type order struct {
	rows  float64
	steps []joinStep
}

// OrderKeeper keeps the orders of one query. It is safe for concurrent use, such as an atomic pointer.
type OrderKeeper interface {
	Load() *Orders // nil if there are none
	Store(*Orders)
}

// orders are the join orders of an execution: those of earlier runs, and its own.
type orders struct {
	keeper OrderKeeper // nil keeps none
	set    weak.Pointer[columns.Dictionary]
	known  map[int]order
	fresh  map[int]order
	joins  int // of the plan up to now
}

// newOrders returns the orders of an execution over columns, which may be nil.
func newOrders(keeper OrderKeeper, view *columns.View) *orders {
	if keeper == nil || view == nil {
		return &orders{}
	}
	o := &orders{keeper: keeper, set: weak.Make(view.Dictionary())}
	if kept := keeper.Load(); kept != nil && kept.set == o.set {
		o.known = kept.of
	}
	return o
}

// get returns the kept order of the patterns of the plan's next join after rows of an input; nil if there is none.
// Any order of look-ups gives the right rows, so only the time depends on the estimates.
func (o *orders) get(list []candidate, rows float64) []joinStep {
	kept, ok := o.known[o.joins]
	o.joins++
	if !ok || kept.rows != rows || len(kept.steps) != len(list) || !overColumns(list) {
		return nil
	}
	return kept.steps
}

// put keeps the order of the patterns of the join that get was called for last, if all steps are look-ups and
// the set of columns has all that it depends on.
func (o *orders) put(list []candidate, rows float64, steps []joinStep) {
	if o.keeper == nil || !overColumns(list) || slices.ContainsFunc(steps, func(s joinStep) bool { return s.method != byLookup }) {
		return
	}
	if o.fresh == nil {
		o.fresh = map[int]order{}
	}
	o.fresh[o.joins-1] = order{rows, steps}
}

// overColumns reports whether all patterns have columns.
func overColumns(list []candidate) bool {
	return !slices.ContainsFunc(list, func(one candidate) bool { return one.column == nil })
}

// store gives the keeper the orders that it lacks. Of two runs at the same time one may be lost.
func (o *orders) store() {
	if o.fresh == nil {
		return
	}
	for join, kept := range o.known {
		if _, ok := o.fresh[join]; !ok {
			o.fresh[join] = kept
		}
	}
	o.keeper.Store(&Orders{o.set, o.fresh})
}

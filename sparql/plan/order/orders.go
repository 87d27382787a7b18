// Join orders kept for the next runs of a query.

package order

import (
	"slices"
	"weak"

	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// Kept are join orders of a query over one set of columns. They never change.
type Kept struct {
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
	steps []Step
}

// Keeper keeps the orders of one query. It is safe for concurrent use, such as an atomic pointer.
type Keeper interface {
	Load() *Kept // nil if there are none
	Store(*Kept)
}

// Orders are the join orders of an execution: those of earlier runs, and its own.
type Orders struct {
	keeper Keeper // nil keeps none
	set    weak.Pointer[columns.Dictionary]
	known  map[int]order
	fresh  map[int]order
	joins  int // of the plan up to now
}

// New returns the orders of an execution over columns, which may be nil.
func New(keeper Keeper, view *columns.View) *Orders {
	if keeper == nil || view == nil {
		return &Orders{}
	}
	o := &Orders{keeper: keeper, set: weak.Make(view.Dictionary())}
	if kept := keeper.Load(); kept != nil && kept.set == o.set {
		o.known = kept.of
	}
	return o
}

// get returns the kept order of the patterns of the plan's next join after rows of an input; nil if there is none.
// Any order of look-ups gives the right rows, so only the time depends on the estimates.
func (o *Orders) get(list []cost.Candidate, rows float64) []Step {
	kept, ok := o.known[o.joins]
	o.joins++
	if !ok || kept.rows != rows || len(kept.steps) != len(list) || !overColumns(list) {
		return nil
	}
	return kept.steps
}

// put keeps the order of the patterns of the join that get was called for last, if all steps are look-ups and
// the set of columns has all that it depends on.
func (o *Orders) put(list []cost.Candidate, rows float64, steps []Step) {
	if o.keeper == nil || !overColumns(list) || slices.ContainsFunc(steps, func(s Step) bool { return s.Method != ByLookup }) {
		return
	}
	if o.fresh == nil {
		o.fresh = map[int]order{}
	}
	o.fresh[o.joins-1] = order{rows, steps}
}

// overColumns reports whether all patterns have columns.
func overColumns(list []cost.Candidate) bool {
	return !slices.ContainsFunc(list, func(one cost.Candidate) bool { return one.Column == nil })
}

// Store gives the keeper the orders that it lacks. Of two runs at the same time one may be lost.
func (o *Orders) Store() {
	if o.fresh == nil {
		return
	}
	for join, kept := range o.known {
		if _, ok := o.fresh[join]; !ok {
			o.fresh[join] = kept
		}
	}
	o.keeper.Store(&Kept{o.set, o.fresh})
}

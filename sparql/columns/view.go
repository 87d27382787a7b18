// Views: the columns that one reader of a store may use.

package columns

import (
	"context"
	"maps"
	"sort"

	"github.com/trefoildb/trefoil/sparql/source"
)

// View is a set as a reader of one state of a store may use it. It is safe for concurrent use.
type View struct {
	set    *Set
	stale  map[string]struct{}
	moving bool
}

// NewView returns a view of a set. stale lists predicates in their key form that have changed between
// the state of the set and that of the reader. The caller must not change it afterwards.
func NewView(set *Set, stale map[string]struct{}) *View {
	if len(set.torn) > 0 {
		all := maps.Clone(set.torn)
		maps.Copy(all, stale)
		stale = all
	}
	return &View{set: set, stale: stale}
}

// WithMovingRows returns a view for a reader whose rows are not of one moment: a row may have gone since the
// state that the view is of.
func (v *View) WithMovingRows() *View { return &View{v.set, v.stale, true} }

// MovingRows reports whether the rows of the reader are not of one moment.
func (v *View) MovingRows() bool { return v.moving }

// Dictionary returns the terms of the columns.
func (v *View) Dictionary() *Dictionary { return &v.set.Dictionary }

// Column returns the column of a predicate in its key form, like [Set.Column]. ok is false if the
// predicate has changed.
func (v *View) Column(predicate string) (c *Column, ok bool) {
	if _, stale := v.stale[predicate]; stale {
		return nil, false
	}
	return v.set.Column(predicate), true
}

// All returns the predicates of the default graph in their key form, sorted, and the number of its triples.
// ok is false if some are not known, because a predicate has changed.
func (v *View) All() (predicates []string, rows int, ok bool) {
	return v.set.predicates, v.set.rows, len(v.stale) == 0
}

// SubjectAt returns the last node before which no more than n triples stand in the order SPO, and how many
// do. All columns must be known, see [View.All], and have a triple.
func (v *View) SubjectAt(n int) (number uint32, before int) {
	nodes := v.Dictionary().nodes
	first := sort.Search(int(nodes[1]-nodes[0]), func(i int) bool { return v.rowsBefore(nodes[0]+uint32(i)) > n })
	number = nodes[0] + uint32(max(first-1, 0))
	return number, v.rowsBefore(number)
}

// rowsBefore returns how many triples have a subject before the term with a number.
func (v *View) rowsBefore(number uint32) (rows int) {
	for _, c := range v.set.columns {
		rows += c.BySubject.Before(c.BySubject.LowerBound(number))
	}
	return rows
}

// Complete reports whether the columns have all triples of the default graph, and none has a long term.
// Then the dictionary has all nodes.
func (v *View) Complete() bool { return len(v.stale) == 0 && !v.set.long }

// Source is a [source.Source] with columns of its state.
type Source interface {
	source.Source
	// Columns returns the columns of the source's state; nil if there are none.
	Columns(ctx context.Context) *View
}

// Of returns the columns of a source; nil if it has none.
func Of(ctx context.Context, src source.Source) *View {
	if s, ok := src.(Source); ok {
		return s.Columns(ctx)
	}
	return nil
}

// With returns a source with columns of its state.
func With(src source.Source, v *View) Source { return columnar{src, v} }

type columnar struct {
	source.Source
	view *View
}

func (c columnar) Columns(context.Context) *View { return c.view }

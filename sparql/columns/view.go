// Views: the columns that one reader of a store may use.

package columns

import (
	"context"
	"maps"
	"sort"

	"github.com/trefoildb/trefoil/sparql/source"
)

// View is a set as a reader of one state of a store may use it, with the changes between the state of the
// set and that of the reader. It is safe for concurrent use.
type View struct {
	set        *Set
	dictionary Dictionary
	stale      map[string]struct{} // predicates without a column
	changed    map[string]*Column  // columns that are not those of the set
	predicates []string            // those with a triple, sorted
	rows       int
	bytes      int64 // of the changed columns beside the set
	long       bool  // a column has a long term
	deleted    bool  // a triple was deleted
	moving     bool
	missing    func(predicate string) // nil, or called for each request of a column that is not there
}

// NewView returns a view of a set. stale lists predicates in their key form that have changed between
// the state of the set and that of the reader. The caller must not change it afterwards.
func NewView(set *Set, stale map[string]struct{}) *View {
	v := &View{set: set, dictionary: set.Dictionary, predicates: set.predicates, rows: set.rows, long: set.long}
	return v.WithStale(set.torn).WithStale(stale)
}

// WithStale returns a view without the columns of some more predicates, in their key form. The caller must
// not change them afterwards.
func (v *View) WithStale(predicates map[string]struct{}) *View {
	if len(predicates) == 0 {
		return v
	}
	next := *v
	next.stale = predicates
	if len(v.stale) > 0 {
		next.stale = maps.Clone(v.stale)
		maps.Copy(next.stale, predicates)
	}
	return &next
}

// WithMovingRows returns a view for a reader whose rows are not of one moment: a row may have gone since the
// state that the view is of.
func (v *View) WithMovingRows() *View {
	next := *v
	next.moving = true
	return &next
}

// WithMissing returns a view that calls missing for each request of a column that is not there. It must be safe
// for concurrent use.
func (v *View) WithMissing(missing func(predicate string)) *View {
	next := *v
	next.missing = missing
	return &next
}

// MovingRows reports whether the rows of the reader are not of one moment.
func (v *View) MovingRows() bool { return v.moving }

// Dictionary returns the terms of the columns.
func (v *View) Dictionary() *Dictionary { return &v.dictionary }

// Partial reports whether the set has only some predicates, see [BuildSome].
func (v *View) Partial() bool { return v.set.partial }

// Bytes returns the memory of the set, and that of the changes.
func (v *View) Bytes() (set, changes int64) { return v.set.bytes, v.bytes + v.dictionary.added.bytes }

// Stale returns the number of predicates without a column.
func (v *View) Stale() int { return len(v.stale) }

// has reports whether a predicate has a column.
func (v *View) has(predicate string) bool {
	_, stale := v.stale[predicate]
	return !stale && (!v.set.partial || v.set.columns[predicate] != nil)
}

// Column returns the column of a predicate in its key form, like [Set.Column]. ok is false if the
// predicate has changed too much, or the set is partial and does not have it.
func (v *View) Column(predicate string) (c *Column, ok bool) {
	if !v.has(predicate) {
		if v.missing != nil {
			v.missing(predicate)
		}
		return nil, false
	}
	if c := v.changed[predicate]; c != nil {
		return c, true
	}
	return v.set.Column(predicate), true
}

// All returns the predicates of the default graph in their key form, sorted, and the number of its triples.
// ok is false if some are not known, because a predicate has no column.
func (v *View) All() (predicates []string, rows int, ok bool) {
	return v.predicates, v.rows, v.all()
}

// all reports whether all predicates have a column.
func (v *View) all() bool { return len(v.stale) == 0 && !v.set.partial }

// SubjectAt returns the last node before which no more than n triples stand in the order SPO, and how many
// do. ok is false if the columns do not know it: all must be known, see [View.All], have a triple, and
// no subject may be new.
func (v *View) SubjectAt(n int) (number uint32, before int, ok bool) {
	if !v.all() || len(v.dictionary.added.terms.list) > 0 {
		return 0, 0, false
	}
	nodes := v.dictionary.nodes
	first := sort.Search(int(nodes[1]-nodes[0]), func(i int) bool { return v.rowsBefore(nodes[0]+uint32(i)) > n })
	number = nodes[0] + uint32(max(first-1, 0))
	return number, v.rowsBefore(number), true
}

// rowsBefore returns how many triples have a subject before the term with a number.
func (v *View) rowsBefore(number uint32) (rows int) {
	for _, p := range v.predicates {
		c, _ := v.Column(p)
		_, values := c.BySubject.Count(0, number)
		rows += values
	}
	return rows
}

// Complete reports whether the dictionary has all nodes of the default graph and no others, and none is
// long.
func (v *View) Complete() bool { return v.all() && !v.long && !v.deleted }

// Source is a [source.Source] with columns of its state.
type Source interface {
	source.Source
	// Columns returns the columns of the source's state; nil if there are none.
	Columns(ctx context.Context) *View
}

// FromSource returns the columns of a source; nil if it has none.
func FromSource(ctx context.Context, src source.Source) *View {
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

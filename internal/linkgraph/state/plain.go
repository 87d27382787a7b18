// Plain graphs: whether the cells have every triple of the predicate.

package state

import (
	"github.com/trefoildb/trefoil/internal/feed"
)

// Plain says whether the cells of a state are exactly the triples of the predicate, so that a query
// may read either. They are if all triples of the predicate are in the default graph, and both ends
// of each are IRIs. Then the graph is plain, otherwise mixed. Cells do not tell named graphs apart,
// and they lack literals and blank nodes.
//
// A build sees every triple of the predicate, and so does the keeper in the feed. Both mark parts as
// mixed. A part stays mixed until it is built again, because a delete does not show what is left.
//
// Invariant: if a part is not marked, then at the position of the keeper no triple was mixed.
type Plain struct {
	Mixed bool // a held part is marked
	// Linked is a position that has the last change of a triple of the predicate. Triples may have
	// changed up to it, and none has changed between it and the state's position.
	Linked feed.Position
	// Ends counts, in this process, the batches after which the graph was mixed or without cells.
	Ends uint64
}

// TakeIn adds a batch of changes up to a position: whether triples of the predicate were among them,
// and whether one of these was mixed.
func (l *Plain) TakeIn(at feed.Position, linked, mixed bool) {
	if linked {
		l.Linked = at
	}
	if mixed {
		l.Ends++
	}
}

// End records that the cells were dropped at a position.
func (l *Plain) End(at feed.Position) {
	l.Linked = at
	l.Ends++
}

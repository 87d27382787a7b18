// Plain graphs: whether the cells have every triple of the predicate.

package linkgraph

import (
	"github.com/trefoildb/trefoil/internal/feed"
)

// plain says whether the cells of a state are exactly the triples of the predicate, so that a query
// may read either. They are if all triples of the predicate are in the default graph, and both ends
// of each are IRIs. Then the graph is plain, otherwise mixed. Cells do not tell named graphs apart,
// and they lack literals and blank nodes.
//
// A build sees every triple of the predicate, and so does the keeper in the feed. Both mark parts as
// mixed. A part stays mixed until it is built again, because a delete does not show what is left.
//
// Invariant: if a part is not marked, then at the position of the keeper no triple was mixed.
type plain struct {
	mixed bool // a held part is marked
	// linked is a position that has the last change of a triple of the predicate. Triples may have
	// changed up to it, and none has changed between it and the state's position.
	linked feed.Position
	// ends counts, in this process, the batches after which the graph was mixed or without cells.
	ends uint64
}

// takeIn notes the changes of a batch.
func (l *plain) takeIn(t *taken, parts []*part) {
	if t.linked {
		l.linked = t.at
	}
	if t.mixed {
		l.ends++
	}
	t.mark(parts)
}

// mark marks parts that take in the batch.
func (t *taken) mark(parts []*part) {
	for _, p := range parts {
		p.plain = p.plain && !t.mixed
	}
}

// end notes that the cells were dropped at a position.
func (l *plain) end(at feed.Position) {
	l.linked = at
	l.ends++
}

// The methods of a store for an engine.

package engine

import (
	"github.com/trefoildb/trefoil/internal/store"
)

// Store is the part of [store.Triples] for an engine.
type Store interface {
	StateReader() (r store.Reader, release func(), err error)
	store.Writer
	Isolation() store.Isolation
}

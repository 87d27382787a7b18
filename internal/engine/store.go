// The methods of a store for an engine.

package engine

import (
	"github.com/trefoildb/trefoil/internal/store"
)

// Store is the part of [store.Triples] for an engine.
type Store interface {
	Reader() (store.Reader, error)
	store.Writer
	Isolation() store.Isolation
}

// The methods of a store for an engine.

package engine

import (
	"context"

	"github.com/trefoildb/trefoil/internal/store"
)

// Store is the part of [store.Triples] for an engine.
type Store interface {
	Reader() (store.Reader, error)
	Update(ctx context.Context, f func(store.Reader) (store.Changes, error)) (store.ApplyResult, error)
	Isolation() store.Isolation
}

// Store: the triples of a cluster, as one of its members reads and writes them.

package ownership

import "github.com/trefoildb/trefoil/internal/store"

// Store is the triples of a cluster, as one of its members reads and writes them.
type Store interface {
	Writer
	Member
	Reader() (store.Reader, error)
}

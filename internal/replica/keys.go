// Keys of local state of a machine in a cluster.

package replica

import "github.com/trefoildb/trefoil/internal/store/keyspace"

var (
	rowAnnotated   = keyspace.LocalKey("annotated")
	rowIncarnation = keyspace.LocalKey("incarnation")
	rowLoads       = keyspace.LocalKey("loads")
	rowMark        = keyspace.LocalKey("mark")
)

const (
	heardPrefix = "heard/"
	loadTaken   = "load/taken/"
)

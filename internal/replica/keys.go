// Keys of local state of a machine in a cluster.

package replica

import "github.com/trefoildb/trefoil/internal/store"

var (
	rowAnnotated   = store.LocalKey("annotated")
	rowIncarnation = store.LocalKey("incarnation")
	rowLoads       = store.LocalKey("loads")
	rowMark        = store.LocalKey("mark")
)

const (
	heardPrefix     = "heard/"
	loadTaken       = "load/taken/"
	unsettledPrefix = "unsettled/"
)

// Package blocking has the operators that hold rows until others have come: ORDER BY, GROUP BY, DISTINCT, hash joins.
//
// What they hold counts for the query. If its memory does not suffice, they go on in temporary files (package spill).
package blocking

import "github.com/trefoildb/trefoil/sparql/exec"

// An operator without this method would silently take all memory.
var (
	_ exec.MemorySharer = (*Distinct)(nil)
	_ exec.MemorySharer = (*Group)(nil)
	_ exec.MemorySharer = (*HashJoin)(nil)
	_ exec.MemorySharer = (*OrderBy)(nil)
)

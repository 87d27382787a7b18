// Cells of batches that queries share.

package engine

import (
	"sync"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
)

// cells are those of the process.
var cells cellPool

// cellPool implements [memory.CellPool].
type cellPool [memory.MaxCellClass + 1]sync.Pool

func (p *cellPool) Get(class int) []string {
	if kept, ok := p[class].Get().(*[]string); ok {
		return *kept
	}
	return nil
}

func (p *cellPool) Put(class int, cells []string) { p[class].Put(&cells) }

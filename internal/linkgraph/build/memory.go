// The memory that cells will take.

package build

import (
	"context"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
)

// The bound is Options.MemoryBytes. Nothing is read, copied or built that would pass it:
//
//   - A file is as large as its cell, and an export says its size with the first piece.
//   - A build is refused if the least that its pages and links take would be too much. It ends as soon as
//     the cells that are made are too large.
//   - Updates of the graph are refused when nine tenths are in use. Changes that come by other ways
//     cannot be refused: if they pass the bound, a lone node drops all cells, and a member the largest
//     partitions, which other machines have.
//
// While a cell is built again, there is memory for one more cell.

const (
	// leastPage and leastLink are the least that a page and a link, in both directions, take in cells.
	leastPage, leastLink = 12, 1
	// MemoryRetry is the number of waits of the placer after a refusal.
	MemoryRetry = 30
)

// fitsBuild returns links.ErrMemory if the cells of partitions certainly take too much.
func (cm *Maker) fitsBuild(ctx context.Context, rows buildRows, set derived.Partitions) error {
	if cm.Options.MemoryBytes == 0 {
		return nil
	}
	pages, err := rows.EstimatePages(ctx, set)
	if err != nil {
		return err
	}
	edges, err := cm.estimateLinks(ctx)
	if err != nil {
		return err
	}
	need := int64(pages)*leastPage + edges*int64(set.Len())/machine.NumPartitions*leastLink
	return cm.Fits(cm.Board.Memory()+need, "the graph to be built")
}

// estimateLinks returns about the number of links in the store.
func (cm *Maker) estimateLinks(ctx context.Context) (int64, error) {
	keys, err := pagerows.PredicateRange(cm.Options.Predicate)
	if err != nil {
		return 0, err
	}
	r, err := cm.Node.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	rows, _, err := r.Source().Estimate(ctx, keys)
	return int64(rows), err
}

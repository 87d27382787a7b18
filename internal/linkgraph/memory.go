// Memory: the bound of a machine's cells and their changes.

package linkgraph

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/trefoildb/trefoil/links"
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
	// memoryRetry is the number of waits of the placer after a refusal.
	memoryRetry = 30
)

// partsBytes returns the memory of parts.
func partsBytes(parts []*part) (n int64) {
	for _, p := range parts {
		v := p.delta.View()
		n += int64(v.Cell().Size()) + v.Bytes()
	}
	return n
}

// whyFull returns why this machine or another one lacks partitions, "" if memory is not the reason.
func (r *router) whyFull() string {
	if full := r.board.full.Load(); full != nil {
		return (*full).Error()
	}
	r.directory.mu.Lock()
	defer r.directory.mu.Unlock()
	for m, why := range r.directory.full {
		return fmt.Sprintf("%s: %s", m, why)
	}
	return ""
}

// builds reports whether this machine builds a partition that no machine has: it is the first of the
// holders with memory for it.
func (r *router) builds(p *placement, partition int) bool {
	r.directory.mu.Lock()
	defer r.directory.mu.Unlock()
	for _, m := range p.holdersOf(partition) {
		if _, full := r.directory.full[m]; m == r.node.MachineID() || !full {
			return m == r.node.MachineID()
		}
	}
	return false
}

// mayGrow returns links.ErrMemory if an update would leave too little memory.
func (w *writer) mayGrow(changes []links.Change) error {
	if w.o.MemoryBytes == 0 || !slices.ContainsFunc(changes, func(c links.Change) bool { return c.Kind != links.DeleteLinks && len(c.Targets) > 0 }) {
		return nil
	}
	return w.fits(w.board.memory()/9*10, "the graph with a tenth for changes")
}

// fitsBuild returns links.ErrMemory if the cells of partitions certainly take too much.
func (cm *cellMaker) fitsBuild(ctx context.Context, rows buildRows, set partitionSet) error {
	if cm.o.MemoryBytes == 0 {
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
	need := int64(pages)*leastPage + edges*int64(set.len())/numPartitions*leastLink
	return cm.fits(cm.board.memory()+need, "the graph to be built")
}

// estimateLinks returns about the number of links in the store.
func (cm *cellMaker) estimateLinks(ctx context.Context) (int64, error) {
	keys, err := predicateRange(cm.o.Predicate)
	if err != nil {
		return 0, err
	}
	r, err := cm.node.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	rows, _, err := r.Source().Estimate(ctx, keys)
	return int64(rows), err
}

// fitsFiles returns links.ErrMemory if the files of a listing are too large.
func (f *files) fitsFiles(l *listing) error {
	size := int64(0)
	for _, c := range l.Cells {
		for _, name := range []string{c.File, c.Rows} {
			if info, err := os.Stat(f.path(name)); name != "" && err == nil {
				size += info.Size()
			}
		}
	}
	return f.fits(size, "the graph in files")
}

// shed drops cells until the rest fits.
func (k *keeper) shed() {
	err := k.fits(partsBytes(k.parts), "the graph with its changes")
	if err == nil {
		return
	}
	k.log.Error("cells of the link graph are dropped", "error", err)
	for k.fits(partsBytes(k.parts), "") != nil {
		// 1. A lone node has all cells or none. A member drops the largest partition.
		drop := allPartitions
		if k.node.Lone() == nil {
			most, size := 0, map[int]int64{}
			for _, p := range k.parts {
				of := partitionOf(p.First)
				if size[of] += partsBytes([]*part{p}); size[of] > size[most] {
					most = of
				}
			}
			drop = partitionSet(0).with(most)
		}
		// 2. Readers request them of other machines, if there are any.
		_ = k.board.refuse(err)
		k.drop(drop)
	}
}

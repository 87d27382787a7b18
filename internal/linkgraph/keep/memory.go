// Memory: the bound of a machine's cells and their changes.

package keep

import (
	"os"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
)

// fitsFiles returns links.ErrMemory if the files of a listing are too large.
func (f *Files) fitsFiles(l *listing) error {
	size := int64(0)
	for _, c := range l.Cells {
		for _, name := range []string{c.File, c.Rows} {
			if info, err := os.Stat(f.Path(name)); name != "" && err == nil {
				size += info.Size()
			}
		}
	}
	return f.Fits(size, "the graph in files")
}

// shed drops cells until the rest fits.
func (k *Keeper) shed() {
	err := k.Fits(state.PartsBytes(k.Parts), "the graph with its changes")
	if err == nil {
		return
	}
	k.Log.Error("cells of the link graph are dropped", "error", err)
	for k.Fits(state.PartsBytes(k.Parts), "") != nil {
		// 1. A lone node has all cells or none. A member drops the largest partition.
		drop := machine.AllPartitions
		if k.Node.Lone() == nil {
			most, size := 0, map[int]int64{}
			for _, p := range k.Parts {
				of := machine.PartitionOf(p.First)
				if size[of] += state.PartsBytes([]*state.Part{p}); size[of] > size[most] {
					most = of
				}
			}
			drop = derived.Partitions(0).With(most)
		}
		// 2. Readers request them of other machines, if there are any.
		_ = k.Board.Refuse(err)
		k.Drop(drop)
	}
}

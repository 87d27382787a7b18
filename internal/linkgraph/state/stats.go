// The sizes of the held cells.

package state

import (
	"context"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
)

// Stats returns the sizes of held partitions. If changes must be counted, it reads the lists from files
// for that alone.
func (s *State) Stats(ctx context.Context, set derived.Partitions) (one links.ServerStats, err error) {
	var count derived.Partitions
	for i, v := range s.Views {
		if of := machine.PartitionOf(s.Parts[i].First); set.Has(of) && !v.AllLinked() {
			count = count.With(of)
		}
	}
	if s, err = s.Loader.LoadStores(ctx, s, cell.ListStores, count, false); err != nil {
		return one, err
	}
	for i, v := range s.Views {
		if p := s.Parts[i]; set.Has(machine.PartitionOf(p.First)) {
			one.Cells++
			add(&one, v)
			addMemory(&one, p.Delta.View())
		}
	}
	return one, ctx.Err()
}

// add adds the sizes of a view to the stats of a server.
func add(s *links.ServerStats, v *delta.View) {
	s.Pages += int64(v.NumLinked())
	s.Links += v.NumLinks(cell.Forward)
	s.Linked += v.NumLinks(cell.Backward)
	s.MaxOut = max(s.MaxOut, v.MaxDegree(cell.Forward))
	s.MaxIn = max(s.MaxIn, v.MaxDegree(cell.Backward))
	if first, last, ok := v.Ends(); ok {
		if s.MinUID == 0 {
			s.MinUID = first
		}
		s.MaxUID = last
	}
}

// addMemory adds the memory of a view.
func addMemory(s *links.ServerStats, v *delta.View) {
	c := v.Cell()
	s.Bytes += int64(c.Size())
	s.DeltaBytes += v.Bytes()
	for name, size := range c.Sizes() {
		switch {
		case name == "URLs":
			s.URLBytes += int64(size)
		case name == "forward lists" || name == "forward ghosts":
			s.ForwardBytes += int64(size)
		case name == "backward lists" || name == "backward ghosts":
			s.BackwardBytes += int64(size)
		}
	}
}

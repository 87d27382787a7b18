// Sketches of long lists, in a section of each cell.

package state

import (
	"encoding/binary"

	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// MakeSketches makes the section of sketches of a cell: for each direction a length in 8 bytes
// (little-endian) and the table.
func MakeSketches(c *cell.Cell, hosts *pagerows.FoundHosts) ([]byte, error) {
	var section []byte
	for _, d := range []cell.Direction{cell.Forward, cell.Backward} {
		var b sample.Builder
		var list []uid.UID
		for ord := range uint32(c.Len()) {
			size := sample.SketchSize(c.Degree(d, ord))
			if size == 0 {
				continue
			}
			list = c.AppendLinks(list[:0], d, ord)
			if err := b.Add(ord, sample.NewSketch(list, sample.ClassesOf(hosts, c.UID(ord)), size)); err != nil {
				return nil, err
			}
		}
		table := b.AppendTo(nil)
		section = append(binary.LittleEndian.AppendUint64(section, uint64(len(table))), table...)
	}
	return section, hosts.Failed()
}

// OpenSketches returns the tables of a cell, by direction; nil if it has none.
func OpenSketches(c *cell.Cell) *[2]*sample.Table {
	section := c.Sketches()
	var tables [2]*sample.Table
	for d := range tables {
		if len(section) < 8 || binary.LittleEndian.Uint64(section) > uint64(len(section)-8) {
			return nil
		}
		n := 8 + binary.LittleEndian.Uint64(section)
		t, err := sample.Open(section[8:n])
		if err != nil {
			return nil // samples can be drawn from the lists too
		}
		tables[d], section = t, section[n:]
	}
	return &tables
}

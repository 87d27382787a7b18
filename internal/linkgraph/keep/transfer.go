// Transfer: copying the cells of a partition from a machine that has them.

package keep

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/trie"
)

// An export is the cells of a partition and their changes, at a position in the feed:
//
//	uvarint position length, position as text, uvarint n, and for each of n cells
//	uvarint length, cell, uvarint length, rows, each behind its length in 4 bytes
//
// and then uvarint 1 if the graph is plain (state/plain.go), 0 if not.
//
// It is sent in pieces. The machine that has it keeps it meanwhile, without a copy of the cells.

const (
	// exportPiece is the size of a piece of an export, and maxExports the number of exports that a
	// machine keeps at a time.
	exportPiece = 8 << 20
	maxExports  = 8
	// exportTimeout is the time after which an export is dropped if no piece of it is requested.
	exportTimeout = time.Minute
)

// Exports are the exports of a machine that others copy.
type Exports struct {
	mu   sync.Mutex
	next uint64
	open []*export // the oldest first
}

// export is one of them.
type export struct {
	id        uint64
	requested time.Time    // when a piece was requested
	state     *state.State // keeps the memory of the cells
	chunks    [][]byte
	size      int
}

// newExport returns the export of a held partition.
func newExport(s *state.State, partition int) *export {
	e := &export{state: s}
	add := func(chunk []byte) {
		e.chunks = append(e.chunks, chunk)
		e.size += len(chunk)
	}
	// 1. The position, and the number of cells.
	at := s.At.String()
	head := append(binary.AppendUvarint(nil, uint64(len(at))), at...)
	parts := slices.Collect(s.PartsOf(partition))
	add(binary.AppendUvarint(head, uint64(len(parts))))
	// 2. The cells, and their changes.
	for _, i := range parts {
		data := s.Views[i].Cell().Bytes()
		rows := appendRows(nil, s.Views[i].Rows())
		add(binary.AppendUvarint(nil, uint64(len(data))))
		add(data)
		add(binary.AppendUvarint(nil, uint64(len(rows))))
		add(rows)
	}
	plain := uint64(1)
	if s.Mixed {
		plain = 0
	}
	add(binary.AppendUvarint(nil, plain))
	return e
}

// Piece answers a query for a piece of an export. number is the partition, most the number of an
// export, 0 to make it, and seed of the spec the offset. The answer has the number of the export
// as an item, and the size as number.
func (x *Exports) Piece(s *state.State, q *route.Query) (*route.Answer, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	// 1. Drop those of machines that have not asked for a while. Make or find the export.
	x.open = slices.DeleteFunc(x.open, func(e *export) bool { return time.Since(e.requested) > exportTimeout })
	var e *export
	if q.Most == 0 {
		if q.Number >= machine.NumPartitions || !s.Held.Has(int(q.Number)) {
			return nil, peer.Refuse(peer.CodeNotOwner, 0, "the partition is not held")
		}
		e = newExport(s, int(q.Number))
		x.next++
		e.id, e.requested = x.next, time.Now()
		if x.open = append(x.open, e); len(x.open) > maxExports {
			x.open = slices.Delete(x.open, 0, 1)
		}
	} else {
		at := slices.IndexFunc(x.open, func(e *export) bool { return e.id == q.Most })
		if at < 0 {
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "the copy has taken too long: begin again")
		}
		e = x.open[at]
	}
	// 2. Copy the piece. The last one ends the export.
	e.requested = time.Now()
	a := &route.Answer{Items: []uint64{e.id}, Number: uint64(e.size)}
	offset := q.Spec.Seed
	if offset > uint64(e.size) {
		return nil, peer.ErrMessage
	}
	a.Data = e.read(int(offset))
	if int(offset)+len(a.Data) == e.size {
		x.open = slices.DeleteFunc(x.open, func(o *export) bool { return o == e })
	}
	return a, nil
}

// read returns the piece at an offset.
func (e *export) read(offset int) []byte {
	piece := make([]byte, 0, min(exportPiece, e.size-offset))
	for _, chunk := range e.chunks {
		if offset >= len(chunk) {
			offset -= len(chunk)
			continue
		}
		n := min(len(chunk)-offset, cap(piece)-len(piece))
		piece = append(piece, chunk[offset:offset+n]...)
		offset = 0
		if len(piece) == cap(piece) {
			break
		}
	}
	return piece
}

// fetch copies a partition from another machine. The parts have the feed up to a position.
func (pl *Placer) fetch(ctx context.Context, from trie.MachineID, partition int, since feed.Position) (parts []*state.Part, at feed.Position, err error) {
	// 1. Copy the export.
	var data []byte
	q := &route.Query{Kind: route.QueryExport, Number: uint64(partition), At: since}
	for {
		a, err := pl.Router.Send(ctx, from, q)
		switch {
		case err != nil:
			return nil, at, err
		case len(a.Items) != 1 || uint64(len(data)+len(a.Data)) > a.Number || len(a.Data) == 0 && a.Number > uint64(len(data)):
			return nil, at, fmt.Errorf("%w: a piece of an export", peer.ErrMessage)
		}
		if err := pl.Fits(pl.Board.Memory()+int64(a.Number), "the graph with a copy of another partition"); err != nil {
			return nil, at, err
		}
		data = append(slices.Grow(data, int(min(a.Number-uint64(len(data)), 1<<30))), a.Data...)
		if uint64(len(data)) == a.Number {
			break
		}
		q.Most, q.Spec.Seed = a.Items[0], uint64(len(data))
	}
	d := exportReader{data: data}
	if at, err = feed.ParsePosition(string(d.chunk())); err != nil {
		return nil, at, err
	}
	for range d.number() {
		p, err := openPart(d.chunk(), d.chunk())
		if err != nil || d.err != nil {
			return nil, at, errors.Join(err, d.err)
		}
		parts = append(parts, p)
	}
	// 2. They must be the whole partition.
	next := machine.PartitionRange(partition).First
	for _, p := range parts {
		if p.First != next {
			return nil, at, fmt.Errorf("%w: a cell of %s in partition %d", peer.ErrMessage, p.Range, partition)
		}
		next = p.Last + 1
	}
	if next != machine.PartitionRange(partition).Last+1 {
		return nil, at, fmt.Errorf("%w: the cells of partition %d end at %s", peer.ErrMessage, partition, next)
	}
	plain := d.number() == 1
	for _, p := range parts {
		p.Plain = plain
		if err := pl.Hosts.AddHosts(ctx, p.Delta.View()); err != nil {
			return nil, at, err
		}
	}
	return parts, at, d.err
}

// exportReader reads the parts of an export.
type exportReader struct {
	data []byte
	err  error
}

func (d *exportReader) number() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.err = fmt.Errorf("%w: an export is cut off", peer.ErrMessage)
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *exportReader) chunk() []byte {
	n := d.number()
	if n > uint64(len(d.data)) {
		d.err = fmt.Errorf("%w: an export is cut off", peer.ErrMessage)
		return nil
	}
	chunk := d.data[:n]
	d.data = d.data[n:]
	return chunk
}

// openPart opens a cell and the rows of its changes.
func openPart(data, rows []byte) (*state.Part, error) {
	c, err := cell.Open(slices.Clone(data))
	if err != nil {
		return nil, err
	}
	p := &state.Part{Range: c.Range()}
	opened, err := openRows(rows)
	if err != nil {
		return nil, err
	}
	p.Delta, err = delta.New(c, opened...)
	return p, err
}

// openRows is the reverse of appendRows.
func openRows(data []byte) (rows []*delta.Row, err error) {
	for len(data) > 0 {
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return nil, fmt.Errorf("%w: it is cut off", delta.ErrCorrupt)
		}
		n := 4 + int(binary.LittleEndian.Uint32(data))
		row, err := delta.Open(slices.Clone(data[4:n]))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		data = data[n:]
	}
	return rows, nil
}

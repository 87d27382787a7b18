// Pull: rows for copies, requested from their owner, and answered by it.

package copyserver

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// MethodPull requests rows of copies (package copies) from the machine that reads some ranges:
//
//	request: epoch uvarint, n uvarint, n ranges (two keys: length uvarint and bytes)
//	answer:  n uvarint, n rows (key and value), done uvarint, rest (bytes; empty for none)
//
// The values of rows are
//
//	a part of a list      length uvarint, a packed list, and another one: of those of its
//	                      links that are in named graphs
//	a UID, in SPO         UID, epoch and sequence of its stamp, each as a uvarint, and 0
//	a UID, in POS         the page's URL
//	a claim of a grant    0, epoch and sequence, and the length and bytes of the name
const MethodPull = "links/pull"

// pullTimeout bounds the wait for an owner.
const pullTimeout = 20 * time.Second

// Bounds of one message, about.
const (
	maxPulledRows  = 1 << 18
	maxPulledLinks = 1 << 15
	maxPulledBytes = 4 << 20
)

// Pull implements copies.Pull.
func (g *Server) Pull(ctx context.Context, epoch uint64, owner trie.MachineID, ranges []triple.Range) (rows []copies.Row, done int, rest []byte, err error) {
	e := peer.NewEncoder(64 * len(ranges))
	e.Uvarint(epoch)
	e.Uvarint(uint64(len(ranges)))
	for _, r := range ranges {
		e.Bytes(r.Lo)
		e.Bytes(r.Hi)
	}
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	answer, err := g.CallOwner(ctx, owner, MethodPull, e.Data())
	if err != nil {
		return nil, 0, nil, err
	}
	return parsePulled(answer, len(ranges))
}

// parsePulled decodes the answer about the given number of ranges.
func parsePulled(answer []byte, ranges int) (rows []copies.Row, done int, rest []byte, err error) {
	d := peer.NewDecoder(answer)
	rows = make([]copies.Row, d.Count(2))
	for i := range rows {
		rows[i] = copies.Row{Key: d.Bytes(), Value: d.Bytes()}
	}
	n := d.Uvarint()
	rest = d.Bytes()
	if err := d.End(); err != nil {
		return nil, 0, nil, err
	}
	if n > uint64(ranges) {
		return nil, 0, nil, fmt.Errorf("%w: %d of %d ranges", peer.ErrMessage, n, ranges)
	}
	if len(rest) == 0 {
		rest = nil
	}
	return rows, int(n), rest, nil
}

// parsePull decodes a request. There must be a range, and ranges must ascend.
func parsePull(body []byte) (epoch uint64, ranges []triple.Range, err error) {
	d := peer.NewDecoder(body)
	epoch = d.Uvarint()
	ranges = make([]triple.Range, d.Count(2))
	for i := range ranges {
		ranges[i] = triple.Range{Lo: d.Bytes(), Hi: d.Bytes()}
		if d.Err() == nil && (ranges[i].Hi == nil || ranges[i].Empty() || i > 0 && bytes.Compare(ranges[i].Lo, ranges[i-1].Hi) < 0) {
			return 0, nil, fmt.Errorf("%w: ranges that do not ascend", peer.ErrMessage)
		}
	}
	if err := d.End(); err != nil {
		return 0, nil, err
	}
	if len(ranges) == 0 {
		return 0, nil, fmt.Errorf("%w: no range", peer.ErrMessage)
	}
	return epoch, ranges, nil
}

// HandlePull handles links/pull: it makes rows of the ranges that this machine reads.
func (g *Server) HandlePull(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	epoch, ranges, err := parsePull(body)
	if err != nil {
		return nil, err
	}
	m := pulledRows{graph: g, ranges: ranges, place: map[string]int{}, done: len(ranges)}
	err = g.Store.ReadOwn(ctx, epoch, ranges, func(ctx context.Context, sn *store.Snapshot) error { return m.read(ctx, sn) })
	if err != nil {
		return nil, err
	}
	if err := m.pack(ctx); err != nil {
		return nil, err
	}
	e := peer.NewEncoder(m.bytes)
	e.Uvarint(uint64(len(m.rows)))
	for _, r := range m.rows {
		e.Bytes(r.Key)
		e.Bytes(r.Value)
	}
	e.Uvarint(uint64(m.done))
	e.Bytes(m.rest)
	return e.Data(), nil
}

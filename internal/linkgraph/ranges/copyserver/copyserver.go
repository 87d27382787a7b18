// Package copyserver answers from the copies that this machine keeps, and makes rows for
// the copies of others.
//
// Pull requests rows from an owner (links/pull); the owner reads them in HandlePull, and
// package copies stores them. When an owner is down, HandleCopied (links/copied) and
// HandleWalk (links/walk) answer from these rows. A copy may lag behind: changes since it
// was made come from journals. If a change alone does not determine whether its triple
// exists, another order is read, whose owner is up (presentState).
package copyserver

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/triple"
)

// Server makes rows for the copies of other machines, and answers from those of this one.
type Server struct {
	*rowreader.Readers
	uids   *assign.Assigner
	Copies *copies.Copies // nil if none are kept
}

// parseCopied decodes a request. Its ranges must ascend, and each must lie within one list.
func parseCopied(body []byte) (epoch uint64, kind byte, ranges []triple.Range, err error) {
	d := peer.NewDecoder(body)
	epoch, kind = d.Uvarint(), d.Byte()
	ranges = make([]triple.Range, d.Count(2))
	for i := range ranges {
		r := triple.Range{Lo: d.Bytes(), Hi: d.Bytes()}
		pair, ok := triple.KeyPair(r.Lo)
		if d.Err() == nil && (!ok || r.Hi == nil || r.Empty() || bytes.Compare(r.Hi, copies.PairRange(pair).Hi) > 0) {
			return 0, 0, nil, fmt.Errorf("%w: a range of more than one list", peer.ErrMessage)
		}
		ranges[i] = r
	}
	if err := d.End(); err != nil {
		return 0, 0, nil, err
	}
	if kind > rowreader.CopiedGrants {
		return 0, 0, nil, fmt.Errorf("%w: kind %d", peer.ErrMessage, kind)
	}
	if !slices.IsSortedFunc(ranges, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) }) {
		return 0, 0, nil, fmt.Errorf("%w: ranges that do not ascend", peer.ErrMessage)
	}
	return epoch, kind, ranges, nil
}

// HandleCopied handles links/copied: it answers from the copies of this machine.
func (g *Server) HandleCopied(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	epoch, kind, ranges, err := parseCopied(body)
	if err != nil {
		return nil, err
	}
	// 1. Find the copied rows, and the changes since they were made.
	if g.Copies == nil {
		return nil, &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: "this machine keeps no copies"}
	}
	found, err := g.Copies.Look(ctx, epoch, ranges)
	if err != nil {
		return nil, &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: err.Error()}
	}
	// This reader resolves UIDs, and reads other orders if a change is not clear.
	r, err := g.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all := make([]copiedList, len(found))
	for i := range found {
		if err := all[i].decode(kind, found[i], triple.Order(ranges[i].Lo[0]) == triple.POS); err != nil {
			return nil, err
		}
	}
	// 2. Find the present state of changed triples. This may read other orders.
	v := g.Store.View()
	now, err := g.presentState(ctx, r, v, kind, all)
	if err != nil {
		return nil, &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: err.Error()}
	}
	// 3. Encode each range. The answer is bounded, so a range without room is unclear.
	e := peer.NewEncoder(32 * len(found))
	e.Uvarint(uint64(len(found)))
	one := peer.NewEncoder(64)
	for i := range all {
		one.Reset()
		if !found[i].Known {
			e.Byte(rowreader.CopiedNowhere)
			continue
		}
		// The first range always has room, because every request must make progress.
		known := !found[i].Later && (i == 0 || e.Len() < linkkeys.PackedBytes)
		switch {
		case !known:
		case kind == rowreader.CopiedList:
			known = all[i].appendList(one, now)
		case kind == rowreader.CopiedUIDs || kind == rowreader.CopiedGrants:
			known = all[i].appendClaims(one, kind, now)
		case kind == rowreader.CopiedURLs:
			known = all[i].appendURLs(one, now)
		}
		if !known {
			e.Byte(rowreader.CopiedUnclear)
			continue
		}
		e.Byte(rowreader.CopiedKnown)
		e.Bytes(one.Data())
	}
	return e.Data(), nil
}

// New returns a server without copies, and makes r fetch from it.
func New(r *rowreader.Readers, uids *assign.Assigner) *Server {
	c := &Server{Readers: r, uids: uids}
	r.LocalCopied, r.LocalWalk = c.HandleCopied, c.HandleWalk
	return c
}

// Tries of a read, each under one view, and the pieces of its ranges.

package reads

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// attempt is one try of a read, under one view.
type attempt struct {
	*Snapshot
	view *view.View
	tick triple.Stamp // zero if it has none
}

// newAttempt returns a try under a view of a read without a tick.
func (sn *Snapshot) newAttempt(v *view.View) attempt { return attempt{Snapshot: sn, view: v} }

// attemptRows returns a try of a read of rows under a view.
func (sn *Snapshot) attemptRows(ctx context.Context, v *view.View) (attempt, error) {
	tick, err := sn.tick(ctx, v)
	return attempt{sn, v, tick}, err
}

// plannable returns the present view, and an error if the range cannot be read under it.
func (sn *Snapshot) plannable(r triple.Range) (*view.View, error) {
	if sn.closed.Load() {
		return nil, fmt.Errorf("read a snapshot: %w", store.ErrClosed)
	}
	v := sn.reads.member.View()
	return v, sn.newAttempt(v).readable(r)
}

// readable returns an error if a range cannot be read under a view.
func (at attempt) readable(r triple.Range) error {
	if at.view.Phase == recovery.Ingest {
		return peer.Refuse(peer.CodeUnavailable, at.view.Epoch, "a bulk load is being taken in")
	}
	if at.lostToo {
		return nil
	}
	if l, ok := lost(at.view, r); ok {
		return fmt.Errorf("%w: since epoch %d rows may be gone of what is asked for", store.ErrLost, l.Epoch)
	}
	return nil
}

// split groups ranges by owner. parts has the sequence for reading them.
func (at attempt) split(ranges []triple.Range) (parts []part, groups []*group, err error) {
	byOwner := map[trie.MachineID]*group{}
	for i, r := range ranges {
		if r.Empty() {
			continue
		}
		if err := at.readable(r); err != nil {
			return nil, nil, err
		}
		for _, p := range pieces(at.view.Joint(), r) {
			if !p.live {
				p.owner = 0 // one group for all owners that are down
			}
			g := byOwner[p.owner]
			if g == nil {
				g = &group{piece: p}
				byOwner[p.owner] = g
				groups = append(groups, g)
			}
			parts = append(parts, part{g, len(g.ranges), i})
			g.ranges = append(g.ranges, p.Range)
		}
	}
	return parts, groups, nil
}

// piece is a part of a range with one owner. If live is false, its owner is down, and other orders
// must answer.
type piece struct {
	triple.Range
	owner trie.MachineID
	live  bool
}

// nextPiece returns the first piece of r: all adjacent segments with one owner. r must not be empty.
// It reads at most one segment after the piece.
func nextPiece(j *recovery.Joint, r triple.Range) piece {
	var p piece
	for s := range j.Reads().Trie.Range(r.Lo, r.Hi) {
		owner, live := j.ReaderOf(s)
		if p.owner == 0 {
			p = piece{triple.Range{Lo: r.Lo}, owner, live}
		} else if !p.joins(owner, live) {
			break
		}
		p.Hi = s.Hi
	}
	p.Range = r.Intersect(p.Range)
	return p
}

// joins reports whether the next segment belongs to the piece. Down owners count as one, because
// they do not answer.
func (p *piece) joins(owner trie.MachineID, live bool) bool {
	return live == p.live && (owner == p.owner || !live)
}

// pieces returns all pieces of r, in order.
func pieces(j *recovery.Joint, r triple.Range) []piece {
	var all []piece
	for !r.Empty() {
		p := nextPiece(j, r)
		all = append(all, p)
		if p.Hi == nil {
			break
		}
		r.Lo = p.Hi
	}
	return all
}

// lost returns the first lost range of a view if it overlaps r.
func lost(v *view.View, r triple.Range) (view.Lost, bool) {
	for _, l := range v.Lost {
		if !r.Intersect(triple.Range{Lo: l.Lo, Hi: l.Hi}).Empty() {
			return l, true
		}
	}
	return view.Lost{}, false
}

// rangeAfter returns the part of r after a key, in the direction of the read.
func rangeAfter(r triple.Range, key []byte, reverse bool) triple.Range {
	if reverse {
		return r.Intersect(triple.Range{Hi: bytes.Clone(key)})
	}
	return r.Intersect(triple.Range{Lo: append(bytes.Clone(key), 0)})
}

// rangeWithout returns the part of r after another part of it, in the direction of the read.
func rangeWithout(r, part triple.Range, reverse bool) triple.Range {
	switch {
	case reverse && len(part.Lo) > 0:
		return r.Intersect(triple.Range{Hi: part.Lo})
	case !reverse && part.Hi != nil:
		return r.Intersect(triple.Range{Lo: part.Hi})
	}
	return triple.Range{Hi: []byte{}} // part reaches the end of the space
}

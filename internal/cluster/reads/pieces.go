// Pieces of a range, and their owners.

package reads

import (
	"bytes"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

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

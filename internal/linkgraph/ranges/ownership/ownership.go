// Package ownership finds the machine that owns a range under a view, and the machines that are
// down.
//
// [Machines] calls members. It marks a member as down if it does not answer, and counts a
// member as down while gossip does not hear it. [Owners] is the state of one view at one
// moment: the owner of a range, or its pieces if it has several. [Machines.Watch] ends a slow
// call if a machine that it needs is down, because callers must not wait until the leader
// excludes it.
package ownership

import (
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Owners has the reader of each range under a view, and the machines that are down at the
// moment.
type Owners struct {
	joint    *recovery.Joint
	Down     map[trie.MachineID]bool
	excluded map[trie.MachineID]bool // by the view
	allUp    bool                    // no reader is excluded or down
}

// Owners returns the owners under a view, with the machines that are down now.
func (g *Machines) Owners(v *view.View) *Owners {
	s := &Owners{joint: v.Joint(), allUp: true}
	live := s.joint.BaseLive
	if s.joint.Phase == recovery.Serve {
		live = s.joint.Members
	}
	for _, m := range s.joint.Reads().Placement.Machines() {
		switch {
		case !live.Contains(m):
			s.excluded = withMachine(s.excluded, m)
		case g.IsDown(m):
			s.Down = withMachine(s.Down, m)
		default:
			continue
		}
		s.allUp = false
	}
	return s
}

func withMachine(set map[trie.MachineID]bool, m trie.MachineID) map[trie.MachineID]bool {
	if set == nil {
		set = map[trie.MachineID]bool{}
	}
	set[m] = true
	return set
}

// Of returns the machine that reads all of a range, or read it before it was down. ok is false
// if the range has several readers. live reports whether the machine is up.
func (s *Owners) Of(keys triple.Range) (owner trie.MachineID, live, ok bool) {
	for part := range s.joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
		of, lives := s.joint.ReaderOf(part)
		if ok && of != owner {
			return 0, false, false
		}
		owner, live, ok = of, lives, true
	}
	return owner, live && !s.Down[owner], ok
}

// AllUp reports whether all readers of a range are up.
func (s *Owners) AllUp(keys triple.Range) bool {
	if s.allUp {
		return true
	}
	for part := range s.joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
		if of, lives := s.joint.ReaderOf(part); !lives || s.Down[of] {
			return false
		}
	}
	return true
}

// Pieces returns a range in pieces, each of one owner, and reports which of the owners are up.
func (s *Owners) Pieces(keys triple.Range, item int) (pieces []OwnedRange, live []bool) {
	for part := range s.joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
		owner, lives := s.joint.ReaderOf(part)
		lives = lives && !s.Down[owner]
		piece := keys.Intersect(triple.Range{Lo: part.Lo, Hi: part.Hi})
		if n := len(pieces); n > 0 && pieces[n-1].Owner == owner {
			pieces[n-1].Hi = piece.Hi
			continue
		}
		pieces, live = append(pieces, OwnedRange{piece, owner, item}), append(live, lives)
	}
	return pieces, live
}

// FirstPiece returns the first piece of a range. If its reader is up, the piece extends over
// all readers that are up; otherwise it has one owner.
func (s *Owners) FirstPiece(keys triple.Range) (piece OwnedRange, live bool) {
	for part := range s.joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
		owner, lives := s.joint.ReaderOf(part)
		lives = lives && !s.Down[owner]
		if piece.Owner != 0 && (lives != live || !live && owner != piece.Owner) {
			break
		}
		if piece.Owner == 0 {
			piece, live = OwnedRange{Range: triple.Range{Lo: keys.Lo}, Owner: owner}, lives
		}
		piece.Hi = keys.Intersect(triple.Range{Lo: part.Lo, Hi: part.Hi}).Hi
	}
	return piece, live
}

// OwnedRange is a requested range, and its reader.
type OwnedRange struct {
	triple.Range
	Owner trie.MachineID
	Item  int // of the request
}

// DownRanges returns the ranges whose owners are down.
func (g *Machines) DownRanges(v *view.View, all []linkkeys.Wanted) (asked []OwnedRange) {
	now := g.Owners(v)
	if now.allUp {
		return nil
	}
	for _, w := range all {
		if owner, live, ok := now.Of(w.Range); ok && !live {
			asked = append(asked, OwnedRange{w.Range, owner, w.Item})
		}
	}
	return asked
}

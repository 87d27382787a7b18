// The complete layout and the one that is being filled, together with the live machines.

package recovery

import "github.com/trefoildb/trefoil/trie"

// Phase is the step of a change of the layout.
type Phase uint8

const (
	// Idle: base and target are the same.
	Idle Phase = iota
	// Fill: the backfills of the members fill the places of target; base is read.
	Fill
	// Serve: the places of target are full, and target is read.
	Serve
	// Ingest: like Idle, but the members ingest the tables of a bulk load.
	Ingest
)

// String returns "idle", "fill", "serve" or "ingest".
func (p Phase) String() string {
	if int(p) >= len(phaseNames) {
		return "unknown"
	}
	return phaseNames[p]
}

var phaseNames = [...]string{"idle", "fill", "serve", "ingest"}

// Joint is the part of a view that concerns triples: the layout that is complete, the one that
// replaces it, and the live machines. A [Resolver] applies it to one triple after the other.
// It is immutable.
type Joint struct {
	Base, Target Layout // equal outside of fill and serve
	Phase        Phase
	// Members are the machines of the view. BaseLive are the members that still store
	// what they stored when base was full, because they never stopped since or came back
	// with their disk.
	Members, BaseLive trie.Ring
}

// Reader returns the machine that answers for a key of any order from its storage table. If
// ok is false, that machine is down, and only other orders may have its rows.
func (j *Joint) Reader(key []byte) (machine trie.MachineID, ok bool) {
	return j.ReaderOf(j.Reads().Trie.Lookup(key))
}

// ReaderOf is [Joint.Reader] for a whole segment of the layout that is read.
func (j *Joint) ReaderOf(s trie.Segment) (machine trie.MachineID, ok bool) {
	if j.Phase == Serve {
		machine = j.Target.Placement.Owner(s)
		return machine, j.Members.Contains(machine)
	}
	machine = j.Base.Placement.Owner(s)
	return machine, j.BaseLive.Contains(machine)
}

// Reads returns the layout whose owners answer reads: target in phase Serve, base otherwise.
func (j *Joint) Reads() Layout {
	if j.Phase == Serve {
		return j.Target
	}
	return j.Base
}

// joint reports whether base and target may differ.
func (j *Joint) joint() bool { return j.Phase == Fill || j.Phase == Serve }

// extrasFirst reports whether extra replicas repair before rows do. That is so if every machine
// of base lives, and the number of copies stays.
func (j *Joint) extrasFirst() bool {
	if !j.joint() || j.Base.Copies != j.Target.Copies {
		return false
	}
	for _, m := range j.Base.Placement.Machines() {
		if !j.BaseLive.Contains(m) {
			return false
		}
	}
	return true
}

// Resolver returns a new resolver for j.
func (j *Joint) Resolver() *Resolver { return &Resolver{joint: j, extrasFirst: j.extrasFirst()} }

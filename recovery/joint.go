// Two layouts at once: the one that is full and the one that is being filled.

package recovery

import "github.com/trefoildb/trefoil/trie"

// Phase is what the members of a view are about.
type Phase uint8

const (
	// Idle: base and target are the same.
	Idle Phase = iota
	// Fill: the members' walks fill the slots of target; base is read.
	Fill
	// Serve: the slots of target are full, and target is read.
	Serve
	// Ingest: as idle, and the tables of a bulk load are being taken in.
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

// Joint is a view as far as triples are concerned: from which placement the
// cluster comes, to which one it goes, and who is alive. It answers who must
// hold a triple, who is asked for it, and who makes up for what is missing; ask
// by a [Resolver]. It is immutable.
type Joint struct {
	Base, Target Layout // equal outside of fill and serve
	Phase        Phase
	// Members are the machines of the view. BaseLive are those of them that
	// still have what they had when base was full: they run in the incarnation
	// that base knows, or came back with their disk.
	Members, BaseLive trie.Ring
}

// Reader returns the machine that answers for a key of any order in its storage
// table. Where ok is false, that machine is dead, and only other orders may
// tell what it had.
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

// Reads returns the layout whose owners are read: target's in serve, base's
// otherwise.
func (j *Joint) Reads() Layout {
	if j.Phase == Serve {
		return j.Target
	}
	return j.Base
}

// joint reports whether base and target may differ.
func (j *Joint) joint() bool { return j.Phase == Fill || j.Phase == Serve }

// extrasFirst reports whether extra replicas repair before versions do: every machine
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

// Resolver returns a resolver for j.
func (j *Joint) Resolver() *Resolver { return &Resolver{joint: j, extrasFirst: j.extrasFirst()} }

// The view, its members and its lost ranges.

package view

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// State is the part of a member in the placement.
type State string

const (
	// Up: it is on the ring.
	Up State = "up"
	// Spare: it holds nothing until it takes a dead machine's place.
	Spare State = "spare"
	// Leaving: the target is without it, or will be.
	Leaving State = "leaving"
)

// Member is one machine of a view.
type Member struct {
	ID trie.MachineID `json:"id"`
	// Incarnation counts the starts of its process; what it said in an earlier
	// one does not count any more.
	Incarnation uint64 `json:"incarnation"`
	// Address is host:port of its one port.
	Address string `json:"address"`
	State   State  `json:"state"`
	// Waits: it came back with its disk and gets no lease until the view is
	// reconciled, because what its disk must show may not be known before.
	Waits bool `json:"waits,omitempty"`
	// Mark is how many batches of fills and tables it is counted on to have
	// durably: a disk that shows less is not the one that it was.
	Mark uint64 `json:"mark,omitempty"`
	// Minor is that of the protocol which its process has (see package protocol).
	Minor uint64 `json:"protocol,omitempty"`
	// NoLinks: it keeps no graph of links, so it is no holder of cells.
	NoLinks bool `json:"noLinks,omitempty"`

	unknown string // fields of a later minor, as a JSON object; "" if there are none
}

// Lost is a range of keys of which some rows may be gone for good, since all
// holders of a triple in it may have died within one interval.
type Lost struct {
	Lo    []byte `json:"lo"`           // inclusive
	Hi    []byte `json:"hi,omitempty"` // exclusive; nil is the end of the space
	Epoch uint64 `json:"epoch"`        // from which on it is so
}

// View is the agreement of a cluster's nodes. It is immutable: a change returns a new one, of the
// next epoch.
type View struct {
	// Cluster is the name that the operator gave; ClusterID tells two clusters of
	// one name apart.
	Cluster   string `json:"cluster"`
	ClusterID string `json:"clusterId"`
	// Lineage tells histories of one ClusterID apart: a random name for the bootstrap,
	// and behind it, each after a slash, one for each recovery of a lost majority. A
	// cluster that began before there were lineages has none for its bootstrap.
	Lineage string `json:"lineage,omitempty"`
	// History holds the digests of the views before this one in its generation, the
	// last 512 at most, 8 bytes each, that of the preceding epoch last.
	History []byte `json:"history,omitempty"`
	// Generation grows when an operator restores a cluster after it lost its majority. Parent is
	// the origin view; it is nil for the first generation.
	Generation uint64  `json:"generation"`
	Parent     *Parent `json:"parent,omitempty"`
	// Epoch is the view's number. Every message between nodes carries it.
	Epoch   uint64         `json:"epoch"`
	Phase   recovery.Phase `json:"phase"`
	Members []Member       `json:"members"` // ascending by ID
	// Base is the layout that is known to be full, BaseIncarnations those of its
	// machines which filled it. Target is where the view goes.
	Base             recovery.Layout           `json:"-"`
	BaseIncarnations map[trie.MachineID]uint64 `json:"baseIncarnations"`
	Target           recovery.Layout           `json:"-"`
	Lost             []Lost                    `json:"lost,omitempty"`
	// Excluded are failed machines that are no members and expected back, oldest first.
	Excluded []Excluded `json:"excluded,omitempty"`
	// NextSegment is greater than the ID of every segment there ever was.
	NextSegment uint64 `json:"nextSegment"`
	// Loads are the bulk loads that are being made and all that ever showed, by
	// number; NextLoad is greater than the number of every load there ever was.
	Loads    []Load `json:"loads,omitempty"`
	NextLoad uint64 `json:"nextLoad,omitempty"`
	// Lease is the longest lease that a leader may grant, and that a new one takes it
	// that those before it have granted. 0 is that none is granted.
	Lease time.Duration `json:"lease,omitempty"`
	// Minor is that of the protocol which all members have had at once. It never falls.
	Minor uint64 `json:"protocol,omitempty"`
	// Proposer is the leader that proposed the view. It is 0 if there was none, as for the first view.
	Proposer trie.MachineID `json:"proposer,omitempty"`
	// Feed is nil until all members keep the log of the change feed.
	Feed *Feed `json:"feed,omitempty"`

	unknown string // fields of a later minor, as a JSON object; "" if there are none
	// encoded is the JSON that the view decoded was decoded from, if this release would
	// encode it otherwise, as with fields in another place: the digest is of what was
	// agreed on. In a copy, which may become another view, decoded is not itself.
	encoded []byte
	decoded *View

	joint     func() *recovery.Joint
	place     func() string
	misplaced func() float64
	digest    func() uint64
}

// Find returns the member with an ID, or nil. It must not be modified.
func (v *View) Find(id trie.MachineID) *Member {
	i, ok := slices.BinarySearchFunc(v.Members, id, compareID)
	if !ok {
		return nil
	}
	return &v.Members[i]
}

// Oracle returns the member that issues ticks and orders updates (see packages ticks and lock); 0 if there are no
// members. It is the leader that proposed the view: without a leader there are soon no leases, so no other machine
// alone stops all writes. If it waits for a lease or is gone, the oracle is the member with the lowest ID that does not
// wait.
func (v *View) Oracle() trie.MachineID {
	if len(v.Members) == 0 {
		return 0
	}
	if m := v.Find(v.Proposer); m != nil && !m.Waits {
		return m.ID
	}
	at := slices.IndexFunc(v.Members, func(m Member) bool { return !m.Waits })
	return v.Members[max(at, 0)].ID
}

func compareID(m Member, id trie.MachineID) int { return cmp.Compare(m.ID, id) }

// Has reports whether a machine is a member as it runs now.
func (v *View) Has(id trie.MachineID, incarnation uint64) bool {
	m := v.Find(id)
	return m != nil && m.Incarnation == incarnation
}

// Joint returns the view as far as triples are concerned.
func (v *View) Joint() *recovery.Joint { return v.joint() }

// prepare sets what is derived; every way to make a view ends with it.
func (v *View) prepare() {
	v.joint = sync.OnceValue(func() *recovery.Joint {
		j := &recovery.Joint{Base: v.Base, Target: v.Target, Phase: v.Phase, BaseLive: v.baseLive()}
		for _, m := range v.Members {
			j.Members = append(j.Members, m.ID)
		}
		return j
	})
	v.misplaced = sync.OnceValue(v.countMisplaced)
	v.place = sync.OnceValue(v.hashPlace)
	v.digest = sync.OnceValue(v.hash)
}

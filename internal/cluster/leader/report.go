// Reports of members to the leader, and its answers.

package leader

import (
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// Report is a member's report to the leader, sent several times a lease. It also requests a
// lease.
type Report struct {
	ID          trie.MachineID `json:"id"`
	Incarnation uint64         `json:"incarnation"`
	// Number counts the reports of the process. If one was overtaken, it is ignored.
	Number  uint64 `json:"number"`
	Address string `json:"address"`
	Spare   bool   `json:"spare,omitempty"`
	// Version is that of the release, Minor that of its protocol.
	Version string `json:"version,omitempty"`
	Minor   uint64 `json:"minor,omitempty"`
	// Self describes it as a member; nil unless the view has another incarnation of it. It
	// may have fields of a later minor.
	Self *view.Member `json:"self,omitempty"`
	// Lease is how long leases are by the member's configuration.
	Lease time.Duration `json:"lease"`
	// Epoch is the epoch of the adopted view; the next four belong to it.
	Epoch      uint64 `json:"epoch"`
	Walked     bool   `json:"walked,omitempty"`
	Swept      bool   `json:"swept,omitempty"`
	Reconciled bool   `json:"reconciled,omitempty"`
	Ingested   bool   `json:"ingested,omitempty"`
	// Staging are the member's own bulk loads.
	Staging []string `json:"staging,omitempty"`
	// Seen is the greatest epoch of Generation the machine has ever adopted, by its disk. Digest
	// is the digest of its view. Seen is 0 if it is not known.
	Generation uint64 `json:"generation,omitempty"`
	Seen       uint64 `json:"seen,omitempty"`
	Digest     uint64 `json:"digest,omitempty"`
	// Followed is the epoch of the generation before, adopted when the machine was kept for this
	// one. It is set only if it is newer than the origin of this generation.
	Followed uint64 `json:"followed,omitempty"`
	// Mark is the number of fills it has durably. Marks are the numbers of others its backfill
	// relies on. Marked is true if Marks is given. It is given until the leader has it.
	Mark   uint64                    `json:"mark"`
	Marks  map[trie.MachineID]uint64 `json:"marks,omitempty"`
	Marked bool                      `json:"marked,omitempty"`
	// Heard is the state of sequencers on its disk. Shows is true if Heard is given. It must be
	// given while the machine comes back: until it is a member and waits for nothing.
	Heard []LastBatch `json:"heard,omitempty"`
	Shows bool        `json:"shows,omitempty"`
	// Answered are the last answered batches of the machines of About. If a disk shows less, it
	// has lost rows. About are the machines the leader has queried.
	About    []trie.MachineID `json:"about,omitempty"`
	Answered []Answered       `json:"answered,omitempty"`

	// Slow are holders with an answer overdue for too long.
	Slow []trie.MachineID `json:"slow,omitempty"`

	Splits []view.SplitAt `json:"splits,omitempty"`
	// Small are local segments after they shrank.
	Small []uint64           `json:"small,omitempty"`
	Walk  *backfill.Progress `json:"walk,omitempty"`
	// Damaged: its disk has returned other bytes than were written to it.
	Damaged bool         `json:"damaged,omitempty"`
	Store   StoreFigures `json:"store"`
}

// LastBatch is the last batch of a sequencer on a machine's disk.
type LastBatch struct {
	Sequencer   trie.MachineID `json:"sequencer"`
	Incarnation uint64         `json:"incarnation"`
	Last        uint64         `json:"last"`
}

// Answered is the last batch of a sequencer a holder has answered.
type Answered struct {
	Holder      trie.MachineID `json:"holder"`
	Sequencer   trie.MachineID `json:"sequencer"`
	Incarnation uint64         `json:"incarnation"`
	Batch       uint64         `json:"batch"`
}

// StoreFigures are for the operator.
type StoreFigures struct {
	Triples    int64  `json:"triples"`
	Copies     int64  `json:"copies,omitempty"` // an estimate: see store.Snapshot.EstimateCopies
	Bytes      int64  `json:"bytes"`
	FreeBytes  int64  `json:"freeBytes"`
	Tombstones int64  `json:"tombstones,omitempty"`
	Error      string `json:"error,omitempty"`
	// Spare is the number of free bytes above the watermark; Room is the kind of operations they
	// are enough for.
	Spare int64      `json:"spare"`
	Room  store.Room `json:"room,omitempty"`
}

// Answer is the leader's answer to a report.
type Answer struct {
	Granted bool          `json:"granted"`
	Lease   time.Duration `json:"lease"`
	Epoch   uint64        `json:"epoch"`
	// Rooms has the members whose disks lack room.
	Rooms map[trie.MachineID]store.Room `json:"rooms,omitempty"`
	// About are the members coming back. The next report must have their last answers. Marked is
	// the epoch of the backfill whose marks the leader has.
	About  []trie.MachineID `json:"about,omitempty"`
	Marked uint64           `json:"marked,omitempty"`
}

// The state of a cluster in the model. It is made of arrays, so that a copy is an assignment
// and states compare by ==.

package model

import "fmt"

// This file is the state of a cluster as the model has it. All of it is arrays,
// so that a copy is an assignment and states compare by ==.

// A stamp is (epoch, seq), packed in the order of the pair. Zero is no stamp.
type stamp uint16

const seqBits = 6

func stampOf(epoch, seq uint8) stamp { return stamp(epoch)<<seqBits | stamp(seq) }

func (s stamp) String() string { return fmt.Sprintf("(%d,%d)", s>>seqBits, s&(1<<seqBits-1)) }

// A row is a stamp and a bit, set if it is a tombstone. Zero is no row. The greater row has the
// greater stamp.
type row uint16

func rowOf(s stamp, tombstone bool) row {
	r := row(s) << 1
	if tombstone {
		r |= 1
	}
	return r
}

func (r row) stamp() stamp    { return stamp(r >> 1) }
func (r row) tombstone() bool { return r&1 == 1 }
func (r row) live() bool      { return r != 0 && !r.tombstone() }

func (r row) String() string {
	switch {
	case r == 0:
		return "nothing"
	case r.tombstone():
		return "tombstone" + r.stamp().String()
	}
	return "v" + r.stamp().String()
}

// disk is the content of a machine's store.
type disk struct {
	rows [kinds][maxTriples]row
	// inFlight, seen: bit i is operation i. seen stands for "last seq from this
	// sequencer", for all sequencers, where operations come in any order.
	inFlight, seen uint8
	// marked counts the synced fills and tables. It must be written with them.
	marked uint8
}

// best returns the greatest row of x in any table.
func (d *disk) best(x int) (r row) {
	for k := range d.rows {
		r = max(r, d.rows[k][x])
	}
	return r
}

// machine is one node: its process and its disk.
type machine struct {
	up, lease bool
	// stalled is set if the disk completes no write, but fails none either.
	stalled bool
	// apart is set if it is isolated from the leader and from all machines that are not apart.
	apart bool
	// old is set if its store is that of a member, present or past. blank is set if its disk was
	// replaced.
	old, blank bool
	// promised is its mark as the others rely on it.
	promised uint8
	// waits is set if it came back and may lack operations that it acknowledged to a former
	// sequencer, until the view is reconciled.
	waits bool

	inc   uint8 // incarnation, 1 at first
	epoch uint8 // the view adopted; 0 after a start
	seq   uint8 // last stamped in epoch
	// mem is the store for readers, synced its state after a crash, and before its state before
	// the last synced batch.
	mem, synced, before disk

	// undo is the rows that operations in flight replaced, of the kinds in replaced. Both are lost in a
	// crash.
	undo     [maxOps][kinds]row
	replaced [maxOps]uint8

	// The backfill of this epoch: its snapshot, the sent rows (bit x*machines+m), and done if all
	// are sent and synced.
	snap         [maxTriples]row
	snapInFlight uint8
	snapped      bool // only with SnapshotEarly: taken for the epoch to come
	sent         uint16
	done         bool

	swept    bool // in this idle epoch
	ingested bool // the load's tables, in this epoch

	// stuck, only with CheckThenApply, is the operation+1 that passed the check in stuckEpoch
	// and is not applied.
	stuck, stuckEpoch uint8
}

// op is an add or a delete in flight.
type op struct {
	used, del   bool
	triple      uint8
	stamp       stamp
	born, inc   uint8 // the sequencer that stamped it, and its incarnation
	driver, dri uint8 // who drives it now, and its incarnation
	epoch       uint8 // in which the driver collects acks
	acked       set
	ackedEver   set  // that ever answered the driver
	holders     set  // that had answered when it was settled
	committed   bool // as the driver knows
	again       bool // driven by a second sequencer
	low         bool // stamped no higher than what a client had seen by then
	call        uint8
	// ever is set if all places had it once, so the client may have its answer.
	ever bool
}

// phase is that of a view.
type phase uint8

const (
	idle phase = iota
	fill
	serve
	ingest // idle, with a load being ingested
)

func (p phase) String() string { return [...]string{"idle", "fill", "serve", "ingest"}[p] }

// view is the value agreed on by Raft.
type view struct {
	phase        phase
	members      set
	inc          [maxMachines]uint8
	baseInc      [maxMachines]uint8 // incarnations when base became full
	base, target uint8              // layouts
	lost         set                // triples
	loaded       bool               // the load is shown
}

// scrubbing is one triple's digest, sent from one machine to another.
type scrubbing struct {
	on              bool
	from, to, epoch uint8
	triple          uint8
	row             row
	purges          uint8
}

// reading, only with CheckThenRead, is a read between its check and its snapshot.
type reading struct {
	on      bool
	m, k, x uint8
	floor   row // settled by then
}

// budget is the number of each kind of event that may still happen.
type budget struct {
	crashes, restarts, diskFaults, cuts, stalls, ackLosses uint8
	excludes, moves, joins, rejoins                        uint8
	purges, scrubs, loads, resends                         uint8
	writes                                                 [maxTriples]writeBudget
}

type writeBudget struct{ adds, deletes uint8 }

// cluster is the whole state.
type cluster struct {
	last     uint8 // the newest epoch; views[last] is its view
	views    [maxViews]view
	machines [maxMachines]machine
	ops      [maxOps]op
	scrub    scrubbing
	read     reading
	left     budget
	calls    uint8

	// purgeBelow is the leader's stamp for the purge of an epoch.
	purgeBelow [maxTriples]stamp
	purgeEpoch uint8
	purges     uint8
	// loadStamp is the stamp of the load; 0 before it is ingested.
	loadStamp stamp

	// For the invariants only; the protocol must not read these.
	floor  [maxTriples]row   // the greatest settled operation
	purged [maxTriples]stamp // the greatest purged tombstone
}

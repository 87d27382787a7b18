// Messages between members about their logs, as bytes.

package changes

import (
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The methods. All requests begin with the epoch of the sender's view.
//
//	changes/state   epoch of the feed -> reconciled bool, next epoch + 1 (0: none), sequencers,
//	                trimmed epoch, trims: machine in 8 bytes, epoch, sequence
//	changes/read    stamper in 8 bytes, epoch, after, flags (1 batches, 2 late, 4 live), next batch,
//	                wait in ms, bytes -> flags (1 trimmed, 2 future), until, last batch, operations
//	changes/pause   nothing -> number of the pause
//	changes/end     pause, 0 for none -> sequence
//
// An operation is as in package writes, with the time of its commit in unix ms before it.
const (
	methodState = "changes/state"
	methodRead  = "changes/read"
	methodPause = "changes/pause"
	methodEnd   = "changes/end"
	methodHeard = "changes/heard"
)

// stateRequest is the request for the state of a log.
type stateRequest struct{ view, epoch uint64 }

func (r *stateRequest) fields(c *peer.Coder) { c.Uvarint(&r.view, &r.epoch) }

// state is what a member has of an epoch.
type state struct {
	reconciled bool             // see writes.Writes.Reconciled
	next       uint64           // no greater than the first later epoch with operations; 0 if there are none
	sequencers []trie.MachineID // that may have operations of the epoch
	trimmed    uint64           // operations of this epoch and of earlier ones may be missing
	trims      []trim
}

// trim is the greatest trimmed stamp of a machine.
type trim struct {
	machine trie.MachineID
	stamp   triple.Stamp
}

func (s *state) fields(c *peer.Coder) {
	c.Bool(&s.reconciled)
	c.Uvarint(&s.next)
	peer.List(c, &s.sequencers, 8, func(m *trie.MachineID, c *peer.Coder) { peer.Uint64(c, m) })
	c.Uvarint(&s.trimmed)
	peer.List(c, &s.trims, 10, func(t *trim, c *peer.Coder) {
		peer.Uint64(c, &t.machine)
		c.Uvarint(&t.stamp.Epoch, &t.stamp.Sequence)
	})
}

// readRequest is the request for operations.
type readRequest struct {
	view          uint64
	stamper       trie.MachineID
	epoch, after  uint64
	batches, late bool
	// live reads this machine's own stamps of the present epoch up to its watermark, from batch from
	// on. It waits for some ms if there are none.
	live           bool
	from           uint64
	wait, maxBytes uint64
}

func (r *readRequest) fields(c *peer.Coder) {
	c.Uvarint(&r.view)
	peer.Uint64(c, &r.stamper)
	c.Uvarint(&r.epoch, &r.after)
	c.Flags(&r.batches, &r.late, &r.live)
	c.Uvarint(&r.from, &r.wait, &r.maxBytes)
}

// part is operations of one stamper, ascending by sequence.
type part struct {
	trimmed bool // some may be missing
	future  bool // the request begins behind the last stamp
	// until is the sequence up to which these are all. Of a live part it is committed.
	until      uint64
	last       uint64 // of a live part: the last batch that was read
	operations []replica.Logged
}

func (p *part) fields(c *peer.Coder) {
	c.Flags(&p.trimmed, &p.future)
	c.Uvarint(&p.until, &p.last)
	peer.List(c, &p.operations, 4, func(o *replica.Logged, c *peer.Coder) {
		time := uint64(max(o.Time, 0))
		c.Uvarint(&time)
		if e := c.Encoder(); e != nil {
			writes.EncodeOperation(e, &o.Operation)
			return
		}
		o.Time = int64(time)
		o.Operation = writes.DecodeOperation(c.Decoder())
	})
}

func (p *part) encode() []byte {
	size := 64
	for i := range p.operations {
		o := &p.operations[i]
		size += len(o.Key) + len(o.Long) + 48
		if o.Annotation != nil {
			size += len(o.Annotation.Data) + len(o.Annotation.ApplicationID) + 16
		}
	}
	return peer.Encode(size, p.fields)
}

// pauseRequest is the request for a pause of a member's stamps.
type pauseRequest struct{ view uint64 }

func (r *pauseRequest) fields(c *peer.Coder) { c.Uvarint(&r.view) }

// pause is the number of a pause.
type pause struct{ number uint64 }

func (p *pause) fields(c *peer.Coder) { c.Uvarint(&p.number) }

// endRequest is the request for the last stamp of a member, as of a pause if that is not 0.
type endRequest struct{ view, pause uint64 }

func (r *endRequest) fields(c *peer.Coder) { c.Uvarint(&r.view, &r.pause) }

// end is the last sequence of a member.
type end struct{ sequence uint64 }

func (e *end) fields(c *peer.Coder) { c.Uvarint(&e.sequence) }

// heard is the end of a member, and the last sequences of other members that it has durably.
type heard struct {
	sequence uint64
	others   []feed.Mark
}

func (h *heard) fields(c *peer.Coder) {
	c.Uvarint(&h.sequence)
	peer.List(c, &h.others, 9, func(m *feed.Mark, c *peer.Coder) {
		peer.Uint64(c, &m.Sequencer)
		c.Uvarint(&m.Sequence)
	})
}

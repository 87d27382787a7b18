// Reports of members to the leader, and its answers, which grant leases.

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// report is what a member tells the leader of itself, several times a lease; it
// asks for a lease by it.
type report struct {
	ID          trie.MachineID `json:"id"`
	Incarnation uint64         `json:"incarnation"`
	// Number counts the reports of the process: one that was overtaken says nothing.
	Number  uint64 `json:"number"`
	Address string `json:"address"`
	Spare   bool   `json:"spare,omitempty"`
	// Version is that of the release, Minor that of its protocol.
	Version string `json:"version,omitempty"`
	Minor   uint64 `json:"minor,omitempty"`
	// Self is how it describes itself, while the view has another incarnation of it: it may
	// have fields of a later minor.
	Self *view.Member `json:"self,omitempty"`
	// Lease is how long leases are by the member's configuration.
	Lease time.Duration `json:"lease"`
	// Epoch is that of the view which it has adopted; the next four are of it.
	Epoch      uint64 `json:"epoch"`
	Walked     bool   `json:"walked,omitempty"`
	Swept      bool   `json:"swept,omitempty"`
	Reconciled bool   `json:"reconciled,omitempty"`
	Ingested   bool   `json:"ingested,omitempty"`
	// Staging are the bulk loads that it makes.
	Staging []string `json:"staging,omitempty"`
	// Seen is the greatest epoch of Generation that the machine has ever adopted, as its
	// disk shows, and Digest that view's; 0 if it is not known.
	Generation uint64 `json:"generation,omitempty"`
	Seen       uint64 `json:"seen,omitempty"`
	Digest     uint64 `json:"digest,omitempty"`
	// Followed is the epoch of the generation before that the machine had adopted when it
	// was kept for this one, if that is newer than what this one began from.
	Followed uint64 `json:"followed,omitempty"`
	// Mark counts the fills that it has durably; Marks are those of others that its
	// backfill relies on. Marked: Marks is given. It is until the leader has it.
	Mark   uint64                    `json:"mark"`
	Marks  map[trie.MachineID]uint64 `json:"marks,omitempty"`
	Marked bool                      `json:"marked,omitempty"`
	// Heard is what its disk shows of sequencers. Shows: Heard is given. It is while the
	// machine is coming back: before it is a member that waits for nothing.
	Heard []heardOf `json:"heard,omitempty"`
	Shows bool      `json:"shows,omitempty"`
	// Answered is up to where it knows the machines of About to have answered: a disk that
	// shows less has lost something. About are those that the leader has asked about.
	About    []trie.MachineID `json:"about,omitempty"`
	Answered []answered       `json:"answered,omitempty"`

	// Slow are holders that owe it an answer for too long.
	Slow []trie.MachineID `json:"slow,omitempty"`

	Splits []view.SplitAt `json:"splits,omitempty"`
	// Small are segments of its own that have shrunk.
	Small []uint64      `json:"small,omitempty"`
	Walk  *walkProgress `json:"walk,omitempty"`
	// Damaged: its disk has returned other bytes than were written to it.
	Damaged bool         `json:"damaged,omitempty"`
	Store   storeFigures `json:"store"`
}

// heardOf says up to which batch of a sequencer's a machine has what it sent.
type heardOf struct {
	Sequencer   trie.MachineID `json:"sequencer"`
	Incarnation uint64         `json:"incarnation"`
	Last        uint64         `json:"last"`
}

// answered says up to which batch of a sequencer's a holder has answered.
type answered struct {
	Holder      trie.MachineID `json:"holder"`
	Sequencer   trie.MachineID `json:"sequencer"`
	Incarnation uint64         `json:"incarnation"`
	Batch       uint64         `json:"batch"`
}

// storeFigures are for the operator.
type storeFigures struct {
	Triples    int64  `json:"triples"`
	Bytes      int64  `json:"bytes"`
	FreeBytes  int64  `json:"freeBytes"`
	Tombstones int64  `json:"tombstones,omitempty"`
	Error      string `json:"error,omitempty"`
	// Spare is how many bytes are free above the watermark, Room what that is enough
	// for.
	Spare int64     `json:"spare"`
	Room  node.Room `json:"room,omitempty"`
}

// answer is what the leader says to a report.
type answer struct {
	Granted bool          `json:"granted"`
	Lease   time.Duration `json:"lease"`
	Epoch   uint64        `json:"epoch"`
	// Rooms are of the members whose disks have not enough room for everything.
	Rooms map[trie.MachineID]node.Room `json:"rooms,omitempty"`
	// About are the members that are coming back: up to where they have answered is to be
	// reported. Marked is the epoch of whose backfill the leader has the marks.
	About  []trie.MachineID `json:"about,omitempty"`
	Marked uint64           `json:"marked,omitempty"`
}

// asked is what the last answer of a leader asks for in the next report.
type asked struct {
	mu     sync.Mutex
	about  []trie.MachineID
	marked uint64
}

func (a *asked) take(from *answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.about, a.marked = from.About, from.Marked
}

func (a *asked) get() (about []trie.MachineID, marked uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.about, a.marked
}

// makeReport says how this member is.
func (n *Node) makeReport() report {
	status := n.store.Status()
	tombstones, all := n.store.Tombstones()
	if !all {
		tombstones++ // so that a purge looks for them
	}
	r := report{
		ID: n.self, Incarnation: n.incarnation, Number: n.reports.Add(1), Address: n.address, Spare: n.cfg.Spare, Lease: n.cfg.Lease, Mark: n.store.Mark(),
		Version: status.Version, Minor: protocol.Minor,
		Damaged: status.Corruptions > 0,
		Store: storeFigures{
			Triples: status.Triples, Bytes: status.Bytes, FreeBytes: status.FreeBytes, Tombstones: tombstones, Error: status.Error,
			Spare: n.store.Spare(), Room: n.store.Room(),
		},
	}
	v := n.current.Load()
	var marked uint64
	r.About, marked = n.asked.get()
	n.reportStreams(&r, v)
	if identity, ok := n.store.Identity(); ok && identity.Followed != nil {
		r.Followed = identity.Followed.Epoch
	}
	seen := n.newestSeen()
	r.Generation, r.Seen, r.Digest = seen.Generation, seen.Epoch, seen.Digest
	if v == nil || !v.Has(n.self, n.incarnation) {
		self := n.describe()
		r.Self = &self
		return r
	}
	r.Epoch = v.Epoch
	r.Ingested, r.Staging = n.ingested(v), n.loads.Staging()
	r.Reconciled, r.Slow = n.writes.Reconciled(), n.writes.Slow(n.cfg.slowAfter())
	r.Slow = append(r.Slow, n.work.slow(n.cfg.slowAfter())...)
	slices.Sort(r.Slow)
	r.Slow = slices.Compact(r.Slow)
	n.work.mu.Lock()
	defer n.work.mu.Unlock()
	if n.work.epoch == v.Epoch {
		r.Walked, r.Swept = n.work.walked, n.work.swept
		if r.Walked && marked != v.Epoch {
			r.Marks, r.Marked = maps.Clone(n.work.marks), true
		}
		r.Splits, r.Small = n.work.splits, n.work.small
		r.Walk = n.work.progress()
	}
	return r
}

// reportStreams adds what is known of the sequencers' batches, as far as somebody needs
// it: what this disk shows while the machine is coming back, and what the machines have
// answered that the leader asks about. All of it would grow with the square of the members.
func (n *Node) reportStreams(r *report, v *view.View) {
	r.Shows = v == nil || !v.Has(n.self, n.incarnation) || v.Find(n.self).Waits
	if !r.Shows && len(r.About) == 0 {
		return
	}
	streams, own := n.store.Heard(), n.writes.Acked()
	if r.Shows {
		for _, h := range streams {
			r.Heard = append(r.Heard, heardOf{h.Sequencer, h.Incarnation, h.Last})
		}
	}
	for _, holder := range r.About {
		for _, h := range streams {
			if batch, ok := h.Acks[holder]; ok {
				r.Answered = append(r.Answered, answered{holder, h.Sequencer, h.Incarnation, batch})
			}
		}
		if batch, ok := own[holder]; ok {
			r.Answered = append(r.Answered, answered{holder, n.self, n.incarnation, batch})
		}
	}
}

// renew asks for a lease until ctx ends: some times a lease, and at once after
// each wake.
func (n *Node) renew(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wakeLease:
		case <-timer.C:
		}
		timer.Reset(n.lease.pace(n.cfg.Lease) / 5)
		if err := n.renewOnce(ctx); err != nil && ctx.Err() == nil {
			n.log.Debug("no lease", "error", err)
			if errors.Is(err, ErrExcluded) || errors.Is(err, ErrSuperseded) {
				n.end(err)
			}
		}
	}
}

// renewOnce makes a report and takes the lease that comes back. The disk has to
// have written something durably before: who cannot write must not answer for
// long.
func (n *Node) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Lease)
	defer cancel()
	n.disk.begin(n.cfg.Clock.Now())
	if err := n.store.Beat(ctx); err != nil {
		return err
	}
	n.disk.done()
	asked := n.cfg.Clock.Now()
	r := n.makeReport()
	a, err := n.tellLeader(ctx, r)
	if r := (*peer.Refusal)(nil); errors.As(err, &r) && r.Code == peer.CodeSuperseded {
		return fmt.Errorf("%w (%w)", ErrSuperseded, err)
	}
	if n.excluded(err) {
		// The leader has shown that its view descends from the one adopted here.
		if n.leaving.Load() {
			return ErrLeft
		}
		return fmt.Errorf("%w: %w", ErrExcluded, err)
	}
	if err != nil {
		return err
	}
	before := n.lease.pace(n.cfg.Lease)
	if n.lease.said(a.Lease); n.lease.pace(n.cfg.Lease) < before {
		wake(n.wakeLease)
	}
	n.asked.take(&a)
	n.writes.SetRooms(a.Rooms)
	n.refreshStatus(ctx)
	if a.Granted {
		n.lease.take(r.Epoch, asked+a.Lease)
	}
	return nil
}

// excluded reports whether an error is the answer of a leader that this machine, whose
// directory is a member's, is none any more. A leader answers so only if its view
// descends from the one that this machine has adopted (see hear). That may be the very
// view that goes on without it. A later generation excludes nobody: see apart.
func (n *Node) excluded(err error) bool {
	r := (*peer.Refusal)(nil)
	if !errors.As(err, &r) {
		return false
	}
	_, member := n.store.Identity()
	if r.Code != peer.CodeStranger || r.Epoch == 0 {
		return false
	}
	v := n.current.Load()
	return member && (v == nil || r.Epoch > v.Epoch || r.Epoch == v.Epoch && v.Find(n.self) == nil)
}

// tellLeader sends a report to whoever leads.
func (n *Node) tellLeader(ctx context.Context, r report) (a answer, err error) {
	if n.agreement().IsLeader() {
		return n.hear(ctx, r)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	b, err := n.callLeader(ctx, methodReport, body)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(b, &a)
}

func isRefusal(err error) bool { return errors.As(err, new(*peer.Refusal)) }

// callLeader sends a message to whoever leads; where that is not known, to any
// member, who may know.
func (n *Node) callLeader(ctx context.Context, method string, body []byte) ([]byte, error) {
	if id, address, ok := n.agreement().Leader(); ok && id != n.self {
		return n.client.Call(ctx, address, method, body)
	}
	err, told := error(node.ErrUnavailable), error(nil)
	for _, address := range n.others() {
		var b []byte
		if b, err = n.client.Call(ctx, address, method, body); err == nil {
			return b, nil
		}
		// A stranger's answer has no epoch.
		if r := (*peer.Refusal)(nil); errors.As(err, &r) && r.Epoch != 0 && (r.Code == peer.CodeStranger || r.Code == peer.CodeSuperseded) {
			return nil, err
		}
		if n.noteApart(address, err) || told == nil && isRefusal(err) {
			told = err // more than that the next one is not reached
		}
	}
	if told != nil {
		err = told
	}
	return nil, fmt.Errorf("no leader of the cluster is reached: %w", err)
}

// handleReport is the leader's side. A node that does not lead passes a report
// on, once, if it knows who does: one that comes back knows members, and not which
// of them leads.
func (n *Node) handleReport(ctx context.Context, h peer.Header, body []byte) ([]byte, error) {
	var r report
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	if id, address, ok := n.agreement().Leader(); ok && id != n.self && h.From == r.ID {
		b, err := n.client.Call(ctx, address, methodReport, body)
		return b, passOn(err)
	}
	a, err := n.hear(ctx, r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

// hear takes a report as the leader and answers it. Leadership is verified after
// the report has come, so that the lease, which runs from before that, ends before
// a later leader excludes its holder.
func (n *Node) hear(ctx context.Context, r report) (a answer, err error) {
	ag := n.agreement()
	term := ag.Term()
	if err := ag.Verify(ctx); err != nil {
		return a, refuse(peer.CodeUnavailable, 0, "this node does not lead: %s", err)
	}
	if ag.Term() != term {
		return a, refuse(peer.CodeUnavailable, 0, "the leadership has changed")
	}
	v := ag.View()
	if v == nil {
		return a, refuse(peer.CodeUnavailable, 0, "no view yet")
	}
	if err := n.remembers(ctx, &r); err != nil {
		return a, refuse(peer.CodeUnavailable, v.Epoch, "%s", err)
	}
	if v.Find(r.ID) == nil && !n.wishes.joining(r.ID) {
		if !v.Descends(r.Generation, r.Seen, r.Digest) {
			return a, refuse(peer.CodeStranger, 0, "machine %s is not a member, and the view that it has adopted (generation %d, epoch %d) "+
				"is not in the history of this cluster (generation %d, epoch %d), or too old: its data is kept; see \"A machine is not taken back\" in OPERATIONS.md",
				r.ID, r.Generation, r.Seen, v.Generation, v.Epoch)
		}
		return a, refuse(peer.CodeStranger, v.Epoch, "machine %s is not a member", r.ID)
	}
	if r.Minor < v.Minor {
		return a, refuse(peer.CodeUnavailable, v.Epoch, "machine %s: %s", r.ID, outdated(r.Minor, v.Minor))
	}
	if r.Self != nil {
		if err := r.Self.CheckUnknown(); err != nil {
			return a, refuse(peer.CodeUnavailable, v.Epoch, "%s", err)
		}
	}
	if by, ok := n.grants.superseded(&r, n.cfg.Clock.Now()); ok {
		return a, refuse(peer.CodeSuperseded, v.Epoch, "machine %s started later at %s", r.ID, by)
	}
	ok, news := n.grants.report(v, r, n.cfg.Clock.Now(), n.cfg.Patience/2, n.cfg.Lease)
	if !ok {
		return a, refuse(peer.CodeUnavailable, v.Epoch, "this node does not lead yet")
	}
	a = answer{Epoch: v.Epoch, Lease: n.leaseIn(v), Rooms: n.grants.rooms(v)}
	a.Granted = n.grants.grant(v, &r, term, a.Lease, n.cfg.Clock.Now())
	a.About, a.Marked = n.grants.asks(v, r.ID)
	if news {
		n.wakeLeader()
	}
	return a, nil
}

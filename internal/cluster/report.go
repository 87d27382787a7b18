// Reports of members to the leader; its answers grant leases.

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

	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// report is a member's report to the leader, sent several times a lease. It also requests a
// lease.
type report struct {
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
	Heard []heardOf `json:"heard,omitempty"`
	Shows bool      `json:"shows,omitempty"`
	// Answered are the last answered batches of the machines of About. If a disk shows less, it
	// has lost rows. About are the machines the leader has asked about.
	About    []trie.MachineID `json:"about,omitempty"`
	Answered []answered       `json:"answered,omitempty"`

	// Slow are holders with an answer overdue for too long.
	Slow []trie.MachineID `json:"slow,omitempty"`

	Splits []view.SplitAt `json:"splits,omitempty"`
	// Small are local segments after they shrank.
	Small []uint64           `json:"small,omitempty"`
	Walk  *backfill.Progress `json:"walk,omitempty"`
	// Damaged: its disk has returned other bytes than were written to it.
	Damaged bool         `json:"damaged,omitempty"`
	Store   storeFigures `json:"store"`
}

// heardOf is the last batch of a sequencer on a machine's disk.
type heardOf struct {
	Sequencer   trie.MachineID `json:"sequencer"`
	Incarnation uint64         `json:"incarnation"`
	Last        uint64         `json:"last"`
}

// answered is the last batch of a sequencer a holder has answered.
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
	// Spare is the number of free bytes above the watermark; Room is the kind of operations they
	// are enough for.
	Spare int64      `json:"spare"`
	Room  store.Room `json:"room,omitempty"`
}

// answer is the leader's answer to a report.
type answer struct {
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

// asked is the request for the next report in a leader's last answer.
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

// makeReport returns the report of this member.
func (n *Node) makeReport() report {
	// 1. The machine and its disk.
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
	// The view must be read before the work under it, because the epoch of both must be the same.
	v := n.View()
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
	// 2. The work under the adopted view.
	r.Epoch = v.Epoch
	r.Ingested, r.Staging = n.ingested(v), n.loads.Staging()
	r.Reconciled, r.Slow = n.writes.Reconciled(), n.writes.Slow(n.cfg.slowAfter())
	r.Slow = append(r.Slow, n.backfill.Slow(v.Epoch, n.cfg.slowAfter())...)
	slices.Sort(r.Slow)
	r.Slow = slices.Compact(r.Slow)
	if done := n.work.done(v.Epoch); done != nil {
		r.Walked, r.Swept, r.Splits, r.Small = done.filled, done.swept, done.splits, done.small
		// The marks go with each report until the leader has them, because a report may get lost.
		if r.Walked && marked != v.Epoch {
			r.Marks, r.Marked = maps.Clone(done.marks), true
		}
		r.Walk = n.backfill.Progress(v.Epoch)
	}
	return r
}

// reportStreams adds the known batches of sequencers, but only if they are needed. If the machine
// comes back, it adds the state of its disk. If the leader asks about machines, it adds their
// last answers. More would grow with the square of the members.
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

// renew requests leases until ctx ends: five times in the length of one, and at once after each
// wake.
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
		timer.Reset(n.lease.interval(n.cfg.Lease) / 5)
		if err := n.renewOnce(ctx); err != nil && ctx.Err() == nil {
			n.log.Debug("no lease", "error", err)
			if errors.Is(err, ErrExcluded) || errors.Is(err, ErrSuperseded) {
				n.end(err)
			}
		}
	}
}

// renewOnce sends a report and takes the lease of the answer. The disk must write durably first,
// because a machine must not answer for long if it cannot write.
func (n *Node) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Lease)
	defer cancel()
	// 1. Prove that the disk writes.
	n.disk.begin(n.cfg.Clock.Now())
	if err := n.store.Beat(ctx); err != nil {
		return err
	}
	n.disk.done()
	// 2. Send the report. The lease counts from before it, because the leader grants later.
	asked := n.cfg.Clock.Now()
	r := n.makeReport()
	a, err := n.tellLeader(ctx, r)
	if r := (*peer.Refusal)(nil); errors.As(err, &r) && r.Code == peer.CodeSuperseded {
		return fmt.Errorf("%w (%w)", ErrSuperseded, err)
	}
	if n.excluded(err) {
		// The leader's answer proves: its view descends from the one adopted here.
		if n.leaving.Load() {
			return ErrLeft
		}
		return fmt.Errorf("%w: %w", ErrExcluded, err)
	}
	if err != nil {
		return err
	}
	// 3. Take the answer. If leases got shorter, the next report must come earlier.
	before := n.lease.interval(n.cfg.Lease)
	if n.lease.said(a.Lease); n.lease.interval(n.cfg.Lease) < before {
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

// excluded reports whether err is a leader's refusal because this machine is not a member any
// more, though its directory is a member's. A leader sends it only if its view descends from this
// machine's adopted view, or is the same (see hear). A leader of a later generation does not
// exclude members: see apart.
func (n *Node) excluded(err error) bool {
	r := (*peer.Refusal)(nil)
	if !errors.As(err, &r) {
		return false
	}
	_, member := n.store.Identity()
	if r.Code != peer.CodeStranger || r.Epoch == 0 {
		return false
	}
	v := n.View()
	return member && (v == nil || r.Epoch > v.Epoch || r.Epoch == v.Epoch && v.Find(n.self) == nil)
}

// tellLeader sends a report to the leader.
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

// callLeader sends a message to the leader. If the leader is unknown, it sends it to any member,
// because the member may know the leader.
func (n *Node) callLeader(ctx context.Context, method string, body []byte) ([]byte, error) {
	if id, address, ok := n.agreement().Leader(); ok && id != n.self {
		return n.client.Call(ctx, address, method, body)
	}
	err, told := error(store.ErrUnavailable), error(nil)
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

// handleReport handles a report on the leader. If a node does not lead and knows the leader, it
// forwards the report, once. It must forward reports because a machine coming back knows the
// members, but not which of them leads.
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

// hear receives a report as the leader and answers it. The leadership must be verified after the
// report has arrived. The lease runs from before it, so it ends before a later leader may exclude
// its holder.
func (n *Node) hear(ctx context.Context, r report) (a answer, err error) {
	// 1. Verify the leadership.
	ag := n.agreement()
	term := ag.Term()
	if err := ag.Verify(ctx); err != nil {
		return a, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead: %s", err)
	}
	if ag.Term() != term {
		return a, peer.Refuse(peer.CodeUnavailable, 0, "the leadership has changed")
	}
	v := ag.View()
	if v == nil {
		return a, peer.Refuse(peer.CodeUnavailable, 0, "no view yet")
	}
	// 2. Reject a machine if it is no member, or must not be served.
	if err := n.remembers(ctx, &r); err != nil {
		return a, peer.Refuse(peer.CodeUnavailable, v.Epoch, "%s", err)
	}
	if v.Find(r.ID) == nil && !n.wishes.joining(r.ID) {
		if !v.Descends(r.Generation, r.Seen, r.Digest) {
			return a, peer.Refuse(peer.CodeStranger, 0, "machine %s is not a member, and the view that it has adopted (generation %d, epoch %d) "+
				"is not in the history of this cluster (generation %d, epoch %d), or too old: its data is kept; see \"A machine is not taken back\" in OPERATIONS.md",
				r.ID, r.Generation, r.Seen, v.Generation, v.Epoch)
		}
		return a, peer.Refuse(peer.CodeStranger, v.Epoch, "machine %s is not a member", r.ID)
	}
	if r.Minor < v.Minor {
		return a, peer.Refuse(peer.CodeUnavailable, v.Epoch, "machine %s: %s", r.ID, outdated(r.Minor, v.Minor))
	}
	if r.Self != nil {
		if err := r.Self.CheckUnknown(); err != nil {
			return a, peer.Refuse(peer.CodeUnavailable, v.Epoch, "%s", err)
		}
	}
	if by, ok := n.grants.superseded(&r, n.cfg.Clock.Now()); ok {
		return a, peer.Refuse(peer.CodeSuperseded, v.Epoch, "machine %s started later at %s", r.ID, by)
	}
	// 3. Record the report and grant a lease.
	ok, news := n.grants.report(v, r, n.cfg.Clock.Now(), n.cfg.FailureTimeout/2, n.cfg.Lease)
	if !ok {
		return a, peer.Refuse(peer.CodeUnavailable, v.Epoch, "this node does not lead yet")
	}
	a = answer{Epoch: v.Epoch, Lease: n.leaseIn(v), Rooms: n.grants.rooms(v)}
	a.Granted = n.grants.grant(v, &r, term, a.Lease, n.cfg.Clock.Now())
	a.About, a.Marked = n.grants.asks(v, r.ID)
	if news {
		n.wakeLeader()
	}
	return a, nil
}

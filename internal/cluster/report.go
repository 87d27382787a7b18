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

	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// asked is the request for the next report in a leader's last answer.
type asked struct {
	mu     sync.Mutex
	about  []trie.MachineID
	marked uint64
}

func (a *asked) take(from *leader.Answer) {
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
func (n *Node) makeReport() leader.Report {
	// 1. The machine and its disk.
	status := n.store.Status()
	tombstones, all := n.store.Tombstones()
	if !all {
		tombstones++ // so that a purge looks for them
	}
	r := leader.Report{
		ID: n.self, Incarnation: n.incarnation, Number: n.reports.Add(1), Address: n.address, Spare: n.cfg.Spare, Lease: n.cfg.Lease, Mark: n.store.Mark(),
		Version: status.Version, Minor: protocol.Minor,
		Damaged: status.Corruptions > 0,
		Store: leader.StoreFigures{
			Triples: status.Triples, Bytes: status.Bytes, FreeBytes: status.FreeBytes, Tombstones: tombstones, Error: status.Error,
			Spare: n.store.Database().Spare(), Room: n.store.Room(),
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
	r.Reconciled, r.Slow = n.writes.Reconciled(), n.writes.Slow(leader.SlowAfter(n.cfg.Lease))
	r.Slow = append(r.Slow, n.backfill.Slow(v.Epoch, leader.SlowAfter(n.cfg.Lease))...)
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
func (n *Node) reportStreams(r *leader.Report, v *view.View) {
	r.Shows = v == nil || !v.Has(n.self, n.incarnation) || v.Find(n.self).Waits
	if !r.Shows && len(r.About) == 0 {
		return
	}
	streams, own := n.store.Heard(), n.writes.Acked()
	if r.Shows {
		for _, h := range streams {
			r.Heard = append(r.Heard, leader.LastBatch{Sequencer: h.Sequencer, Incarnation: h.Incarnation, Last: h.Last})
		}
	}
	for _, holder := range r.About {
		for _, h := range streams {
			if batch, ok := h.Acks[holder]; ok {
				r.Answered = append(r.Answered, leader.Answered{Holder: holder, Sequencer: h.Sequencer, Incarnation: h.Incarnation, Batch: batch})
			}
		}
		if batch, ok := own[holder]; ok {
			r.Answered = append(r.Answered, leader.Answered{Holder: holder, Sequencer: n.self, Incarnation: n.incarnation, Batch: batch})
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
	n.leader().Disk.Begin(n.cfg.Clock.Now())
	if err := n.store.Beat(ctx); err != nil {
		return err
	}
	n.leader().Disk.Done()
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
func (n *Node) tellLeader(ctx context.Context, r leader.Report) (a leader.Answer, err error) {
	if n.agreement().IsLeader() {
		return n.leader().Receive(ctx, r)
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
	var r leader.Report
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	if id, address, ok := n.agreement().Leader(); ok && id != n.self && h.From == r.ID {
		b, err := n.client.Call(ctx, address, methodReport, body)
		return b, passOn(err)
	}
	a, err := n.leader().Receive(ctx, r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

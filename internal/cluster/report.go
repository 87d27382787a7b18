// Reports of members to the leader; its answers grant leases.

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/loads"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// reporter reports to the leader, and takes the leases of its answers.
type reporter struct {
	*membership
	end       func(error) // ends the node for good
	peers     *peers
	isolation *isolation
	status    *status
	writes    *writes.Writes
	loads     *loads.Loads
	backfill  *backfill.Filler
	work      *work

	seen    store.AdoptedView // the newest view that the disk had adopted when the process began
	leaving atomic.Bool       // this machine was, in the last view that had it
	reports atomic.Uint64     // that were made
	counted atomic.Int64      // copies of triples in the store
	countAt atomic.Int64      // when they are counted again, as a time of the clock
	next    nextReport
	due     notify.Wake // if the next report must be sent at once
}

// nextReport is the request for the next report in a leader's last answer.
type nextReport struct {
	mu     sync.Mutex
	about  []trie.MachineID
	marked uint64
}

func (n *nextReport) take(from *leader.Answer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.about, n.marked = from.About, from.Marked
}

func (n *nextReport) get() (about []trie.MachineID, marked uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.about, n.marked
}

// makeReport returns the report of this member.
func (m *reporter) makeReport() leader.Report {
	// 1. The machine and its disk.
	status := m.store.Status()
	tombstones, all := m.store.Tombstones()
	if !all {
		tombstones++ // so that a purge looks for them
	}
	r := leader.Report{
		ID: m.self, Incarnation: m.incarnation, Number: m.reports.Add(1), Address: m.peers.address, Spare: m.cfg.Spare, Lease: m.cfg.Lease, Mark: m.store.Mark(),
		Version: status.Version, Minor: protocol.Minor,
		Damaged: status.Corruptions > 0,
		Store: leader.StoreFigures{
			Triples: status.Triples, Copies: m.copies(), Bytes: status.Bytes, FreeBytes: status.FreeBytes, Tombstones: tombstones, Error: status.Error,
			Spare: m.store.Database().Spare(), Room: m.store.Room(),
		},
	}
	// The view must be read before the work under it, because the epoch of both must be the same.
	v := m.View()
	var marked uint64
	r.About, marked = m.next.get()
	m.addStreams(&r, v)
	if identity, ok := m.store.Identity(); ok && identity.Followed != nil {
		r.Followed = identity.Followed.Epoch
	}
	seen := m.newestSeen()
	r.Generation, r.Seen, r.Digest = seen.Generation, seen.Epoch, seen.Digest
	if v == nil || !v.Has(m.self, m.incarnation) {
		self := m.peers.describe(m.cfg.Spare)
		r.Self = &self
		return r
	}
	// 2. The work under the adopted view. A view in phase ingest is adopted only after its tables
	// are ingested.
	r.Epoch = v.Epoch
	r.Ingested, r.Staging = v.Ingesting() != nil, m.loads.Staging()
	r.Reconciled, r.Slow = m.writes.Reconciled(), m.writes.Slow(leader.SlowAfter(m.cfg.Lease))
	r.Slow = append(r.Slow, m.backfill.Slow(v.Epoch, leader.SlowAfter(m.cfg.Lease))...)
	slices.Sort(r.Slow)
	r.Slow = slices.Compact(r.Slow)
	if done := m.work.done(v.Epoch); done != nil {
		r.Walked, r.Swept, r.Splits, r.Small = done.filled, done.swept, done.splits, done.small
		// The marks go with each report until the leader has them, because a report may get lost.
		if r.Walked && marked != v.Epoch {
			r.Marks, r.Marked = maps.Clone(done.marks), true
		}
		r.Walk = m.backfill.Progress(v.Epoch)
	}
	return r
}

// The copies of a machine are counted for the status every countEvery, or more seldom: a count may take
// one part in countShare of the time.
const (
	countEvery = 2 * time.Second
	countShare = 200
)

// copies returns about how many copies of triples this machine had when they were counted last. It
// begins a count if one is due.
func (m *reporter) copies() int64 {
	due := m.countAt.Load()
	if int64(m.leaseTime()) < due || !m.countAt.CompareAndSwap(due, math.MaxInt64) {
		return m.counted.Load()
	}
	m.work.start(func() {
		begun := m.leaseTime()
		sn, err := m.store.Snapshot()
		if err == nil {
			var n int64
			n, err = sn.EstimateCopies(m.isolation.closing)
			if err = errors.Join(err, sn.Close()); err == nil {
				m.counted.Store(n)
			}
		}
		if err != nil {
			m.log.Debug("copies are not counted", "error", err)
		}
		m.countAt.Store(int64(m.leaseTime() + max(countEvery, countShare*(m.leaseTime()-begun))))
	})
	return m.counted.Load()
}

// addStreams adds the known batches of sequencers, but only if they are needed. If the machine
// comes back, it adds the state of its disk. If the leader asks about machines, it adds their
// last answers. More would grow with the square of the members.
func (m *reporter) addStreams(r *leader.Report, v *view.View) {
	r.Shows = v == nil || !v.Has(m.self, m.incarnation) || v.Find(m.self).Waits
	if !r.Shows && len(r.About) == 0 {
		return
	}
	streams, own := m.store.SequencerStates(), m.writes.Acked()
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
			r.Answered = append(r.Answered, leader.Answered{Holder: holder, Sequencer: m.self, Incarnation: m.incarnation, Batch: batch})
		}
	}
}

// run requests leases until ctx ends: five times in the length of one, and at once after each
// wake.
func (m *reporter) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.due:
		case <-timer.C:
		}
		timer.Reset(m.isolation.lease.interval(m.cfg.Lease) / 5)
		if err := m.renewOnce(ctx); err != nil && ctx.Err() == nil {
			m.log.Debug("no lease", "error", err)
			if errors.Is(err, ErrExcluded) || errors.Is(err, ErrSuperseded) {
				m.end(err)
			}
		}
	}
}

// renewOnce sends a report and takes the lease of the answer. The disk must write durably first,
// because a machine must not answer for long if it cannot write.
func (m *reporter) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Lease)
	defer cancel()
	// 1. Prove that the disk writes.
	m.leader().Disk.Begin(m.leaseTime())
	if err := m.store.Beats().Beat(ctx); err != nil {
		return err
	}
	m.leader().Disk.Done()
	// 2. Send the report. The lease counts from before it, because the leader grants later.
	begun := m.leaseTime()
	r := m.makeReport()
	a, err := m.send(ctx, r)
	if r := (*peer.Refusal)(nil); errors.As(err, &r) && r.Code == peer.CodeSuperseded {
		return fmt.Errorf("%w (%w)", ErrSuperseded, err)
	}
	if m.excluded(err) {
		// The leader's answer proves: its view descends from the one adopted here.
		if m.leaving.Load() {
			return ErrLeft
		}
		return fmt.Errorf("%w: %w", ErrExcluded, err)
	}
	if err != nil {
		return err
	}
	// 3. Take the answer. If leases got shorter, the next report must come earlier.
	before := m.isolation.lease.interval(m.cfg.Lease)
	if m.isolation.lease.setLength(a.Lease); m.isolation.lease.interval(m.cfg.Lease) < before {
		m.due.Send()
	}
	m.next.take(&a)
	m.writes.SetRooms(a.Rooms)
	m.status.refresh(ctx)
	if a.Granted {
		m.isolation.lease.extend(r.Epoch, begun+a.Lease)
	}
	return nil
}

// excluded reports whether err is a leader's refusal because this machine is not a member any
// more, though its directory is a member's. A leader sends it only if its view descends from this
// machine's adopted view, or is the same (see leader.Receive). A leader of a later generation does not
// exclude members: see laterGeneration.
func (m *reporter) excluded(err error) bool {
	r := (*peer.Refusal)(nil)
	if !errors.As(err, &r) {
		return false
	}
	_, member := m.store.Identity()
	if r.Code != peer.CodeStranger || r.Epoch == 0 {
		return false
	}
	v := m.View()
	return member && (v == nil || r.Epoch > v.Epoch || r.Epoch == v.Epoch && v.Find(m.self) == nil)
}

// send sends a report to the leader.
func (m *reporter) send(ctx context.Context, r leader.Report) (a leader.Answer, err error) {
	if m.agreement().IsLeader() {
		return m.leader().Receive(ctx, r)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	b, err := m.peers.callLeader(ctx, methodReport, body)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(b, &a)
}

// answer handles a report on the leader. If a node does not lead and knows the leader, it
// forwards the report, once. It must forward reports because a machine coming back knows the
// members, but not which of them leads.
func (m *reporter) answer(ctx context.Context, h peer.Header, body []byte) ([]byte, error) {
	var r leader.Report
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	if id, address, ok := m.agreement().Leader(); ok && id != m.self && h.From == r.ID {
		b, err := m.peers.client.Call(ctx, peer.Recipient{Machine: id, Address: address}, methodReport, body)
		return b, passOn(err)
	}
	a, err := m.leader().Receive(ctx, r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}

// newestSeen names the newest view this machine has adopted, by its disk or by this process.
func (m *reporter) newestSeen() store.AdoptedView {
	v := m.View()
	if v == nil || v.Generation < m.seen.Generation || v.Generation == m.seen.Generation && v.Epoch < m.seen.Epoch {
		return m.seen
	}
	return seenOf(v)
}

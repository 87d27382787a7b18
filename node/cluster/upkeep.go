package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
)

// upkeep is what keeps a cluster in order while nothing happens: purges and scrubs.
type upkeep struct {
	scans chan struct{} // holds a token for each pass over this machine's rows

	purges atomic.Int64 // that this node has led to their ends
	purged atomic.Int64 // tombstones of this machine

	mu      sync.Mutex
	number  uint64 // of the last purge that this machine has taken the floors of
	running bool   // this node leads a purge or scrub
	scrub   node.Scrub
	ended   time.Time // of the last scrub
}

// maxScans is how many passes over its rows a machine makes at a time for others.
const maxScans = 2

func (u *upkeep) begin() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running {
		return false
	}
	u.running = true
	return true
}

func (u *upkeep) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running = false
}

func (u *upkeep) purgeNumber() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.number
}

// takeNumber makes a purge the last one; false where a later one was.
func (u *upkeep) takeNumber(number uint64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if number <= u.number {
		return false
	}
	u.number = number
	return true
}

// scrubbed notes how a scrub ended.
func (u *upkeep) scrubbed(r ScrubReport, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := &u.scrub
	s.Differences += r.Differences
	s.Repaired += r.Repaired
	s.Left, s.Rows, s.Seconds, s.Error = r.Left+r.Foreign+r.Unreadable, r.Rows, r.Seconds, ""
	if err != nil {
		s.Error = err.Error()
		return
	}
	s.Passes++
	u.ended = time.Now()
}

// status returns what this node has scrubbed as the leader, nil where it has not.
func (u *upkeep) status() *node.Scrub {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.scrub == (node.Scrub{}) {
		return nil
	}
	s := u.scrub
	if !u.ended.IsZero() {
		s.Age = time.Since(u.ended).Seconds()
	}
	return &s
}

// upkeepTick is how often the leader looks whether there is something to purge or to
// scrub.
const upkeepTick = 5 * time.Second

// lookAfter purges and scrubs while this node leads, until ctx ends. A leader that
// begins waits as long for its first purge and scrub as between two.
func (n *Node) lookAfter(ctx context.Context) {
	term, purged, scrubbed := uint64(0), time.Time{}, time.Time{}
	for ; ctx.Err() == nil; wait(ctx, upkeepTick) {
		if !n.agreement().IsLeader() {
			term = 0
			continue
		}
		if now := n.agreement().Term(); now != term {
			term, purged, scrubbed = now, time.Now(), time.Now()
		}
		v := n.current.Load()
		if v == nil {
			continue
		}
		facts := n.purgeFacts(v)
		facts.since, facts.every = time.Since(purged), n.cfg.PurgeEvery
		if facts.due() {
			n.purgeNow(ctx)
			purged = time.Now()
		}
		if v.Phase == recovery.Idle && facts.quiet && n.cfg.ScrubEvery > 0 && n.cfg.ScrubRate > 0 && time.Since(scrubbed) >= n.cfg.ScrubEvery {
			scrubbed = time.Now()
			if !n.scrubNow(ctx) {
				scrubbed = scrubbed.Add(n.cfg.ScrubEvery/scrubRetry - n.cfg.ScrubEvery)
			}
		}
	}
}

func (n *Node) purgeNow(ctx context.Context) {
	start := time.Now()
	purged, err := n.Purge(ctx)
	if err != nil {
		n.log.Info("a purge did not come to its end", "tombstones", purged, "error", err)
		return
	}
	n.upkeep.purges.Add(1)
	n.log.Info("purged", "tombstones", purged, "took", time.Since(start))
}

// scrubRetry is by how much sooner the next scrub begins where one did not come to
// its end, as when the view changed: soon, and not so soon that it never ends.
const scrubRetry = 50

// scrubNow reports whether the scrub came to its end.
func (n *Node) scrubNow(ctx context.Context) bool {
	r, err := n.Scrub(ctx)
	if err != nil {
		n.log.Info("a scrub did not come to its end", "error", err)
		return false
	}
	n.log.Info("scrubbed", "rows", r.Rows, "differences", r.Differences, "repaired", r.Repaired, "left", r.Left)
	return true
}

// purgeFacts returns what the leader knows of the members as far as it matters for
// purges.
func (n *Node) purgeFacts(v *view.View) purgeFacts {
	f := purgeFacts{idle: v.Phase == recovery.Idle && len(v.Lost) == 0, quiet: true}
	n.grants.mu.Lock()
	defer n.grants.mu.Unlock()
	for i := range v.Members {
		m := &v.Members[i]
		h, ok := n.grants.heard[m.ID]
		r := &h.report
		f.quiet = f.quiet && ok && !m.Waits && r.Incarnation == m.Incarnation && r.Epoch == v.Epoch && r.Swept && r.Reconciled
		f.tombstones += r.Store.Tombstones
		f.rows += 3 * r.Store.Triples
	}
	return f
}

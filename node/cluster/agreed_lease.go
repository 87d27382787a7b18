// How long leases are.

package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// This file is about how long leases are. Members may be started with different
// lengths, as while an operator changes them one by one. The view has the longest that
// anybody grants, and a new leader waits as long for those of its predecessors:
//
//   - a leader grants its own length, and never more than the view's;
//   - the view's follows that of the members once all have the same;
//   - it is made shorter only when all leases of former leaders are over; those of
//     the leader that does it are no longer than its own, which is the new one.

// drift is by how much two clocks may disagree on how long a lease is: a tenth,
// far more than clocks do.
func drift(lease time.Duration) time.Duration { return lease / 10 }

// leaseIn returns for how long this node grants leases in a view.
func (n *Node) leaseIn(v *view.View) time.Duration { return min(n.cfg.Lease, v.Lease) }

// mayHold reports whether a member may hold a lease now, granted by this leader or by
// one before it, which has granted none for longer than longest. The lock is held.
func (g *grants) mayHold(id trie.MachineID, now, longest time.Duration) bool {
	l := g.granted[id]
	return now < max(g.since+longest+drift(longest), l.at+l.length+drift(l.length))
}

// planLease returns the view in which leases are as long as all members have it, and
// otherwise who has another length. The lock of the grants is held.
func (n *Node) planLease(v *view.View, now time.Duration) (next *view.View, reason, differ string) {
	own, same := n.cfg.Lease, true
	var others []string
	for _, m := range v.Members {
		h, ok := n.grants.heard[m.ID]
		if !ok || h.report.Incarnation != m.Incarnation || h.report.Epoch != v.Epoch {
			return nil, "", ""
		}
		same = same && h.report.Lease == own
		if h.report.Lease != v.Lease {
			others = append(others, fmt.Sprintf("%s at %s has %s", m.ID, m.Address, failureTimeout(h.report.Lease)))
		}
	}
	switch {
	case len(others) == 0:
		return nil, "", ""
	case !same:
		return nil, "", fmt.Sprintf("all members to be started with one --failure-timeout: the cluster's is %s, and %s",
			failureTimeout(v.Lease), strings.Join(others, ", "))
	case own < v.Lease && now < n.grants.since+v.Lease+drift(v.Lease):
		return nil, "", ""
	}
	next, err := v.SetLease(own)
	if err != nil {
		n.log.Error("the length of leases is not changed", "error", err)
		return nil, "", ""
	}
	return next, fmt.Sprintf("all members have the failure timeout %s", failureTimeout(own)), ""
}

// failureTimeout returns the --failure-timeout of which leases are two thirds.
func failureTimeout(lease time.Duration) time.Duration {
	return (lease * 3 / 2).Round(time.Millisecond)
}

// warnOfLease says once where this node was started with another length than the
// members have agreed on.
func (n *Node) warnOfLease(old, v *view.View) {
	if v.Lease == n.cfg.Lease || old != nil && old.Lease == v.Lease {
		return
	}
	n.log.Warn("the cluster has another failure timeout than this node (--failure-timeout): it changes when all nodes have the same",
		"cluster", failureTimeout(v.Lease), "node", failureTimeout(n.cfg.Lease))
}

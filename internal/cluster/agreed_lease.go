// The length of leases, agreed on by the members.

package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// Members may be started with different lengths, because an operator changes them one by one. The
// view has the greatest length a leader may grant. A new leader must wait as long for the leases
// of its predecessors:
//
//   - a leader grants its own length, and never more than the view's;
//   - when all members have the same length, the view follows;
//   - it must not become shorter before all leases of former leaders are over. Those of the
//     present leader are no longer than its own length, because it is the new one.

// drift bounds the disagreement of two clocks on the length of a lease: a tenth, far more than
// clocks differ.
func drift(lease time.Duration) time.Duration { return lease / 10 }

// leaseIn returns the length of the leases this node grants in a view.
func (n *Node) leaseIn(v *view.View) time.Duration { return min(n.cfg.Lease, v.Lease) }

// mayHold reports whether a member may hold a lease now. This leader may have granted it, or an
// earlier one, whose leases are at most longest. The lock must be held.
func (g *grants) mayHold(id trie.MachineID, now, longest time.Duration) bool {
	l := g.granted[id]
	return now < max(g.since+longest+drift(longest), l.at+l.length+drift(l.length))
}

// planLease returns the view with the new length if all members have the same. If they differ, it
// returns a text with their lengths. The lock of the grants must be held.
func (n *Node) planLease(v *view.View, now time.Duration) (next *view.View, reason, differ string) {
	// 1. Compare the members. If one has not reported in this epoch, nothing is decided.
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
	// 2. Wait until all have the same length; a shorter one waits for former leases, too.
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

// failureTimeout returns the --failure-timeout for leases of a length: 1.5 times as long.
func failureTimeout(lease time.Duration) time.Duration {
	return (lease * 3 / 2).Round(time.Millisecond)
}

// warnOfLease logs once if this node was started with another length than the agreed one.
func (n *Node) warnOfLease(old, v *view.View) {
	if v.Lease == n.cfg.Lease || old != nil && old.Lease == v.Lease {
		return
	}
	n.log.Warn("the cluster has another failure timeout than this node (--failure-timeout): it changes when all nodes have the same",
		"cluster", failureTimeout(v.Lease), "node", failureTimeout(n.cfg.Lease))
}

// The length of leases, agreed on by the members.

package leader

import (
	"fmt"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
)

// Members may be started with different lengths, because an operator changes them one by one. The
// view has the greatest length a leader may grant. A new leader must wait as long for the leases
// of its predecessors:
//
//   - a leader grants its own length, and never more than the view's;
//   - when all members have the same length, the view follows;
//   - it must not become shorter before all leases of former leaders are over. Those of the
//     present leader are no longer than its own length, because it is the new one.

// leaseIn returns the length of the leases this node grants in a view.
func (l *Leader) leaseIn(v *view.View) time.Duration { return min(l.options.Lease, v.Lease) }

// planLease returns the view with the new length if all members have the same. If they differ, it
// returns a text with their lengths. The lock of the grants must be held.
func (l *Leader) planLease(v *view.View, now time.Duration) (next *view.View, reason, differ string) {
	// 1. Compare the members. If one has not reported in this epoch, nothing is decided.
	own, same := l.options.Lease, true
	var others []string
	for _, m := range v.Members {
		h, ok := l.grants.reports[m.ID]
		if !ok || h.report.Incarnation != m.Incarnation || h.report.Epoch != v.Epoch {
			return nil, "", ""
		}
		same = same && h.report.Lease == own
		if h.report.Lease != v.Lease {
			others = append(others, fmt.Sprintf("%s at %s has %s", m.ID, m.Address, FailureTimeout(h.report.Lease)))
		}
	}
	// 2. Wait until all have the same length; a shorter one waits for former leases, too.
	switch {
	case len(others) == 0:
		return nil, "", ""
	case !same:
		return nil, "", fmt.Sprintf("all members to be started with one --failure-timeout: the cluster's is %s, and %s",
			FailureTimeout(v.Lease), strings.Join(others, ", "))
	case own < v.Lease && now < l.grants.since+v.Lease+Drift(v.Lease):
		return nil, "", ""
	}
	next, err := v.SetLease(own)
	if err != nil {
		l.options.Logger.Error("the length of leases is not changed", "error", err)
		return nil, "", ""
	}
	return next, fmt.Sprintf("all members have the failure timeout %s", FailureTimeout(own)), ""
}

// FailureTimeout returns the --failure-timeout for leases of a length: 1.5 times as long.
func FailureTimeout(lease time.Duration) time.Duration {
	return (lease * 3 / 2).Round(time.Millisecond)
}

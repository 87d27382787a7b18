// The voters of Raft, as the leader arranges them.

package leader

import (
	"context"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// voters returns the voters of Raft.
func (l *Leader) voters() []trie.MachineID {
	voters, _ := l.agreement.Configuration()
	return slices.Collect(maps.Keys(voters))
}

// arrangeVoters makes Raft's members those of the view, so many of them voters.
func (l *Leader) arrangeVoters(ctx context.Context, v *view.View) {
	voters, learners := l.agreement.Configuration()
	candidates, known := l.candidates(v, func(id trie.MachineID) bool {
		_, ok := voters[id]
		return ok
	})
	if !known {
		return
	}
	// 1. Choose the voters; all other members become learners.
	chosen := agreement.ChooseVoters(candidates, slices.Collect(maps.Keys(voters)), l.options.Self, agreement.MaxVoters)
	wantVoters, wantLearners := map[trie.MachineID]string{}, map[trie.MachineID]string{}
	for _, m := range v.Members {
		if slices.Contains(chosen, m.ID) {
			wantVoters[m.ID] = m.Address
		} else {
			wantLearners[m.ID] = m.Address
		}
	}
	// 2. Change Raft's members only if they differ, because every change is an entry of the log.
	if maps.Equal(voters, wantVoters) && maps.Equal(learners, wantLearners) {
		return
	}
	timed, cancel := context.WithTimeout(ctx, l.options.Lease)
	defer cancel()
	if err := l.agreement.SetMembers(timed, wantVoters, wantLearners); err != nil && ctx.Err() == nil {
		l.options.Logger.Debug("the voters are not yet as they should be", "error", err)
	}
}

// candidates returns the members and whether each could vote: it must have reported lately and
// must not be leaving. If a member has no vote, it must also have adopted the newest view. A
// voter need not, because it must not lose its vote just while a view is adopted. The leader
// needs no report of itself.
//
// known is false until all others have reported or had the time for it. Otherwise a new leader
// would take votes from healthy machines and resign, and so would the next one.
func (l *Leader) candidates(v *view.View, votes func(trie.MachineID) bool) (all []agreement.Candidate, known bool) {
	now := l.options.Now()
	l.grants.mu.Lock()
	defer l.grants.mu.Unlock()
	for _, m := range v.Members {
		h, ok := l.grants.reports[m.ID]
		if !ok && m.ID != l.options.Self && now-l.grants.since < l.options.FailureTimeout {
			return nil, false
		}
		// If a failure silences a voter and a learner at once, the learner must count as down
		// first. Otherwise it would get a vote, and the remaining voters would be no majority.
		up := m.ID == l.options.Self || ok && (votes(m.ID) && now-h.at < l.options.Lease || now-h.at < l.options.Lease/2 && h.report.Epoch == v.Epoch)
		all = append(all, agreement.Candidate{ID: m.ID, Up: up && m.State != view.Leaving})
	}
	return all, true
}

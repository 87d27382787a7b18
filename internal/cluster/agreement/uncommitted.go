// The entries of this node's log which may not be agreed on.

package agreement

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// pending is a decoded command of the log.
type pending struct {
	index, term uint64
	view        *view.View
}

// WithoutMajority returns every agreed view, and every view which may be agreed on by entries in
// the log of this node. These are the newest known to be agreed on, and the later ones in the
// log. This node and other must be the only voters, and their configuration must be agreed on,
// because both votes must be needed. Otherwise, or if there are learners, it returns an error.
//
// A later view needs an entry the log of this node lacks now. So if all returned views have a
// property, no newer view without it was agreed on before the call.
func (a *Agreement) WithoutMajority(other trie.MachineID) ([]*view.View, error) {
	if !a.begin() {
		return nil, ErrClosed
	}
	defer a.end()
	if err := a.store.err(); err != nil {
		return nil, err
	}
	// 1. Check the voters. The commit index must be read first, because entries in between would
	// be missed.
	committed := a.raft.CommitIndex()
	index, v := a.machine.appliedView()
	voters, learners := a.Configuration()
	if _, ok := voters[other]; len(voters) != 2 || !ok || voters[a.cfg.ID] == "" || len(learners) > 0 {
		return nil, fmt.Errorf("agreement: the log has %d voters and %d learners, not 2 and 0", len(voters), len(learners))
	}
	if v == nil {
		return nil, fmt.Errorf("agreement: no view is known to be agreed on")
	}
	// 2. Collect the views behind it in the log.
	views := []*view.View{v}
	a.machine.mu.Lock()
	defer a.machine.mu.Unlock()
	last, err := a.store.LastIndex()
	if err != nil {
		return nil, err
	}
	var decoded []pending
	for i := min(index, committed) + 1; i <= last; i++ {
		var l raft.Log
		err := a.store.entry(i, &l)
		switch {
		case errors.Is(err, raft.ErrLogNotFound): // a snapshot has it
		case err != nil:
			return nil, err
		case l.Type == raft.LogConfiguration && i > committed:
			return nil, fmt.Errorf("agreement: a change of the voters may not be agreed on yet")
		case l.Type == raft.LogCommand && i > index:
			p, err := a.decode(&l)
			if err != nil {
				return nil, err
			}
			decoded = append(decoded, p)
			views = append(views, p.view)
		}
	}
	a.machine.pending = decoded
	return views, nil
}

// decode returns a decoded command, from the last call if it had the command. The machine's lock
// must be held.
func (a *Agreement) decode(l *raft.Log) (pending, error) {
	for _, p := range a.machine.pending {
		if p.index == l.Index && p.term == l.Term {
			return p, nil
		}
	}
	v, err := a.codec.decode(l.Data)
	if err == nil && v == nil {
		err = fmt.Errorf("agreement: entry %d has no view", l.Index)
	}
	return pending{l.Index, l.Term, v}, err
}

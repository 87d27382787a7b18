// What this node's log has that is not known to be agreed on.

package agreement

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// pending is a command of the log that was decoded.
type pending struct {
	index, term uint64
	view        *view.View
}

// WithoutMajority returns every view that may be agreed on or may yet be, if only this
// node and other vote and both votes are needed: the newest that is known to be agreed on,
// and what the log has behind it. It is an error if other machines vote or learn, or if
// that is not known to be agreed on.
//
// What is agreed on later needs an entry that the log of this node lacks now. So if all
// returned views have a property, no view without it was agreed on before the call.
func (a *Agreement) WithoutMajority(other trie.MachineID) ([]*view.View, error) {
	if !a.begin() {
		return nil, ErrClosed
	}
	defer a.end()
	if err := a.store.err(); err != nil {
		return nil, err
	}
	// 1. The voters. Entries are read after the index up to which all is agreed on.
	committed := a.raft.CommitIndex()
	index, v := a.machine.at()
	voters, learners := a.Configuration()
	if _, ok := voters[other]; len(voters) != 2 || !ok || voters[a.cfg.ID] == "" || len(learners) > 0 {
		return nil, fmt.Errorf("agreement: %d machines vote and %d learn, not two and none", len(voters), len(learners))
	}
	if v == nil {
		return nil, fmt.Errorf("agreement: no view is known to be agreed on")
	}
	// 2. What the log has behind the newest view.
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

// decode decodes a command once. The machine's lock is held.
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

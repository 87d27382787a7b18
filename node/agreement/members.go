// Raft's voters and learners: which there are, changing them, choosing voters.

package agreement

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/trie"
)

// Configuration returns the addresses of Raft's voters and learners, as this node
// knows them last: they may not be agreed on yet.
func (a *Agreement) Configuration() (voters, learners map[trie.MachineID]string) {
	voters, learners = map[trie.MachineID]string{}, map[trie.MachineID]string{}
	for id, m := range a.servers() {
		if m.voter {
			voters[id] = m.address
		} else {
			learners[id] = m.address
		}
	}
	return voters, learners
}

type server struct {
	address string
	voter   bool
}

func (a *Agreement) servers() map[trie.MachineID]server {
	all := map[trie.MachineID]server{}
	for _, s := range a.raft.GetConfiguration().Configuration().Servers {
		id, address, err := parseAddress(s.Address)
		if err != nil {
			continue // only this package names servers
		}
		all[id] = server{address, s.Suffrage == raft.Voter}
	}
	return all
}

// SetMembers makes Raft's voters and learners (ID to address) what is given, one
// agreed change at a time: newcomers come as learners; voters that do not answer
// go before others get a vote, so that they do not count in that majority, and
// all others after. Where it returns an error some of the changes were made, and
// calling it again goes on with the rest.
//
// Between two changes, and at the end, it waits until all who are to vote have the
// whole log, or do not answer: a server grants no vote to one that it does not
// know as a voter yet, so that the loss of the leader in between could leave a
// live majority without one. A learner that does not answer gets no vote, which
// is an error.
//
// Where this node is not to be a voter any more, the leadership goes to another
// one at last and ErrNotLeader is returned: the next leader does the rest.
func (a *Agreement) SetMembers(ctx context.Context, voters, learners map[trie.MachineID]string) error {
	if len(voters) == 0 {
		return fmt.Errorf("agreement: a cluster without voters")
	}
	select {
	case a.members <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("agreement: another change of members is under way: %w", ctx.Err())
	case <-a.closing:
		return ErrClosed
	}
	defer func() { <-a.members }()

	want := map[trie.MachineID]server{}
	for id, address := range learners {
		want[id] = server{address, false}
	}
	for id, address := range voters {
		want[id] = server{address, true}
	}
	for {
		if !a.IsLeader() {
			return ErrNotLeader
		}
		if err := a.settle(ctx, voters); err != nil {
			return err
		}
		next, ok := nextChange(a.servers(), want, a.cfg.ID, a.answers)
		if !ok {
			return nil
		}
		if err := a.change(ctx, next); err != nil {
			return err
		}
	}
}

// settle waits until those of the voters to be that are members and answer have
// all entries that there are now.
func (a *Agreement) settle(ctx context.Context, voters map[trie.MachineID]string) error {
	index := a.raft.LastIndex()
	for {
		servers := a.servers()
		a.mu.Lock()
		advanced := a.advanced
		var behind trie.MachineID
		for id, address := range voters {
			s, member := servers[id]
			if member && id != a.cfg.ID && s.address == address && !a.silent[serverID(id)] && a.matched[serverID(id)] < index {
				behind = id
			}
		}
		a.mu.Unlock()
		if behind == 0 {
			return nil
		}
		if !a.IsLeader() {
			return ErrNotLeader
		}
		select {
		case <-advanced:
		case <-a.closing:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("agreement: %s does not have the log yet: %w", behind, ctx.Err())
		}
	}
}

// answers reports whether a server answered the leader's last heartbeat.
func (a *Agreement) answers(id trie.MachineID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.silent[serverID(id)]
}

type changeKind int

// In the order in which they are made.
const (
	addLearner changeKind = iota
	readdress             // keeps the vote, or its lack
	demoteSilent
	removeSilent
	promote
	demote
	remove
	resign // the leader is to lose its vote
)

type change struct {
	kind changeKind
	id   trie.MachineID
	to   server
}

// nextChange returns the first of the changes that lead from one set of servers
// to another, by kind and then by ID; not ok where they are the same.
func nextChange(have, want map[trie.MachineID]server, self trie.MachineID, answers func(trie.MachineID) bool) (_ change, ok bool) {
	var all []change
	for id, w := range want {
		h, there := have[id]
		switch {
		case !there:
			all = append(all, change{addLearner, id, server{w.address, false}})
		case h.address != w.address:
			all = append(all, change{readdress, id, server{w.address, h.voter}})
		case w.voter && !h.voter:
			all = append(all, change{promote, id, w})
		case h.voter && !w.voter && id == self:
			all = append(all, change{resign, id, w})
		case h.voter && !w.voter && answers(id):
			all = append(all, change{demote, id, w})
		case h.voter && !w.voter:
			all = append(all, change{demoteSilent, id, w})
		}
	}
	for id := range have {
		if _, wanted := want[id]; wanted {
			continue
		}
		kind := remove
		switch {
		case id == self:
			kind = resign
		case !answers(id):
			kind = removeSilent
		}
		all = append(all, change{kind: kind, id: id})
	}
	if len(all) == 0 {
		return change{}, false
	}
	return slices.MinFunc(all, func(x, y change) int {
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.id, y.id))
	}), true
}

func (a *Agreement) change(ctx context.Context, c change) error {
	id, address := serverID(c.id), serverAddress(c.id, c.to.address)
	var start func() raft.Future
	what := "remove"
	switch c.kind {
	case resign:
		if err := a.TransferLeadership(ctx); err != nil {
			return err
		}
		return ErrNotLeader
	case addLearner:
		what = "add"
		start = func() raft.Future { return a.raft.AddNonvoter(id, address, 0, remaining(ctx)) }
	case readdress, promote:
		what = "give a vote or address to"
		if c.kind == promote && !a.answers(c.id) {
			return fmt.Errorf("agreement: %s is to vote and does not answer", c.id)
		}
		// AddVoter gives a vote also to whoever is there without one, AddNonvoter
		// takes none away.
		start = func() raft.Future { return a.raft.AddNonvoter(id, address, 0, remaining(ctx)) }
		if c.to.voter {
			start = func() raft.Future { return a.raft.AddVoter(id, address, 0, remaining(ctx)) }
		}
	case demote, demoteSilent:
		what = "take the vote of"
		start = func() raft.Future { return a.raft.DemoteVoter(id, 0, remaining(ctx)) }
	default:
		start = func() raft.Future { return a.raft.RemoveServer(id, 0, remaining(ctx)) }
	}
	if err := a.wait(ctx, start); err != nil {
		return fmt.Errorf("agreement: %s %s: %w", what, c.id, translate(err))
	}
	return nil
}

// Candidate is a member as far as ChooseVoters is concerned.
type Candidate struct {
	ID trie.MachineID
	Up bool // it answers, and has the newest view
}

// ChooseVoters returns who of the members should vote, ascending: as many as
// there are members, max at most, and where that is an even number greater than
// two, one less (it survives no fewer losses). Two members both vote, so that
// what is agreed on is on two disks.
//
// It is stable: a voter that is up remains one, unless there are too many; then self, which
// leads, stays. A voter that is down loses its vote to a learner that is up. If there is none,
// it keeps it as long as there is room for it among the voters.
func ChooseVoters(members []Candidate, current []trie.MachineID, self trie.MachineID, max int) []trie.MachineID {
	target := min(max, len(members))
	if target > 2 && target%2 == 0 {
		target--
	}
	votes := map[trie.MachineID]bool{}
	add := func(atMost int, suits func(Candidate) bool) {
		for _, c := range slices.SortedFunc(slices.Values(members), func(x, y Candidate) int { return cmp.Compare(x.ID, y.ID) }) {
			if len(votes) < atMost && !votes[c.ID] && suits(c) {
				votes[c.ID] = true
			}
		}
	}
	isVoter := func(c Candidate) bool { return slices.Contains(current, c.ID) }
	add(1, func(c Candidate) bool { return c.ID == self && isVoter(c) && c.Up })
	add(target, func(c Candidate) bool { return isVoter(c) && c.Up })
	add(target, func(c Candidate) bool { return c.Up })
	add(target, isVoter)
	return slices.Sorted(maps.Keys(votes))
}

// Raft's voters and learners: the configuration, changes of it, the choice of voters.

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

// SetMembers changes Raft's voters and learners (ID to address) to the given ones, one agreed
// change at a time. Newcomers come as learners. Silent voters go before others get a vote,
// because they must not count in that majority; all others go after. If it returns an error, some
// of the changes were made; a new call goes on with the rest.
//
// Between two changes, and at the end, it waits until all future voters have the whole log, or do
// not answer. It must, because a server grants no vote to one it does not know as a voter yet. If
// the leader were lost in between, a live majority could have no leader. If a learner does not
// answer, it gets no vote, and SetMembers returns an error.
//
// If this node is not to be a voter any more, it hands the leadership over at last and returns
// ErrNotLeader: the next leader does the rest.
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

	// Make one change at a time: each must be agreed on before the next one is computed,
	// because another leader may have changed the members meanwhile.
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
		if err := a.syncVoters(ctx, voters); err != nil {
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

// syncVoters waits until all future voters have the present entries, if they are members and
// answer.
func (a *Agreement) syncVoters(ctx context.Context, voters map[trie.MachineID]string) error {
	index := a.raft.LastIndex()
	for {
		servers := a.servers()
		a.mu.Lock()
		// The channel must be taken before the positions are read, because progress in between
		// would be missed.
		advanced := a.advanced.Next()
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

// In the order of their execution.
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

// nextChange returns the first change from one set of servers to another, by kind and then by ID;
// ok is false if they are the same.
func nextChange(have, want map[trie.MachineID]server, self trie.MachineID, answers func(trie.MachineID) bool) (_ change, ok bool) {
	// 1. Collect the changes of wanted servers: new ones must be learners first.
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
	// 2. Collect the removals. This node must resign first if it is not wanted.
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
	// 3. The least kind comes first, because the kinds are in the order of the steps.
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
		// AddVoter gives a vote also to a present server without one; AddNonvoter takes none
		// away.
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

// MaxVoters is the greatest number of voters; the other members learn the views from them. With
// nine voters all members of a cluster of ordinary size vote, except for one if their number
// is even. So if the network is cut, the side with most voters has most members, too, or half
// of them. See failures in package view.
const MaxVoters = 9

// ChooseVoters returns the members with a vote, ascending. Their number is the number of members,
// but at most max. If it is even and greater than two, it is one less, because this survives the
// same number of losses. Two members both vote, because every view must be on two disks.
//
// It is stable: if a voter is up, it remains one, unless there are too many; then self stays,
// because it leads. If a voter is down, it loses its vote to a learner in state up. If there is
// none, it keeps its vote while there is room for it among the voters.
func ChooseVoters(members []Candidate, current []trie.MachineID, self trie.MachineID, max int) []trie.MachineID {
	target := countVoters(len(members), max)
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

// countVoters returns how many of some members vote: an odd number, or both of two.
func countVoters(members, atMost int) int {
	voters := min(members, atMost)
	if voters > 2 && voters%2 == 0 {
		voters--
	}
	return voters
}

// MajorityOf returns the least number of members with a possible majority of the voters.
func MajorityOf(members int) int { return countVoters(members, MaxVoters)/2 + 1 }

// The course of a PageRank: the coordinator distributes it to the members.

package pagerank

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/trie"
)

// A job has these steps. The coordinator, the member with the lowest ID, sends the record of the job
// to all members in ticks, and they answer with their state. A lone node is its only member.
//
//  1. Each member freezes its cells: primaries and secondaries keep those of this moment, so updates
//     may go on, and a secondary has the cells of a lost primary.
//  2. The coordinator begins a term: it gives each partition to a machine that has frozen it.
//     These machines do the rounds, without the coordinator (package rank).
//  3. If one of them is lost, a new term begins, on the same cells and with equal scores.
//  4. The coordinator gathers the scores, and all members copy them. Then the job is done.
//
// If the coordinator is lost, another member is the one with the lowest ID. It knows the record, as
// all do, and goes on with it. A machine that is no member any more is ignored, and it can change
// nothing: the others take no tick from it.

const (
	// jobInterval is the time between two ticks while a job runs.
	jobInterval = 100 * time.Millisecond
	// idleInterval is the time between two looks at the view of a node.
	idleInterval = time.Second
)

// published is what the other members have: the record of a version, under a view.
type published struct {
	view *view.View
	jobRecord
}

// KeepRanks takes part in jobs until the graph is closed.
func (c *Coordinator) KeepRanks() {
	for c.Context.Err() == nil {
		v := c.Node.View()
		wait := c.stepRanks(c.Context, v)
		c.WaitFor(v, wait, c.Ranker.Ranks.wake)
	}
}

// stepRanks does what is to be done now, and returns the time until it must be called again.
func (c *Coordinator) stepRanks(ctx context.Context, v *view.View) time.Duration {
	c.Ranker.OpenRanks()
	members := c.Ranker.rankMembers()
	r := &c.Ranker.Ranks
	// 1. A member copies scores that it lacks.
	if len(members) == 0 || members[0] != c.Node.MachineID() {
		r.mu.Lock()
		if r.storing != nil {
			r.storing(errStopped) // another machine is the coordinator
		}
		r.mu.Unlock()
		if c.Ranker.lacksScores() && c.Ranker.copyScores(ctx, members) != nil {
			return jobInterval
		}
		return idleInterval
	}
	// 2. The coordinator sends the record, until all members have it and the scores.
	r.mu.Lock()
	same := r.told.view == v && r.told.compare(&r.record) == 0 && !r.record.active()
	active := r.record.active()
	r.mu.Unlock()
	if same && !c.Ranker.lacksScores() || len(members) == 1 && !active {
		return idleInterval
	}
	if c.Ranker.lacksScores() {
		if err := c.Ranker.copyScores(ctx, members); err != nil {
			c.Log.Debug("the scores of PageRank are not copied yet", "error", err)
		}
	}
	return c.coordinate(ctx, v, len(members) > 1)
}

// coordinate sends a tick and does the next step of the job.
func (c *Coordinator) coordinate(ctx context.Context, v *view.View, others bool) time.Duration {
	r := &c.Ranker.Ranks
	answers := c.tick(ctx, c.Ranker.unfrozen())
	r.mu.Lock()
	record := r.record
	r.mu.Unlock()
	// 1. A record that was adopted meanwhile is sent first. An old member may not know a new one.
	all := true
	for _, a := range answers {
		if a == nil || a.Record == nil || a.Record.compare(&record) != 0 {
			all = false
		}
	}
	scored := holders(answers, record.Scored.Begun)
	if !record.active() {
		if all && len(scored) == len(answers) || record.Begun.IsZero() && all {
			if others {
				r.mu.Lock()
				r.told = published{v, record}
				r.mu.Unlock()
			}
			return idleInterval
		}
		return jobInterval
	}
	// 2. A job that has not ended.
	var err error
	wait := jobInterval
	if record.Job.State == StateStoring {
		c.startStoring()
		c.changeJob(&record, func(r *jobRecord) { r.Job.Stored = c.Ranker.Ranks.stored })
	} else if wait, err = c.advance(ctx, &record, answers); err != nil && ctx.Err() == nil {
		c.Log.Debug("PageRank waits", "error", err)
		c.changeJob(&record, func(r *jobRecord) { r.Job.Error = err.Error() })
	}
	return wait
}

// unfrozen returns the partitions that no machine has frozen, as far as the last tick has shown.
func (rk *Ranker) unfrozen() derived.Partitions {
	r := &rk.Ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record.Job.State != stateRunning || r.frozen == nil {
		return 0
	}
	return machine.AllPartitions &^ r.frozen.anywhere
}

// holders returns the members that have the scores of a job.
func holders(answers map[trie.MachineID]*jobAnswer, begun time.Time) (have []trie.MachineID) {
	for m, a := range answers {
		if a != nil && a.Scored.Equal(begun) {
			have = append(have, m)
		}
	}
	slices.Sort(have)
	return have
}

// changeJob makes the coordinator's change of a job that has not ended. It does nothing if there is
// another job, or term, by now.
func (c *Coordinator) changeJob(record *jobRecord, f func(r *jobRecord)) {
	_ = c.Ranker.changeRecord(func(r *jobRecord) error {
		if !r.Begun.Equal(record.Begun) || r.Term != record.Term || !r.active() {
			return errStopped
		}
		r.Job.Error = ""
		f(r)
		return nil
	})
}

// advance does the next step of a running job. An error says what it waits for.
func (c *Coordinator) advance(ctx context.Context, record *jobRecord, answers map[trie.MachineID]*jobAnswer) (time.Duration, error) {
	// 1. A member that cannot go on ends the job.
	for _, m := range slices.Sorted(maps.Keys(answers)) {
		if a := answers[m]; a != nil && a.Failed != "" {
			c.Log.Error("PageRank ended", "machine", m, "error", a.Failed)
			c.changeJob(record, func(r *jobRecord) { r.Job.State, r.Job.Error = StateFailed, a.Failed })
			return 0, nil
		}
	}
	// 2. If a machine has all scores, the others copy them.
	if have := holders(answers, record.Begun); len(have) > 0 {
		return c.collect(record, have, answers)
	}
	if record.Gathered {
		c.changeJob(record, func(r *jobRecord) { r.Gathered = false })
		return 0, nil
	}
	// 3. The machines of the term do their rounds.
	working, computed := record.Term > 0, true
	for _, m := range record.Machines {
		a, member := answers[m]
		if !member || a != nil && a.Term != record.Term {
			working = false
		}
		computed = computed && a != nil && a.Computed
	}
	switch {
	case !working:
		return c.distribute(record, answers)
	case computed:
		return 0, c.gather(ctx, record, answers)
	}
	c.changeJob(record, func(r *jobRecord) { r.takeProgress(answers) })
	return jobInterval, nil
}

// takeProgress sets what the machines of the term have reached.
func (r *jobRecord) takeProgress(answers map[trie.MachineID]*jobAnswer) {
	r.Job.Pages, r.Job.Links = 0, 0
	first := true
	for _, m := range slices.Compact(slices.Sorted(slices.Values(r.Machines))) {
		a := answers[m]
		if a == nil {
			continue
		}
		r.Job.Pages, r.Job.Links = r.Job.Pages+a.Pages, r.Job.Links+a.Links
		if first || a.Round < r.Job.Round {
			r.Job.Round, r.Job.Change, r.Job.Converged = a.Round, a.Change, a.Converged
		}
		first = false
	}
}

// distribute begins a term: it gives each partition to a machine that has frozen its cells.
func (c *Coordinator) distribute(record *jobRecord, answers map[trie.MachineID]*jobAnswer) (time.Duration, error) {
	// 1. Wait until all have frozen their cells, and some machine those of each partition.
	var frozen derived.Partitions
	freezing := 0
	epoch := uint64(0)
	for m, a := range answers {
		if a == nil {
			continue
		}
		frozen |= a.Frozen
		if a.Freezing {
			freezing++
		}
		if m == c.Node.MachineID() {
			epoch = a.Epoch
		}
	}
	r := &c.Ranker.Ranks
	r.mu.Lock()
	if r.frozen != nil {
		r.frozen.anywhere = frozen
	}
	r.mu.Unlock()
	switch lacking := machine.AllPartitions &^ frozen; {
	case freezing > 0:
		return jobInterval, nil
	case lacking != 0:
		return jobInterval, fmt.Errorf("no machine that answers has the cells of %d partitions yet", lacking.Len())
	}
	// 2. Choose the first machine in the ranking of each partition that has frozen it.
	machines := make([]trie.MachineID, machine.NumPartitions)
	var p *derived.Placement
	if v := c.Node.View(); v != nil {
		p = c.PlacementOf(v)
	}
	for i := range machines {
		machines[i] = chooseMachine(answers, p, i)
	}
	c.Log.Info("PageRank is distributed", "term", record.Term+1, "machines", len(slices.Compact(slices.Sorted(slices.Values(machines)))))
	c.changeJob(record, func(r *jobRecord) {
		r.Term, r.Machines = r.Term+1, machines
		if epoch != 0 {
			r.Job.Epoch = epoch
		}
	})
	return 0, nil
}

// chooseMachine returns the machine that computes a partition in the next term.
func chooseMachine(answers map[trie.MachineID]*jobAnswer, p *derived.Placement, partition int) trie.MachineID {
	candidate := func(m trie.MachineID) bool { return answers[m] != nil && answers[m].Frozen.Has(partition) }
	if p != nil {
		for _, m := range p.Ranking[partition] {
			if candidate(m) {
				return m
			}
		}
	}
	for _, m := range slices.Sorted(maps.Keys(answers)) {
		if candidate(m) {
			return m
		}
	}
	return 0
}

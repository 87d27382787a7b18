// PageRank: the calls of users, and what a machine knows of the job.

package pagerank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/read"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// Ranker is the part of this machine in PageRank jobs: it knows the record, freezes cells, computes the
// rounds of its partitions, and keeps scores.
type Ranker struct {
	*machine.Machine
	board     *state.Board
	keeper    *keep.Keeper
	RankFiles rankFiles
	Ranks     ranks
}

// NewRanker returns a ranker that has read no file.
func NewRanker(k *keep.Keeper) *Ranker {
	r := &Ranker{Machine: k.Machine, board: k.Board, keeper: k, RankFiles: rankFiles{k.Machine}}
	r.Ranks.saving, r.Ranks.wake = derived.NewLock(), notify.NewWake()
	return r
}

// Coordinator answers calls of users, and carries a job out if this machine coordinates it.
type Coordinator struct {
	*machine.Machine
	Board  *state.Board
	Router *route.Router
	Keeper *keep.Keeper
	Reader *read.Reader
	Ranker *Ranker
}

// ranks is the part of a machine in the PageRank job of all, and the scores of the last one that
// succeeded. coordinator.go has the course of a job.
type ranks struct {
	opened sync.Once    // the files of the last process were read
	saving derived.Lock // must be held while files are written
	wake   notify.Wake  // wakes the goroutine of keepRanks

	mu     sync.Mutex
	record jobRecord
	begun  time.Time // now minus the job's running time
	scores *Scores   // of the last job that ended well; immutable
	scored scoredJob // that job
	onDisk scoredJob // the job whose scores are in the file
	next   *Scores   // of the running job, until all members have them
	stored int64     // the number of scores that were stored
	// The others are nil unless a job runs.
	frozen  *frozen
	term    *rankTerm
	ending  <-chan struct{}         // closed when the term before has ended
	storing context.CancelCauseFunc // ends the goroutine that stores scores
	// reopened is set if the job is one of the last process.
	reopened bool
	told     published // what the other members have

	AfterRound func(rank.Round) // for tests: a term calls it after each round
}

// The states of a job.
const (
	stateRunning = "running"
	StateStoring = "storing"
	StateDone    = "done"
	StateStopped = "stopped"
	StateFailed  = "failed"
)

// jobRecord is what all members know of the last job. Only the coordinator changes it.
type jobRecord struct {
	Begun   time.Time             `json:"begun"` // identifies the job; zero if there was none
	ID      uint64                `json:"id"`    // of the request that began it
	Options links.PageRankOptions `json:"options"`
	Job     links.PageRankJob     `json:"job"`
	// Term counts the distributions of the job to machines, Version the changes of the record.
	Term    uint64 `json:"term"`
	Version uint64 `json:"version"`
	// Machines are those that compute each partition in the term; nil before the first one.
	Machines []trie.MachineID `json:"machines,omitempty"`
	// Gathered is set when a machine has all scores of the job.
	Gathered bool `json:"gathered,omitempty"`
	// Scored is the last job whose scores all members have.
	Scored scoredJob `json:"scored"`
}

// scoredJob is a job that has ended well.
type scoredJob struct {
	Begun   time.Time             `json:"begun"` // zero if there is none
	Options links.PageRankOptions `json:"options"`
	Job     links.PageRankJob     `json:"job"`
}

// compare orders records by their age.
func (r *jobRecord) compare(o *jobRecord) int {
	return cmp.Or(r.Begun.Compare(o.Begun), cmp.Compare(r.Term, o.Term), cmp.Compare(r.Version, o.Version))
}

// active reports whether the job has not ended.
func (r *jobRecord) active() bool { return r.Job.State == stateRunning || r.Job.State == StateStoring }

// partitionsOf returns the partitions of a machine.
func (r *jobRecord) partitionsOf(m trie.MachineID) (set derived.Partitions) {
	for i, machine := range r.Machines {
		if machine == m {
			set = set.With(i)
		}
	}
	return set
}

// Rank ranks pages by their scores. If a page is not known, it has no score and comes last.
func (r *ranks) Rank(request links.RankRequest) (ranking links.Ranking, err error) {
	r.mu.Lock()
	s, copying := r.scores, r.scored.Begun.Before(r.record.Scored.Begun)
	r.mu.Unlock()
	switch {
	case copying:
		return ranking, fmt.Errorf("%w: the scores of PageRank are copied from another machine", links.ErrLoading)
	case s == nil:
		return ranking, fmt.Errorf("%w of PageRank that has ended: start one first", links.ErrNoJob)
	}
	ranking.Rounds, ranking.Converged = s.result.Number, s.done
	if request.All {
		for _, top := range rank.TopPages(topOf(request.Top), s.of) {
			ranking.Authorities = append(ranking.Authorities, rank.Scored{UID: uid.UID(s.uids[top.Partition].At(int(top.Page))), Score: top.Score})
		}
		return ranking, nil
	}
	values := make([]float64, len(request.Pages))
	for i, u := range request.Pages {
		values[i], _ = s.get(u)
	}
	ranking.Authorities = rank.Top(topOf(request.Top), request.Pages, values)
	return ranking, nil
}

// topOf returns the number of pages of a top list: all if n is 0.
func topOf(n int) int {
	if n == 0 {
		return math.MaxInt32
	}
	return n
}

// errStopped ends a job that was stopped.
var errStopped = errors.New("stopped")

// rankOptions returns the options of package rank.
func (rk *Ranker) rankOptions(o links.PageRankOptions) rank.Options {
	return rank.Options{Damping: cmp.Or(o.Damping, rank.DefaultDamping), Tolerance: o.Tolerance, MaxRounds: o.MaxRounds, Weighted: o.Weighted,
		Workers: rk.Options.Workers, CopyBytes: rk.Options.BuildBytes}
}

// rankMembers returns the machines of a job, ascending: the members that keep a graph. The first one is
// the coordinator. A member of two that does not reach the other one goes on alone.
func (rk *Ranker) rankMembers() (members []trie.MachineID) {
	if rk.Node.Lone() != nil || rk.Node.NoMajority() {
		return []trie.MachineID{rk.Node.MachineID()}
	}
	for _, m := range derived.MembersOf(rk.Node.View()) {
		if !m.NoLinks {
			members = append(members, m.ID)
		}
	}
	return members
}

// coordinates reports whether this machine is the coordinator.
func (rk *Ranker) coordinates() bool {
	members := rk.rankMembers()
	return len(members) > 0 && members[0] == rk.Node.MachineID()
}

// StartPageRank implements links.Graph.
func (c *Coordinator) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	if err := c.Ranker.rankOptions(o).Validate(); err != nil {
		return fmt.Errorf("%w: %w", links.ErrInvalid, err)
	}
	// A request that is sent again has the same ID, so it does not find its own job busy.
	return c.atCoordinator(ctx, &jobRequest{Kind: jobStart, ID: rand.Uint64(), Options: o})
}

// StopPageRank implements links.Graph.
func (c *Coordinator) StopPageRank(ctx context.Context) error {
	return c.atCoordinator(ctx, &jobRequest{Kind: jobStop})
}

// PageRank implements links.Graph.
func (c *Coordinator) PageRank(ctx context.Context) (links.PageRankJob, error) {
	c.Ranker.OpenRanks()
	r := &c.Ranker.Ranks
	waiting, cancel := c.Bound(ctx)
	defer cancel()
	for tries := 1; ; tries++ {
		// 1. The coordinator knows more of a job that has not ended, and of one that this machine
		// may have missed because it has just joined.
		failed := c.fetchRecord(waiting)
		r.mu.Lock()
		none, job := r.record.Begun.IsZero(), r.job()
		r.mu.Unlock()
		// 2. If no answer comes, the last known state counts.
		switch {
		case !none:
			return job, ctx.Err()
		case failed == nil:
			return links.PageRankJob{}, links.ErrNoJob
		}
		if err := c.Router.WaitRetry(waiting, tries, failed); err != nil {
			return links.PageRankJob{}, err
		}
	}
}

// fetchRecord gets the record of the coordinator if this machine's may be an older one.
func (c *Coordinator) fetchRecord(ctx context.Context) error {
	r := &c.Ranker.Ranks
	v, members := c.Node.View(), c.Ranker.rankMembers()
	r.mu.Lock()
	none, active, told := r.record.Begun.IsZero(), r.record.active(), r.told.view == v
	r.mu.Unlock()
	// 1. The coordinator knows of all jobs when all members have answered under its view.
	switch {
	case len(members) == 0:
		return machine.ErrNoView
	case len(members) == 1 || !none && !active:
		return nil
	case members[0] == c.Node.MachineID():
		if !none || told {
			return nil
		}
		for m, a := range c.tick(ctx, 0) {
			if a == nil {
				return fmt.Errorf("%w: machine %s does not answer", store.ErrUnavailable, m)
			}
		}
		return nil
	}
	// 2. The others ask it.
	ctx, cancel := context.WithTimeout(ctx, tickTimeout)
	defer cancel()
	a, err := c.requestJob(ctx, members[0], &jobRequest{Kind: jobShow})
	if err == nil && a.Record != nil {
		c.Ranker.adopt(*a.Record)
	}
	return err
}

// job returns the state of the job now. The lock must be held.
func (r *ranks) job() links.PageRankJob {
	job := r.record.Job
	if r.record.active() {
		job.Seconds = time.Since(r.begun).Seconds()
	}
	if t := r.term; t != nil && job.State == stateRunning && t.round.Number > job.Round {
		job.Round, job.Change = t.round.Number, t.round.Change
	}
	return job
}

// atCoordinator makes the coordinator carry out a request.
func (c *Coordinator) atCoordinator(ctx context.Context, q *jobRequest) error {
	c.Ranker.OpenRanks()
	for tries := 1; ; tries++ {
		err := machine.ErrNoView
		switch members := c.Ranker.rankMembers(); {
		case len(members) == 0:
		case members[0] == c.Node.MachineID():
			err = c.carryOut(ctx, q)
		default:
			var a *jobAnswer
			if a, err = c.requestJob(ctx, members[0], q); err == nil {
				err = a.err()
			}
			if err == nil && a.Record != nil {
				c.Ranker.adopt(*a.Record)
			}
		}
		if err == nil || !machine.MayPass(err) || errors.Is(err, links.ErrLoading) {
			return err
		}
		if err := c.Router.WaitRetry(ctx, tries, err); err != nil {
			return err
		}
	}
}

// carryOut starts or stops a job. All members that answer have its record before it returns.
func (c *Coordinator) carryOut(ctx context.Context, q *jobRequest) error {
	if q.Kind == jobStart {
		if _, err := c.Board.Current(ctx); err != nil {
			return err
		}
		// Another member may know of a job that this machine does not know yet.
		c.tick(ctx, 0)
	}
	err := c.Ranker.changeRecord(func(r *jobRecord) error {
		switch {
		case q.Kind == jobStop && !r.active():
			return links.ErrNoJob
		case q.Kind == jobStop:
			r.Job.State, r.Job.Error = StateStopped, ""
		case r.ID == q.ID && q.ID != 0:
		case r.active():
			return links.ErrBusy
		default:
			begun := time.Now().UTC()
			if !begun.After(r.Begun) {
				begun = r.Begun.Add(1) // the clock of an earlier coordinator was ahead
			}
			*r = jobRecord{Begun: begun, ID: q.ID, Options: q.Options, Job: links.PageRankJob{State: stateRunning}, Scored: r.Scored}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.tick(ctx, 0)
	c.Ranker.Ranks.wake.Send()
	return nil
}

// changeRecord makes the coordinator's change of the record. If f returns an error, nothing is changed.
func (rk *Ranker) changeRecord(f func(r *jobRecord) error) error {
	r := &rk.Ranks
	r.mu.Lock()
	changed := r.record
	changed.Job.Seconds = r.job().Seconds
	if err := f(&changed); err != nil {
		r.mu.Unlock()
		return err
	}
	changed.Version++
	save := rk.setRecord(changed)
	r.mu.Unlock()
	if save {
		rk.saveJob()
	}
	return nil
}

// adopt takes a record of another member if it is newer.
func (rk *Ranker) adopt(record jobRecord) {
	r := &rk.Ranks
	r.mu.Lock()
	save := false
	newer := record.compare(&r.record) > 0
	if newer {
		save = rk.setRecord(record)
	}
	r.mu.Unlock()
	if save {
		rk.saveJob()
	}
	if newer {
		rk.Ranks.wake.Send()
	}
}

// setRecord replaces the record, and ends or starts what depends on it. It returns true if the files
// must be written. The lock must be held.
func (rk *Ranker) setRecord(record jobRecord) (save bool) {
	r := &rk.Ranks
	before := r.record
	r.record = record
	// 1. Users see new scores when all members have them.
	switch of := record.Scored.Begun; {
	case of.Equal(r.scored.Begun):
		r.scored = record.Scored
	case of.Equal(record.Begun) && of.Equal(before.Begun) && r.next != nil:
		r.scores, r.scored = r.next, record.Scored
	}
	// 2. End what belongs to another job, or to one that has ended.
	same := record.Begun.Equal(before.Begun)
	if !same || record.Job.State != stateRunning {
		r.endTerm()
		if r.frozen != nil {
			r.frozen.cancel()
		}
		r.frozen, r.next = nil, nil
	}
	if r.reopened = r.reopened && same; !same || record.Job.State != StateStoring {
		if r.storing != nil {
			r.storing(errStopped)
		}
	}
	// 3. Start this machine's part.
	if record.active() {
		r.begun = time.Now().Add(-time.Duration(record.Job.Seconds * float64(time.Second)))
		rk.startTerm()
	}
	return !same || record.Term != before.Term || record.Job.State != before.Job.State || record.Gathered != before.Gathered || r.unsaved()
}

// unsaved reports whether the file of scores has other ones. The lock must be held.
func (r *ranks) unsaved() bool {
	return r.scores != nil && (!r.onDisk.Begun.Equal(r.scored.Begun) || r.record.Job.State == StateDone && r.onDisk.Job.Stored != r.scored.Job.Stored)
}

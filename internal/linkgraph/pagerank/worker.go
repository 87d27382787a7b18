// A PageRank on one machine: it freezes cells, and computes the partitions of a term.

package pagerank

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// frozen is the cells of a machine for a job. They stay while the job runs, also if the machine
// drops or builds again its own ones. The lock of ranks guards it.
type frozen struct {
	ctx      context.Context // ends with the job
	cancel   context.CancelFunc
	cells    map[int][]*cell.Cell // by partition
	freezing bool
	failure  string
	epoch    uint64
	// anywhere is the partitions that some machine has frozen, as the coordinator knows.
	anywhere derived.Partitions
}

func newFrozen(ctx context.Context) *frozen {
	f := &frozen{cells: map[int][]*cell.Cell{}}
	f.ctx, f.cancel = context.WithCancel(ctx)
	return f
}

// set returns the frozen partitions.
func (f *frozen) set() (set derived.Partitions) {
	for i := range f.cells {
		set = set.With(i)
	}
	return set
}

// startFreezing begins to freeze partitions that this machine has, or must have, and has not frozen.
// The lock must be held.
func (rk *Ranker) startFreezing(set derived.Partitions) {
	// 1. Freezing waits for what this machine must hold.
	f := rk.Ranks.frozen
	held := rk.Wanted()
	if s := rk.board.State.Load(); s != nil {
		held |= s.Kept
	}
	if set = set & held &^ f.set(); set == 0 || f.freezing || f.failure != "" || rk.Context.Err() != nil {
		return
	}
	// 2. Freeze in the background.
	f.freezing = true
	rk.Running.Go(func() {
		cells, epoch, err := rk.freeze(f.ctx, set)
		r := &rk.Ranks
		r.mu.Lock()
		f.freezing = false
		switch {
		case err == nil:
			maps.Copy(f.cells, cells)
			f.epoch = epoch
		case !machine.MayPass(err) && f.ctx.Err() == nil:
			f.failure = err.Error()
		}
		r.mu.Unlock()
		rk.Ranks.wake.Send()
	})
}

// freeze returns the cells of partitions with all changes that were acknowledged before the call.
func (rk *Ranker) freeze(ctx context.Context, set derived.Partitions) (cells map[int][]*cell.Cell, epoch uint64, err error) {
	// While the keeper holds a state back, its cells may lack links, see readLoads.
	for held := true; held; {
		if _, err := rk.board.CaughtUp(ctx); err != nil {
			return nil, 0, err
		}
		if cells, epoch, held, err = rk.tryFreeze(ctx, set); err != nil {
			return nil, 0, err
		}
	}
	return cells, epoch, nil
}

// tryFreeze is one try of freeze. held reports that the keeper holds its state back.
func (rk *Ranker) tryFreeze(ctx context.Context, set derived.Partitions) (cells map[int][]*cell.Cell, epoch uint64, held bool, err error) {
	cells = map[int][]*cell.Cell{}
	err = rk.keeper.InKeeper(ctx, func(k *keep.Keeper) error {
		if held = !k.Hold.IsZero(); held {
			return nil
		}
		all, err := k.RebuildAll()
		for _, c := range all {
			if i := machine.PartitionOf(c.Range().First); set.Has(i) {
				cells[i] = append(cells[i], c)
			}
		}
		epoch = k.Board.EpochOf(&state.State{At: k.At, Changes: k.Changes})
		return err
	})
	return cells, epoch, held, err
}

// rankTerm is the part of this machine in a term.
type rankTerm struct {
	ranker  *Ranker
	number  uint64
	options links.PageRankOptions
	wire    *wire
	cells   []*cell.Cell
	ctx     context.Context
	cancel  context.CancelFunc
	ended   chan struct{}

	// The lock of ranks guards the rest.
	pages, links int64
	round        rank.Round
	converged    bool
	result       *Scores // nil until the rounds have ended
	failure      string
}

// startTerm starts this machine's part of the record's term, unless it runs. If a partition of it is
// not frozen here, as after a restart, nothing is started, and the coordinator begins another term.
// The lock must be held.
func (rk *Ranker) startTerm() {
	// 1. Leave what runs already.
	r := &rk.Ranks
	if r.record.Job.State != stateRunning || rk.Context.Err() != nil {
		return
	}
	if r.frozen == nil {
		r.frozen = newFrozen(rk.Context)
	}
	if r.term != nil && r.term.number == r.record.Term {
		return
	}
	before := r.ending
	if r.term != nil {
		before = r.term.ended
	}
	r.endTerm()
	set := r.record.partitionsOf(rk.Node.MachineID())
	if set == 0 || set&^r.frozen.set() != 0 {
		return
	}
	// 2. Start with the frozen cells of this machine's partitions.
	t := &rankTerm{ranker: rk, number: r.record.Term, options: r.record.Options, wire: newWire(rk.Machine, &r.record), ended: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(r.frozen.ctx)
	for i := range set.All() {
		t.cells = append(t.cells, r.frozen.cells[i]...)
	}
	for _, c := range t.cells {
		t.pages, t.links = t.pages+int64(c.Len()), t.links+c.NumLinks(cell.Forward)
	}
	r.term = t
	rk.Running.Go(func() {
		defer close(t.ended)
		defer t.cancel()
		if before != nil {
			<-before // because two terms would take twice the memory
		}
		t.run()
		rk.Ranks.wake.Send()
	})
}

// endTerm ends the part of this machine in a term. The lock must be held.
func (r *ranks) endTerm() {
	if r.term != nil {
		r.term.cancel()
		r.ending, r.term = r.term.ended, nil
	}
}

// run does the rounds, and publishes their end.
func (t *rankTerm) run() {
	result, err := t.compute()
	var found *Scores
	if err == nil {
		found, err = scoresOf(t.cells, result)
	}
	r := &t.ranker.Ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		t.round, t.converged, t.result = result.Round, result.Converged, found
		if result.Number == 0 {
			t.round.Change = 0 // if there was no round, it is infinite
		}
	case t.ctx.Err() == nil:
		t.failure = err.Error()
	}
}

// compute does the rounds.
func (t *rankTerm) compute() (*rank.Result, error) {
	parts := make([]rank.Partition, len(t.cells))
	for i, c := range t.cells {
		parts[i] = &partition{c, c.Ghosts(cell.Forward)}
	}
	r := &t.ranker.Ranks
	o := t.ranker.rankOptions(t.options)
	o.Exchange = t.wire
	o.Progress = func(round rank.Round) {
		r.mu.Lock()
		t.round = round
		r.mu.Unlock()
		if r.AfterRound != nil {
			r.AfterRound(round)
		}
	}
	return rank.PageRank(t.ctx, parts, o)
}

// partition is a cell as a partition of rank.PageRank.
type partition struct {
	cell   *cell.Cell
	ghosts *cell.Ghosts
}

// Range implements rank.Partition.
func (p *partition) Range() uid.Range { return p.cell.Range() }

// Pages implements rank.Partition.
func (p *partition) Pages() int { return p.cell.Len() }

// Find implements rank.Partition.
func (p *partition) Find(u uid.UID) (uint32, bool) { return p.cell.Ordinal(u) }

// Ghosts implements rank.Partition.
func (p *partition) Ghosts() int { return p.ghosts.Len() }

// Ghost implements rank.Partition.
func (p *partition) Ghost(ghost uint32) uid.UID { return p.ghosts.UID(ghost) }

// Scan implements rank.Partition.
func (p *partition) Scan(yield func(page uint32, locals, ghosts []uint32) bool) error {
	scanner := p.cell.Lists(cell.Forward).Scan(0, uint32(p.cell.Len()))
	for scanner.Next() {
		if !yield(scanner.Key(), scanner.Locals(), scanner.Ghosts()) {
			return nil
		}
	}
	return scanner.Err()
}

// AppendWeights implements rank.Partition.
func (p *partition) AppendWeights(dst []float64, page uint32) ([]float64, error) {
	// 1. Pages without labels.
	if !p.cell.HasLabels() {
		return dst, nil
	}
	labels := p.cell.AppendLabels(nil, page)
	if err := p.cell.Err(); err != nil {
		return dst, err
	}
	if !slices.ContainsFunc(labels, func(l lists.Label) bool { return l.Weight != 1 }) {
		return dst, nil
	}
	// 2. Labels are in the order of UIDs, scanned links are locals, then ghosts.
	locals, ghosts, err := p.cell.Lists(cell.Forward).Decode(page, nil, nil)
	if err != nil {
		return dst, err
	}
	order := make([]int, len(locals)+len(ghosts))
	at := func(i int) uid.UID {
		if i < len(locals) {
			return p.cell.UID(locals[i])
		}
		return p.ghosts.UID(ghosts[i-len(locals)])
	}
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	start := len(dst)
	dst = slices.Grow(dst, len(order))[:start+len(order)]
	for label, link := range order {
		dst[start+link] = labels[label].Weight
	}
	return dst, nil
}

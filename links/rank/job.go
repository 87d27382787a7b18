// A PageRank on one machine, round by round.

package rank

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// A job is a PageRank on one machine. Its methods run on one goroutine; each starts the others.
type job struct {
	Options
	ctx      context.Context
	total    float64 // pages of all partitions
	pages    []int
	parts    []*part          // local ones, ascending
	own      map[int]*part    // the local ones by number
	incoming map[way][]uint32 // from remote partitions to local ones
	round    Round
	step     int // of Gather
}

// A way leads from one partition to another.
type way struct{ from, to int }

func newJob(ctx context.Context, pages []int, own map[int]Partition, o Options) (*job, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	j := &job{Options: o.withDefaults(), ctx: ctx, pages: pages, own: map[int]*part{}, incoming: map[way][]uint32{}}
	// 1. Check that the partitions fit the graph. All of them must be local if there is no
	// exchange.
	for i, n := range pages {
		lists, here := own[i]
		switch {
		case n < 0 || n > math.MaxUint32:
			return nil, fmt.Errorf("partition %d has %d pages: %w", i, n, ErrGraph)
		case here && lists.Pages() != n:
			return nil, fmt.Errorf("partition %d has %d pages, not %d: %w", i, lists.Pages(), n, ErrGraph)
		case here:
			j.parts = append(j.parts, &part{index: i, lists: lists})
		case o.Exchange == nil:
			return nil, fmt.Errorf("partition %d is not here, and there is no exchange: %w", i, ErrGraph)
		}
		j.total += float64(n)
	}
	if len(j.parts) != len(own) {
		return nil, fmt.Errorf("%d partitions are here, of which %d are of the graph's %d: %w", len(own), len(j.parts), len(pages), ErrGraph)
	}
	// 2. Read the local partitions on all workers. They share one budget for copies.
	var copyBytes atomic.Int64
	copyBytes.Store(j.CopyBytes)
	err := j.each(func(i int) (err error) {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		j.parts[i], err = newPart(j.parts[i].index, j.parts[i].lists, pages, &copyBytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	// 3. Exchange routes, because ReceiveValues returns numbers without their pages.
	for _, p := range j.parts {
		j.own[p.index] = p
		j.round.Links += p.links
	}
	if err := j.shareRoutes(); err != nil {
		return nil, err
	}
	return j, j.start()
}

// each calls do for each local partition, on all workers, and waits. When one fails, no further
// partition is started. each returns the error of the lowest partition.
func (j *job) each(do func(i int) error) error {
	// Each worker takes the next partition. errs needs no lock, because each index has one
	// writer.
	var (
		next   atomic.Int64
		failed atomic.Bool
		errs   = make([]error, len(j.parts))
		group  sync.WaitGroup
	)
	for range min(j.Workers, len(j.parts)) {
		group.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(j.parts) {
					return
				}
				if errs[i] = do(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// shareRoutes sends the routes of local partitions to the other machines and receives theirs.
func (j *job) shareRoutes() error {
	// 1. Send all routes first. Two machines cannot wait for each other, because Send does not
	// wait.
	for _, p := range j.parts {
		for to := range j.pages {
			if j.own[to] != nil {
				continue
			}
			start, end := p.way(to)
			if err := j.Exchange.SendRoute(j.ctx, p.index, to, p.pages[start:end]); err != nil {
				return j.lost(err)
			}
		}
	}
	// 2. Receive the routes and check them, because the rounds use pages as indexes unchecked.
	for _, p := range j.parts {
		for from := range j.pages {
			if j.own[from] != nil {
				continue
			}
			pages, err := j.Exchange.ReceiveRoute(j.ctx, from, p.index)
			if err != nil {
				return j.lost(err)
			}
			for _, page := range pages {
				if int(page) >= len(p.scores) {
					return fmt.Errorf("partition %d has a link to page %d of partition %d, which has %d: %w", from, page, p.index, len(p.scores), ErrGraph)
				}
			}
			j.incoming[way{from, p.index}] = pages
		}
	}
	return nil
}

// lost wraps an error of the exchange. If the context has ended, it returns the error as it is.
func (j *job) lost(err error) error {
	if j.ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrExchange, err)
}

// gather returns the values of all partitions, in order. It calls value for each local one.
func (j *job) gather(value func(*part) float64) ([]float64, error) {
	own := make(map[int]float64, len(j.parts))
	for _, p := range j.parts {
		own[p.index] = value(p)
	}
	if j.Exchange == nil {
		all := make([]float64, len(j.pages))
		for i := range all {
			all[i] = own[i]
		}
		return all, nil
	}
	all, err := j.Exchange.Gather(j.ctx, j.step, own)
	if err != nil {
		return nil, j.lost(err)
	}
	if len(all) != len(j.pages) {
		return nil, fmt.Errorf("%d values of %d partitions: %w", len(all), len(j.pages), ErrExchange)
	}
	j.step++
	return all, nil
}

// start sets the initial scores. All machines must start from the same round.
func (j *job) start() error {
	if err := j.resume(); err != nil {
		return err
	}
	rounds, err := j.gather(func(*part) float64 { return float64(j.round.Number) })
	if err != nil {
		return err
	}
	for i, round := range rounds {
		if round != float64(j.round.Number) {
			return fmt.Errorf("partition %d goes on from round %v, others from %d: %w", i, round, j.round.Number, ErrState)
		}
	}
	if len(j.Resume) > 0 {
		return nil
	}
	return j.each(func(i int) error {
		p := j.parts[i]
		for page := range p.scores {
			p.scores[page] = 1 / j.total
		}
		p.loseDangling()
		return nil
	})
}

// resume sets the scores from the given states.
func (j *job) resume() error {
	if len(j.Resume) == 0 {
		j.round.Change = math.Inf(1)
		return nil
	}
	// 1. Take the states of local partitions. A state must fit the graph and the damping, and all
	// must be of one round. Other states are skipped, because their partitions are remote.
	seen := 0
	for _, s := range j.Resume {
		p := j.own[int(s.Partition)]
		if p == nil {
			continue
		}
		seen++
		switch {
		case s.Graph != j.Graph || int(s.Partitions) != len(j.pages) || float64(s.Pages) != j.total || len(s.Scores) != len(p.scores):
			return fmt.Errorf("the state of partition %d is of graph %d, of %d partitions and %d pages, %d of them here; the job's is graph %d, of %d, %.0f and %d: %w",
				s.Partition, s.Graph, s.Partitions, s.Pages, len(s.Scores), j.Graph, len(j.pages), j.total, len(p.scores), ErrState)
		case s.Damping != j.Damping:
			return fmt.Errorf("the state of partition %d is of a job with damping %v, not %v: %w", s.Partition, s.Damping, j.Damping, ErrState)
		case seen > 1 && s.Round != j.round.Number:
			return fmt.Errorf("the state of partition %d is of round %d, another one's of %d: %w", s.Partition, s.Round, j.round.Number, ErrState)
		}
		j.round.Number, j.round.Change = s.Round, s.Change
		p.start(s.Scores)
	}
	// 2. Each local partition must have a state.
	if seen != len(j.parts) {
		return fmt.Errorf("%d states of %d partitions: %w", seen, len(j.parts), ErrState)
	}
	return nil
}

func (j *job) converged() bool { return j.total == 0 || j.round.Change <= j.Tolerance }

func (j *job) scores() [][]float64 {
	var all [][]float64
	for _, p := range j.parts {
		all = append(all, p.scores)
	}
	return all
}

// run does rounds until the scores converge or MaxRounds is reached.
func (j *job) run() error {
	for !j.converged() && j.round.Number < j.MaxRounds {
		change, err := j.doRound(j.round.Number + 1)
		if err != nil {
			return err
		}
		j.round.Number++
		j.round.Change = change
		if j.Progress != nil {
			j.Progress(j.round)
		}
		if j.Checkpoint != nil && j.round.Number%j.CheckpointRounds == 0 {
			if err := j.Checkpoint(j.states()); err != nil {
				return fmt.Errorf("checkpoint: %w", err)
			}
		}
	}
	return nil
}

// doRound does one round and returns the change of all scores, in L1.
func (j *job) doRound(round int) (float64, error) {
	// 1. Push and receive. each is a barrier: receive must not start before all local pushes end.
	if err := j.each(func(i int) error { return j.push(round, j.parts[i]) }); err != nil {
		return 0, err
	}
	if err := j.each(func(i int) error { return j.receive(round, j.parts[i]) }); err != nil {
		return 0, err
	}
	// 2. The scores that reached no page are spread over all pages.
	lost, err := j.gather((*part).undelivered)
	if err != nil {
		return 0, err
	}
	base := (1 - j.Damping + j.Damping*sum(lost)) / j.total
	changes := make([]float64, len(j.pages))
	_ = j.each(func(i int) error {
		changes[j.parts[i].index] = j.parts[i].settle(base, j.Damping)
		return nil
	})
	// 3. Sum up the changes of all machines. They must be finite, because remote values may be
	// wrong.
	all, err := j.gather(func(p *part) float64 { return changes[p.index] })
	if err != nil {
		return 0, err
	}
	change := sum(all)
	if math.IsNaN(change) || math.IsInf(change, 0) {
		return 0, fmt.Errorf("the scores change by %v: values of another machine, or a state, were wrong: %w", change, ErrExchange)
	}
	return change, nil
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// push pushes a partition and sends its sums to remote partitions at once.
func (j *job) push(round int, p *part) error {
	if err := p.push(j.ctx.Err); err != nil {
		return err
	}
	if len(j.parts) == len(j.pages) {
		return nil
	}
	for to := range j.pages {
		start, end := p.way(to)
		if j.own[to] != nil || start == end {
			continue
		}
		if err := j.Exchange.SendValues(j.ctx, round, p.index, to, p.out[start:end]); err != nil {
			return j.lost(err)
		}
	}
	return nil
}

// receive adds the sums of all partitions for p, in the order of their numbers. The order is
// fixed because sums must not depend on the arrival of messages.
func (j *job) receive(round int, p *part) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	for from := range j.pages {
		if other := j.own[from]; other != nil {
			start, end := other.way(p.index)
			p.receive(other.pages[start:end], other.out[start:end])
			continue
		}
		pages := j.incoming[way{from, p.index}]
		if len(pages) == 0 {
			continue
		}
		values, err := j.Exchange.ReceiveValues(j.ctx, round, from, p.index)
		if err != nil {
			return j.lost(err)
		}
		if len(values) != len(pages) {
			return fmt.Errorf("partition %d sent partition %d %d values for %d pages: %w", from, p.index, len(values), len(pages), ErrExchange)
		}
		p.receive(pages, values)
	}
	return nil
}

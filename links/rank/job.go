// A PageRank on one machine, round by round.

package rank

import (
	"context"
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/uid"
)

// A job is a PageRank on one machine. Its methods run on one goroutine; each starts the others.
//
// The destinations of a part's ghosts are the local parts, then the remotes, then nowhere.
type job struct {
	Options
	ctx     context.Context
	total   float64 // pages of all machines
	parts   []*part // local ones, ascending
	remotes []*remote
	round   Round
	change  float64 // of the local scores in the last round
	step    int     // of the exchange
}

func newJob(ctx context.Context, parts []Partition, o Options) (*job, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	j := &job{Options: o.withDefaults(), ctx: ctx, parts: make([]*part, len(parts))}
	// 1. Check the ranges, because pages are looked up by them.
	for i, p := range parts {
		switch {
		case p.Pages() < 0 || p.Pages() > math.MaxUint32:
			return nil, fmt.Errorf("partition %d has %d pages: %w", i, p.Pages(), ErrGraph)
		case i > 0 && p.Range().First <= parts[i-1].Range().Last:
			return nil, fmt.Errorf("partition %d of %s is behind that of %s: %w", i, p.Range(), parts[i-1].Range(), ErrGraph)
		}
	}
	// 2. Read the local partitions on all workers. They share one budget for copies.
	var copyBytes atomic.Int64
	copyBytes.Store(j.CopyBytes)
	err := j.each(func(i int) (err error) {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		j.parts[i], err = newPart(i, parts[i], &j.Options, &copyBytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	// 3. Agree on the pages of messages, because those of rounds have values only.
	if err := j.route(); err != nil {
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

// partOf returns the index of the local part whose range has a UID.
func (j *job) partOf(u uid.UID) (int, bool) {
	i := sort.Search(len(j.parts), func(i int) bool { return j.parts[i].lists.Range().Last >= u })
	return i, i < len(j.parts) && j.parts[i].lists.Range().Contains(u)
}

// destination returns the number of a remote among the destinations of ghosts.
func (j *job) destination(r *remote) int {
	_, self := j.Exchange.Machines()
	if r.number < self {
		return len(j.parts) + r.number
	}
	return len(j.parts) + r.number - 1
}

// route finds the destinations of all ghosts.
func (j *job) route() error {
	// 1. The other machines, without this one.
	if j.Exchange != nil {
		machines, self := j.Exchange.Machines()
		for m := range machines {
			if m != self {
				j.remotes = append(j.remotes, &remote{number: m})
			}
		}
	}
	// 2. Find the ghosts of each part, then the targets of each remote.
	found := make([][][]uid.UID, len(j.remotes)) // by remote and part
	for i := range found {
		found[i] = make([][]uid.UID, len(j.parts))
	}
	err := j.each(func(i int) error {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		away := j.parts[i].route(j)
		for k, uids := range away {
			found[k][i] = uids
		}
		return nil
	})
	for i, r := range j.remotes {
		j.setTargets(r, found[i])
		found[i] = nil
	}
	return err
}

// start agrees with the other machines, and gives all pages equal scores.
func (j *job) start() error {
	pages, links := int64(0), int64(0)
	for _, p := range j.parts {
		pages, links = pages+int64(len(p.scores)), links+p.links
	}
	if len(j.remotes) > 0 {
		var err error
		if pages, links, err = j.greet(pages, links); err != nil {
			return err
		}
	}
	j.total = float64(pages)
	j.round = Round{Change: math.Inf(1), Links: links}
	return j.each(func(i int) error {
		p := j.parts[i]
		for page := range p.scores {
			p.scores[page] = 1 / j.total
		}
		p.loseDangling()
		return nil
	})
}

// ended reports whether there is no further round.
func (j *job) ended() bool { return j.converged() || j.round.Number >= j.MaxRounds }

func (j *job) converged() bool { return j.total == 0 || j.round.Change <= j.Tolerance }

// run does rounds until the scores converge or MaxRounds is reached.
func (j *job) run() error {
	if len(j.remotes) == 0 {
		// A machine without others learns the change of a round at once.
		for !j.ended() {
			if err := j.push(); err != nil {
				return err
			}
			lost := 0.0
			for _, p := range j.parts {
				lost += p.undelivered()
			}
			j.finishRound(lost)
			if err := j.report(j.change); err != nil {
				return err
			}
		}
		return nil
	}
	// Others learn it with the values of the next round.
	for first := true; ; first = false {
		if err := j.push(); err != nil {
			return err
		}
		lost, change, err := j.exchange()
		if err != nil {
			return err
		}
		if !first {
			if err := j.report(change); err != nil {
				return err
			}
		}
		if j.total == 0 || !first && j.ended() {
			return nil
		}
		j.finishRound(lost)
	}
}

// report publishes the change of the last round.
func (j *job) report(change float64) error {
	// It must be finite, because remote values may be wrong.
	if math.IsNaN(change) || math.IsInf(change, 0) {
		return fmt.Errorf("the scores change by %v: values of another machine were wrong: %w", change, ErrExchange)
	}
	j.round.Change = change
	if j.Progress != nil {
		j.Progress(j.round)
	}
	return nil
}

// push pushes all parts.
func (j *job) push() error {
	return j.each(func(i int) error { return j.parts[i].push(j.ctx.Err) })
}

// finishRound delivers all sums and makes them the scores of the next round. It always ends, so that the
// scores of all parts are of the same round.
func (j *job) finishRound(lost float64) {
	// 1. Add in the order of the parts, then of the machines, because sums must not depend on the
	// arrival of messages.
	_ = j.each(func(i int) error {
		for _, from := range j.parts {
			start, end := from.way(i)
			j.parts[i].receive(from.pages[start:end], from.out[start:end])
		}
		for _, r := range j.remotes {
			before := 0
			for _, pages := range r.incoming[:i] {
				before += len(pages)
			}
			j.parts[i].receiveMessage(r.incoming[i], r.message[numberLen*before:])
		}
		return nil
	})
	// 2. The scores that reached no page are spread over all pages.
	base := (1 - j.Damping + j.Damping*lost) / j.total
	changes := make([]float64, len(j.parts))
	_ = j.each(func(i int) error {
		changes[i] = j.parts[i].computeScores(base, j.Damping)
		return nil
	})
	j.change = sum(changes)
	j.round.Number++
	j.round.Change = math.Inf(1) // until it is known of all machines
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

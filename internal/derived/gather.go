// Requests that several machines answer.

package derived

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/trie"
)

// Request is a request about items, each of which lies in a partition.
type Request struct {
	Items     int
	Partition func(item int) int
	// Holds reports whether this machine has a partition.
	Holds func(partition int) bool
	// Answer gets the answers of a machine, this one or another, for some items, ascending. It
	// returns how many of them, from the first on, have one. With an error, another machine may have
	// the rest; without one, neither these nor the items of all behind the first of these are needed.
	// It runs for several machines at the same time, and waits for changes of this machine's state
	// until waiting ends.
	Answer func(waiting context.Context, m trie.MachineID, items []int) (n int, err error)
	// MayPass reports whether another try may help after an error, elsewhere or later.
	MayPass func(error) bool
	// Primaries is set if the first holder of a partition is to answer, not the nearest one.
	Primaries bool
}

// Gather gets the answers of a request from the machines that hold the partitions. What fails is tried
// again, perhaps elsewhere. It returns the number of items of the prefix that is answered.
func (p *Peers) Gather(ctx context.Context, r Request) (end int, err error) {
	waiting, cancel := p.member.Bound(ctx)
	defer func() { cancel() }()
	left := make([]int, r.Items)
	for i := range left {
		left[i] = i
	}
	end = r.Items
	failed := map[trie.MachineID]bool{}
	for tries := 0; len(left) > 0; tries++ {
		if tries > 0 {
			if err := p.WaitRetry(waiting, tries, err); err != nil {
				return 0, err
			}
		}
		// 1. Group the items by machine. A prefix of the items of a machine must have the first ones.
		before := len(left)
		slices.Sort(left)
		groups, rest := p.group(left, &r, tries, failed)
		left, err = rest, nil
		// 2. Send to all machines at the same time.
		var mu sync.Mutex
		var requests sync.WaitGroup
		var fatal error
		fatalAt := r.Items // the first item without an answer because of it
		for m, items := range groups {
			requests.Go(func() {
				n, problem := r.Answer(waiting, m, items)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case problem == nil:
					if n < len(items) {
						end = min(end, items[n])
					}
				case r.MayPass(problem), isFailure(problem) && !failed[m]:
					left, err = append(left, items[n:]...), problem
					failed[m] = true
				case items[n] < fatalAt:
					fatal, fatalAt = problem, items[n]
				}
			})
		}
		requests.Wait()
		switch {
		case ctx.Err() != nil:
			return 0, cmp.Or(fatal, context.Cause(ctx))
		case fatalAt < end:
			return 0, fatal
		}
		left = slices.DeleteFunc(left, func(i int) bool { return i >= end })
		if len(left) < before { // the wait begins again with progress
			cancel()
			waiting, cancel = p.member.Bound(ctx)
		}
	}
	return end, nil
}

// group divides items by the machine that answers for their partitions: this one if it can, or
// the first holder that is up. Machines that failed are the last choice. rest are items without one.
func (p *Peers) group(items []int, r *Request, tries int, failed map[trie.MachineID]bool) (groups map[trie.MachineID][]int, rest []int) {
	// 1. A lone node, or one that alone answers reads.
	self := p.member.Node.MachineID()
	v := p.member.Node.View()
	if v == nil || p.member.Node.NoMajority() {
		return map[trie.MachineID][]int{self: items}, nil
	}
	// 2. Find the machine of each partition, once.
	of := p.member.PlacementOf(v)
	answerers := map[int]trie.MachineID{}
	answererOf := func(partition int) trie.MachineID {
		holds := r.Holds(partition)
		if holds && !failed[self] && (!r.Primaries || tries > 0 || of.Primary(partition) == self) {
			return self
		}
		m := p.answererOf(of, partition, failed)
		if m == 0 && holds {
			return self
		}
		return m
	}
	groups = map[trie.MachineID][]int{}
	for _, i := range items {
		partition := r.Partition(i)
		m, known := answerers[partition]
		if !known {
			m = answererOf(partition)
			answerers[partition] = m
		}
		if m == 0 {
			rest = append(rest, i)
		} else {
			groups[m] = append(groups[m], i)
		}
	}
	return groups, rest
}

// Routing: which machine answers for which partitions.

package textsearch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/trie"
)

const (
	// callTimeout bounds the answer of a machine while another one may have it; downTime is how long a machine that did
	// not answer is the last choice.
	callTimeout = 2 * time.Second
	downTime    = time.Second
)

// local answers for partitions of this machine. add adds the result; it is called while no other result is added.
type local func(ctx context.Context, now *state, set derived.Partitions) (add func(), err error)

// gather gets the answers for all partitions: from this machine if it has them, and else from one holder each. It returns
// when all are complete, or an error.
func (x *Index) gather(ctx context.Context, s *Search, own local, remote func(*answer), q *question) error {
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	waiting, end := x.Bound(ctx)
	defer func() { end() }()
	q.at, q.text, q.predicates = s.at, s.request.Query.Text, s.request.Predicates
	if s.request.Language != nil {
		q.ofLanguage, q.language = true, *s.request.Language
	}
	failed := map[trie.MachineID]bool{}
	var left derived.Partitions
	for tries := 0; tries == 0 || left != 0; tries++ {
		// 1. This machine's own partitions.
		now, err := x.current(waiting, s.at)
		if err != nil {
			return err
		}
		if tries == 0 {
			left = q.partitions(now.layout)
		}
		if mine := now.heldOf(s.request) & left; mine != 0 && !failed[x.Node.MachineID()] {
			add, err := own(ctx, now, mine)
			switch {
			case err == nil:
				add()
				left &^= mine
			case errors.Is(err, context.DeadlineExceeded) && client.Err() == nil:
				return fmt.Errorf("%w: more than %s; write more of its words, or name a predicate", ErrTooSlow, searchTimeout)
			case now.layout == 0 || !errors.Is(err, ErrBuilding):
				return err
			default:
				failed[x.Node.MachineID()] = true // it is damaged; others may be right
			}
		}
		if left == 0 {
			return nil
		}
		// 2. Those of others.
		v := x.Node.View()
		if v == nil || now.layout == 0 {
			return x.building()
		}
		before := left
		if err = x.ask(ctx, v, q, &left, failed, remote, tries > 0); errors.Is(err, textindex.ErrQuery) {
			return err
		}
		if left == 0 {
			return nil
		}
		// 3. Another view, or another moment, may help. The wait begins again with progress.
		if left != before {
			end()
			waiting, end = x.Bound(ctx)
		}
		if waited := x.wait(waiting, tries); waited != nil {
			if err == nil || waiting.Err() == nil {
				err = errors.Join(waited, err)
			}
			if failure := x.building(); errors.Is(failure, ErrTooLarge) {
				return failure
			}
			return fmt.Errorf("%w: no machine answers for a part of the text index: %w", store.ErrUnavailable, err)
		}
	}
	return nil
}

// ask sends a question to machines that may hold the partitions that are left, and removes those that are answered.
func (x *Index) ask(ctx context.Context, v *view.View, q *question, left *derived.Partitions, failed map[trie.MachineID]bool, add func(*answer), patient bool) error {
	// 1. A machine for each partition.
	groups := map[trie.MachineID]derived.Partitions{}
	for i := range 1 << partitionBits {
		if left.Has(i) {
			if m := x.choose(v, i, failed); m != 0 {
				groups[m] = groups[m].With(i)
			}
		}
	}
	// 2. Ask all of them at the same time.
	var mu sync.Mutex
	var asking sync.WaitGroup
	var problem error
	for m, set := range groups {
		asking.Go(func() {
			one := *q
			one.set = set
			var places []int
			one.keys, places = keysOf(partitionBits, q.keys, set)
			a, err := x.call(ctx, m, &one, patient)
			if err == nil && a.problem == "" && len(a.scores) != len(one.keys) {
				err = fmt.Errorf("machine %v sent %d scores of %d literals", m, len(a.scores), len(one.keys))
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && a.problem != "":
				problem = fmt.Errorf("%w: %s", textindex.ErrQuery, a.problem)
			case err == nil:
				a.places = places
				add(a)
				*left &^= set
			default:
				failed[m] = true
				if problem == nil {
					problem = err
				}
			}
		})
	}
	asking.Wait()
	if len(groups) == 0 || len(failed) >= len(v.Members) {
		clear(failed) // all have failed, so each may be asked again
	}
	return problem
}

// choose returns the machine to ask for a partition: the first one of the ranking that has not failed, and of these one
// that is not down; 0 if there is none.
func (x *Index) choose(v *view.View, partition int, failed map[trie.MachineID]bool) (second trie.MachineID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.PlacementOf(v).Ranking[partition] {
		if failed[m] || m == x.Node.MachineID() {
			continue
		}
		if until, down := x.down[m]; !down || time.Now().After(until) {
			return m
		}
		if second == 0 {
			second = m
		}
	}
	return second
}

// call sends a question to a machine.
func (x *Index) call(ctx context.Context, m trie.MachineID, q *question, patient bool) (*answer, error) {
	if !patient {
		short, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		ctx = short
	}
	body, err := x.Node.Call(ctx, m, methodAsk, peer.Encode(256, q.fields))
	if err != nil {
		var refusal *peer.Refusal
		if !errors.As(err, &refusal) {
			x.mu.Lock()
			x.down[m] = time.Now().Add(downTime)
			x.mu.Unlock()
		}
		return nil, err
	}
	a := &answer{}
	return a, peer.Decode(body, a.fields)
}

// dropSpare drops the partitions that this machine need not hold when all holders have them.
func (x *Index) dropSpare(ctx context.Context) error {
	// 1. What is spare.
	s, v := x.state.Load(), x.Node.View()
	l, wanted := x.wanted()
	if s == nil || v == nil || l == 0 || s.layout != l {
		return nil
	}
	var spare derived.Partitions
	for _, set := range s.complete {
		spare |= set &^ wanted
	}
	if spare == 0 {
		return nil
	}
	// 2. What the others hold.
	held := map[trie.MachineID]derived.Partitions{}
	for _, m := range v.Members {
		if m.ID == x.Node.MachineID() {
			continue
		}
		if a, err := x.call(ctx, m.ID, &question{kind: askHeld}, false); err == nil {
			held[m.ID] = a.held
		}
	}
	for i := range 1 << partitionBits {
		for _, m := range x.PlacementOf(v).HoldersOf(i) {
			if m != x.Node.MachineID() && !held[m].Has(i) {
				spare &^= 1 << i
			}
		}
	}
	if spare == 0 {
		return nil
	}
	// 3. Drop it.
	unlock, err := x.changing.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if s = x.state.Load(); s.layout == l {
		next := s.clone()
		next.drop(func(_ string, partition int) bool { return spare.Has(partition) })
		x.publish(next)
		x.files.urgent = true
	}
	return nil
}

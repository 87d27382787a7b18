// Routing: which machine answers for which partitions.

package textsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/trie"
)

// newPeers returns the peers of an index.
func (x *Index) newPeers() *derived.Peers {
	return derived.NewPeers(x.Member, derived.Questions{
		Method: methodQuestion, Held: peer.Encode(256, (&question{kind: questionHeld}).fields),
		ParseHeld: func(body []byte) (derived.Holding, string, error) {
			a := &answer{}
			err := peer.Decode(body, a.fields)
			return a.held, "", err
		},
		Full: func() error { return nil }, // see gather
	})
}

// local answers for partitions of this machine. add adds the result; it is called while no other result is added.
type local func(ctx context.Context, now *state, set derived.Partitions) (add func(), err error)

// gather gets the answers for all partitions: from this machine if it has them, and else from one holder each. It returns
// when all are complete, or an error.
func (x *Index) gather(ctx context.Context, s *Search, own local, remote func(*answer), q *question) error {
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	q.at, q.text, q.predicates = s.at, s.request.Query.Text, s.request.Predicates
	if s.request.Language != nil {
		q.ofLanguage, q.language = true, *s.request.Language
	}
	// 1. A state of another layout, or with fewer partitions, is no answer.
	l, _ := x.wanted()
	here := func(ctx context.Context, now *state, set derived.Partitions) (func(), error) {
		if now.layout != l || !now.holds(s.request, set) {
			return nil, x.building()
		}
		return own(ctx, now, set)
	}
	items := slices.Collect(q.partitions(l).All())
	var mu sync.Mutex // of the results
	_, err := x.peers.Gather(ctx, derived.Request{
		Items: len(items), Partition: func(i int) int { return items[i] },
		Holds: func(partition int) bool {
			now := x.state.Load()
			return now != nil && now.layout == l && now.heldOf(s.request).Has(partition)
		},
		Answer: func(waiting context.Context, m trie.MachineID, list []int) (int, error) {
			var set derived.Partitions
			for _, i := range list {
				set = set.With(items[i])
			}
			var add func()
			var err error
			if m != x.Node.MachineID() {
				add, err = x.sendQuestion(ctx, m, q, set, remote)
			} else if now, late := x.current(waiting, s.at); late != nil {
				err = late
			} else {
				add, err = here(ctx, now, set)
			}
			if err != nil {
				return 0, err
			}
			mu.Lock()
			defer mu.Unlock()
			add()
			return len(list), nil
		},
		// If this machine's part is damaged, others may be right.
		MayPass: func(err error) bool { return l > 0 && derived.MayPass(err, ErrBuilding, peer.ErrMessage) },
	})
	// 2. The reason, for users.
	switch {
	case errors.Is(err, store.ErrUnavailable):
		if failure := x.building(); errors.Is(failure, ErrTooLarge) {
			return failure
		}
	case errors.Is(err, context.DeadlineExceeded) && client.Err() == nil:
		return fmt.Errorf("%w: more than %s; write more of its words, or name a predicate", ErrTooSlow, searchTimeout)
	}
	return err
}

// sendQuestion sends a question about some partitions to another machine.
func (x *Index) sendQuestion(ctx context.Context, m trie.MachineID, q *question, set derived.Partitions, remote func(*answer)) (add func(), err error) {
	one := *q
	one.set = set
	var places []int
	one.keys, places = keysOf(partitionBits, q.keys, set)
	body, err := x.peers.Call(ctx, m, peer.Encode(256, one.fields), 0)
	if err != nil {
		return nil, err
	}
	a := &answer{}
	switch err := peer.Decode(body, a.fields); {
	case err != nil:
		return nil, err
	case a.problem != "":
		return nil, fmt.Errorf("%w: %s", textindex.ErrQuery, a.problem)
	case len(a.scores) != len(one.keys):
		return nil, fmt.Errorf("%w: machine %v sent %d scores of %d literals", peer.ErrMessage, m, len(a.scores), len(one.keys))
	}
	a.places = places
	return func() { remote(a) }, nil
}

// dropSpare drops the partitions that this machine need not hold when all holders have them.
func (x *Index) dropSpare(ctx context.Context) error {
	s, v := x.state.Load(), x.Node.View()
	l, wanted := x.wanted()
	if s == nil || v == nil || l == 0 || s.layout != l {
		return nil
	}
	var spare derived.Partitions
	for _, set := range s.complete {
		spare |= set &^ wanted
	}
	spare = x.peers.Spare(ctx, v, spare, peer.Encode(256, (&question{kind: questionHeld, predicates: s.predicates}).fields))
	if spare == 0 {
		return nil
	}
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

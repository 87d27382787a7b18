// The board: the published state, waiting for it, and the errors of the background work.

package linkgraph

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/links"
)

// board has the state that readers see, and why there is no newer one. The keeper publishes states,
// the placer and the keeper report their errors, and everybody else waits and reads.
type board struct {
	*machine
	opened   uint64 // random: it tells the epochs of this graph from those of others
	follower *feed.Follower
	ends     ends

	// state is the part of the graph that this machine holds, as readers see it. It is nil until
	// the position in the feed is known at which it begins.
	state    atomic.Pointer[state]
	moved    *signal // sent when a state is published, or an error is reported
	progress atomic.Pointer[string]
	// keepFailure and placeFailure are the last errors of the keeper and of the placer, nil while
	// they make progress.
	keepFailure, placeFailure atomic.Pointer[error]
	full                      atomic.Pointer[error] // why cells are missing that do not fit into the memory; nil if all fit
}

// newBoard returns a board without a state.
func newBoard(m *machine) *board {
	b := &board{machine: m, opened: rand.Uint64(), moved: newSignal()}
	b.follower = feed.NewFollower("links", b.moved.send)
	return b
}

// failed returns the error of the background work; nil while it makes progress.
func (b *board) failed() error {
	for _, failure := range []*atomic.Pointer[error]{&b.keepFailure, &b.placeFailure} {
		if err := failure.Load(); err != nil {
			return fmt.Errorf("%w (%w)", links.ErrLoading, *err)
		}
	}
	if err := b.follower.Stalled(); err != nil {
		return fmt.Errorf("%w (%w)", links.ErrLoading, err)
	}
	return nil
}

// Follower returns the follower of the change feed.
func (b *board) Follower() *feed.Follower { return b.follower }

// AwaitCells waits until this machine has all that it must hold.
func (b *board) AwaitCells(ctx context.Context) error {
	for {
		moved := b.moved.wait()
		if err := b.failed(); err != nil {
			return err
		}
		if s := b.state.Load(); s != nil && b.wanted()&^s.held == 0 {
			return nil
		}
		if full := b.full.Load(); full != nil {
			return *full
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.ctx.Done():
			return context.Cause(b.ctx)
		}
	}
}

// Partitions implements links.PartitionReporter.
func (b *board) Partitions() (held, missing int) {
	var set partitionSet
	if s := b.state.Load(); s != nil {
		set = s.held
	}
	return set.len(), (b.wanted() &^ set).len()
}

// caughtUp waits until this machine has all cells that it must hold, with everything that was
// acknowledged before the call.
func (b *board) caughtUp(ctx context.Context) (*state, error) {
	for {
		s, err := b.current(ctx)
		if err == nil && b.wanted()&^s.held == 0 {
			return s, nil
		}
		if err == nil || errors.Is(err, links.ErrLoading) {
			err = b.AwaitCells(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// await returns the state when it has reached a position.
func (b *board) await(ctx context.Context, at feed.Position) (*state, error) {
	for {
		moved := b.moved.wait()
		s := b.state.Load()
		switch err := b.failed(); {
		case b.ctx.Err() != nil:
			return nil, context.Cause(b.ctx)
		case err != nil:
			return nil, err // the state would become older and older
		case s == nil:
			return nil, links.ErrLoading
		case s.at.Reaches(at):
			return s, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-b.ctx.Done():
			return nil, context.Cause(b.ctx)
		}
	}
}

// current returns the state with all changes that were acknowledged before the call.
func (b *board) current(ctx context.Context) (*state, error) {
	at, err := b.ends.position(ctx, b.machine)
	if err != nil {
		return nil, err
	}
	return b.await(ctx, at)
}

// stateAt returns a state whose links are those of the rows at a position.
//
// A state at a position may show some later changes, because builds and deletes look into rows that are
// newer. So it is right only if no triple of the predicate has changed between the position and the
// moment when the state is taken.
func (b *board) stateAt(ctx context.Context, at feed.Position) (*state, error) {
	// 1. Take a state with all changes up to the position.
	s, err := b.await(ctx, at)
	if err != nil {
		return nil, err
	}
	if s.held != allPartitions || s.mixed {
		return nil, ErrMixed
	}
	// 2. All rows that it was made from lie before this end.
	end, err := b.endOfRows()
	if err != nil || at.Reaches(end) {
		return s, err
	}
	// 3. No triple of the predicate may lie between both.
	later, err := b.await(ctx, end)
	if err == nil && !at.Reaches(later.linked) {
		err = ErrMixed
	}
	return s, err
}

// endOfRows returns the position of the rows of a lone node at present.
func (b *board) endOfRows() (feed.Position, error) {
	r, err := b.node.Reader()
	if err != nil {
		return feed.Position{}, err
	}
	end, fixed, err := r.Position()
	if err == nil && !fixed {
		err = ErrMixed
	}
	return end, errors.Join(err, r.Close())
}

// say publishes the progress of the keeper.
func (b *board) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.progress.Store(&text)
}

// lastPages returns the last known number of pages.
func (b *board) lastPages() (n int) {
	if s := b.state.Load(); s != nil {
		for _, v := range s.views {
			n += v.NumPages()
		}
	}
	return n
}

// memory returns the memory of the held cells and their changes.
func (b *board) memory() int64 {
	if s := b.state.Load(); s != nil {
		return partsBytes(s.parts)
	}
	return 0
}

// refuse records why cells are missing, and returns the error.
func (b *board) refuse(err error) error {
	if errors.Is(err, links.ErrMemory) {
		b.full.Store(&err)
		b.moved.send()
	}
	return err
}

// loading returns the error of a read while cells are missing.
func (b *board) loading() error {
	if full := b.full.Load(); full != nil {
		return *full
	}
	if text := b.progress.Load(); text != nil {
		return fmt.Errorf("%w: %s", links.ErrLoading, *text)
	}
	return links.ErrLoading
}

// Epoch returns the epoch of a lone node's graph: the sequence of the store's feed up to which
// readers see changes. It grows with every change of the graph. It is 0 in a cluster, and if there
// is no graph yet.
func (b *board) Epoch() uint64 {
	if b.node.Lone() == nil {
		return 0
	}
	if s := b.state.Load(); s != nil && s.held == allPartitions {
		return s.at.Sequence(0)
	}
	return 0
}

// epochOf returns the epoch of a state.
func (b *board) epochOf(s *state) uint64 {
	if b.node.Lone() != nil {
		return s.at.Sequence(0)
	}
	of := binary.BigEndian.AppendUint64(nil, b.opened)
	return links.MinClusterEpoch + xxhash.Sum64(binary.BigEndian.AppendUint64(of, s.changes))%links.MinClusterEpoch
}

// signal wakes all waiters of an event. A waiter must call wait before it checks its condition.
type signal struct {
	mu sync.Mutex
	c  chan struct{}
}

func newSignal() *signal { return &signal{c: make(chan struct{})} }

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c
}

func (s *signal) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.c)
	s.c = make(chan struct{})
}

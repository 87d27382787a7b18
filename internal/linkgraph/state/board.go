// The board: the published state, waiting for it, and the errors of the background work.

package state

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/links"
)

// Board has the state that readers see, and why there is no newer one. The keeper publishes states,
// the placer and the keeper report their errors, and everybody else waits and reads.
type Board struct {
	*machine.Machine
	opened   uint64 // random: it tells the epochs of this graph from those of others
	Follower *feed.Follower

	// State is the part of the graph that this machine holds, as readers see it. It is nil until
	// the position in the feed is known at which it begins.
	State    atomic.Pointer[State]
	Moved    notify.Broadcast // sent when a state is published, or an error is reported
	Progress atomic.Pointer[string]
	// KeepFailure and placeFailure are the last errors of the keeper and of the placer, nil while
	// they make progress.
	KeepFailure, PlaceFailure atomic.Pointer[error]
	Full                      atomic.Pointer[error] // why cells are missing that do not fit into the memory; nil if all fit
}

// NewBoard returns a board without a state.
func NewBoard(m *machine.Machine) *Board {
	b := &Board{Machine: m, opened: rand.Uint64()}
	b.Follower = feed.NewFollower("links", b.Moved.Send)
	return b
}

// Failed returns the error of the background work; nil while it makes progress.
func (b *Board) Failed() error {
	for _, failure := range []*atomic.Pointer[error]{&b.KeepFailure, &b.PlaceFailure} {
		if err := failure.Load(); err != nil {
			return fmt.Errorf("%w (%w)", links.ErrLoading, *err)
		}
	}
	if err := b.Follower.Stalled(); err != nil {
		return fmt.Errorf("%w (%w)", links.ErrLoading, err)
	}
	return nil
}

// AwaitCells waits until this machine has all that it must hold.
func (b *Board) AwaitCells(ctx context.Context) error {
	return b.AwaitBroadcast(ctx, &b.Moved, func() (bool, error) {
		if err := b.Failed(); err != nil {
			return false, err
		}
		if s := b.State.Load(); s != nil && b.Wanted()&^s.Held == 0 {
			return true, nil
		}
		if full := b.Full.Load(); full != nil {
			return false, *full
		}
		return false, nil
	})
}

// Partitions implements links.PartitionReporter.
func (b *Board) Partitions() (held, missing int) {
	var set derived.Partitions
	if s := b.State.Load(); s != nil {
		set = s.Held
	}
	return set.Len(), (b.Wanted() &^ set).Len()
}

// CaughtUp waits until this machine has all cells that it must hold, with everything that was
// acknowledged before the call.
func (b *Board) CaughtUp(ctx context.Context) (*State, error) {
	for {
		s, err := b.Current(ctx)
		if err == nil && b.Wanted()&^s.Held == 0 {
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

// Await returns the state when it has reached a position.
func (b *Board) Await(ctx context.Context, at feed.Position) (s *State, err error) {
	err = b.AwaitBroadcast(ctx, &b.Moved, func() (bool, error) {
		s = b.State.Load()
		switch err := b.Failed(); {
		case b.Context.Err() != nil:
			return false, context.Cause(b.Context)
		case err != nil:
			return false, err // the state would become older and older
		case s == nil:
			return false, links.ErrLoading
		}
		return s.At.Reaches(at), nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Current returns the state with all changes that were acknowledged before the call.
func (b *Board) Current(ctx context.Context) (*State, error) {
	at, err := b.ReadPosition(ctx)
	if err != nil {
		return nil, err
	}
	return b.Await(ctx, at)
}

// StateAt returns a state whose links are those of the rows at a position.
//
// A state at a position may show some later changes, because builds and deletes look into rows that are
// newer. So it is right only if no triple of the predicate has changed between the position and the
// moment when the state is taken.
func (b *Board) StateAt(ctx context.Context, at feed.Position) (*State, error) {
	// 1. Take a state with all changes up to the position.
	s, err := b.Await(ctx, at)
	if err != nil {
		return nil, err
	}
	if s.Held != machine.AllPartitions || s.Mixed {
		return nil, ErrMixed
	}
	// 2. All rows that it was made from lie before this end.
	end, fixed, err := derived.EndOfRows(b.Node)
	if err == nil && !fixed {
		err = ErrMixed
	}
	if err != nil || at.Reaches(end) {
		return s, err
	}
	// 3. No triple of the predicate may lie between both.
	later, err := b.Await(ctx, end)
	if err == nil && !at.Reaches(later.Linked) {
		err = ErrMixed
	}
	return s, err
}

// Say publishes the progress of the keeper.
func (b *Board) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	b.Progress.Store(&text)
}

// LastPages returns the last known number of pages.
func (b *Board) LastPages() (n int) {
	if s := b.State.Load(); s != nil {
		for _, v := range s.Views {
			n += v.NumPages()
		}
	}
	return n
}

// Memory returns the memory of the held cells and their changes.
func (b *Board) Memory() int64 {
	if s := b.State.Load(); s != nil {
		return PartsBytes(s.Parts)
	}
	return 0
}

// Refuse records why cells are missing, and returns the error.
func (b *Board) Refuse(err error) error {
	if errors.Is(err, links.ErrMemory) {
		b.Full.Store(&err)
		b.Moved.Send()
	}
	return err
}

// Loading returns the error of a read while cells are missing.
func (b *Board) Loading() error {
	if full := b.Full.Load(); full != nil {
		return *full
	}
	if text := b.Progress.Load(); text != nil {
		return fmt.Errorf("%w: %s", links.ErrLoading, *text)
	}
	return links.ErrLoading
}

// Epoch returns the epoch of a lone node's graph: the sequence of the store's feed up to which
// readers see changes. It grows with every change of the graph. It is 0 in a cluster, and if there
// is no graph yet.
func (b *Board) Epoch() uint64 {
	if b.Node.Lone() == nil {
		return 0
	}
	if s := b.State.Load(); s != nil && s.Held == machine.AllPartitions {
		return s.At.Sequence(0)
	}
	return 0
}

// EpochOf returns the epoch of a state.
func (b *Board) EpochOf(s *State) uint64 {
	if b.Node.Lone() != nil {
		return s.At.Sequence(0)
	}
	of := binary.BigEndian.AppendUint64(nil, b.opened)
	return links.MinClusterEpoch + xxhash.Sum64(binary.BigEndian.AppendUint64(of, s.Changes))%links.MinClusterEpoch
}

// ErrMixed is returned if the cells are not exactly the triples of a reader. The reader's rows must be
// read then.
var ErrMixed = errors.New("the cells of the link graph are not the triples that the query reads")

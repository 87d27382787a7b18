// Where a reader begins.

package batchlog

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Start is a batch of a stream, from which a reader goes on to the stream's end.
type Start struct {
	Stream Stream
	Number uint64
}

// Starts returns where to begin to read the operations of a sequencer, of an epoch and behind a
// sequence: the streams that may have some, ascending by incarnation.
func (l *Log) Starts(machine trie.MachineID, epoch, after uint64) (starts []Start) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, s := range l.streams {
		if id.Machine != machine {
			continue
		}
		if at := s.blockBehind(triple.Stamp{Epoch: epoch, Sequence: after}); at < len(s.blocks) && s.hasFrom(at, epoch) {
			starts = append(starts, Start{id, s.firstBatch(at)})
		}
	}
	slices.SortFunc(starts, func(a, b Start) int { return cmp.Compare(a.Stream.Incarnation, b.Stream.Incarnation) })
	return starts
}

// blockBehind returns the first block with a greater stamp.
func (s *stream) blockBehind(stamp triple.Stamp) int {
	return sort.Search(len(s.blocks), func(i int) bool { return stamp.Less(s.blocks[i].stamp) })
}

// hasFrom reports whether a block or one behind it may have stamps of an epoch, if all blocks before
// it have none.
func (s *stream) hasFrom(at int, epoch uint64) bool {
	return s.blocks[at].first <= epoch
}

// firstBatch returns the first batch of a block.
func (s *stream) firstBatch(at int) uint64 {
	if at == 0 {
		return s.trimmed + 1
	}
	return s.blocks[at-1].last + 1
}

// NoEpoch is a result of [Log.Epoch].
const NoEpoch = math.MaxUint64

// Epoch returns the sequencers that may have operations of an epoch, late ones excepted. next is no
// greater than the first later epoch with operations; it is NoEpoch if there are none.
func (l *Log) Epoch(epoch uint64) (sequencers []trie.MachineID, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next = NoEpoch
	for id, s := range l.streams {
		// 1. The first block with a stamp of the epoch or a later one.
		if at := s.blockBehind(triple.Stamp{Epoch: epoch}); at < len(s.blocks) && s.hasFrom(at, epoch) {
			sequencers = append(sequencers, id.Machine)
		}
		// 2. The first block with a stamp of a later epoch.
		if at := s.blockBehind(triple.Stamp{Epoch: epoch, Sequence: math.MaxUint64}); at < len(s.blocks) {
			next = min(next, max(s.blocks[at].first, epoch+1))
		}
	}
	l.late.byEpoch.Ascend(late{epoch: epoch + 1}, func(row late) bool {
		next = min(next, row.epoch)
		return false
	})
	slices.Sort(sequencers)
	return slices.Compact(sequencers), next
}

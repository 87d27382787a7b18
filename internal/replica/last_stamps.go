// The last stamps of other sequencers that this machine has.

package replica

import (
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// lastStamps has the greatest stamp of each sequencer among the operations that this process has
// made durable. If a sequencer is down, the others know by it what it may have acknowledged.
type lastStamps struct {
	mu sync.Mutex
	of map[trie.MachineID]triple.Stamp
}

// record records operations that are durable now.
func (l *lastStamps) record(b *InFlightBatch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[trie.MachineID]triple.Stamp{}
	}
	for i := range b.Operations {
		o := &b.Operations[i]
		m := o.Stamper
		if m == 0 {
			m = b.Origin.Sequencer
		}
		if l.of[m].Less(o.Stamp) {
			l.of[m] = o.Stamp
		}
	}
}

// LastStamps returns the last sequence of each sequencer in an epoch among the operations that this
// process has made durable, by ascending sequencer.
func (s *Store) LastStamps(epoch uint64) (marks []feed.Mark) {
	l := &s.lastStamps
	l.mu.Lock()
	defer l.mu.Unlock()
	for m, stamp := range l.of {
		if stamp.Epoch == epoch {
			marks = append(marks, feed.Mark{Sequencer: m, Sequence: stamp.Sequence})
		}
	}
	slices.SortFunc(marks, func(a, b feed.Mark) int {
		if a.Sequencer < b.Sequencer {
			return -1
		}
		return 1
	})
	return marks
}

// The log: its streams and blocks in memory, and appending to it.

package batchlog

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/triple"
)

// Limits of a block. A block goes as a whole, so it must be a small part of the retention.
const (
	blockBytes = 1 << 20
	blockParts = 8
	blockTime  = time.Minute
)

// Batch is what the log needs of a batch.
type Batch struct {
	Stream Stream
	Number uint64
	Bytes  int64
	// Fresh is true if the batch has operations that were stamped in the epoch in which they were
	// sent. Stamp is the greatest stamp of these.
	Fresh bool
	Stamp triple.Stamp
	// Old are the earlier epochs of stamps of other operations, each once.
	Old []uint64
}

// Log is the index of the batches of one machine. Its methods are safe for concurrent use, except
// that only one commit at a time may use Add, Trim and Drop.
//
// Invariant: memory has each batch before its row can be read. It may have more, if a commit has
// failed; then reads begin earlier, and never later, than they must.
type Log struct {
	retention  changefeed.Retention
	blockBytes int64
	now        func() time.Time

	mu      sync.Mutex
	streams map[Stream]*stream
	bytes   int64
	late    lateRows
	check   int64 // unix ms of the next look for old blocks

	lateTrimmed uint64 // the greatest epoch of trimmed late operations
	dropped     uint64 // the greatest epoch of trimmed stamps of dropped streams

	unwritten bool // rows of blocks may be missing on disk
}

// stream is the blocks of one stream. If open is true, the last block grows.
type stream struct {
	blocks  []block // ascending
	open    bool
	began   int64  // unix ms of the first batch of the open block
	trimmed uint64 // the last trimmed batch
	stamp   triple.Stamp
}

// block is a run of batches.
type block struct {
	last   uint64 // number of the last batch
	bytes  int64
	newest int64        // unix ms of the last append
	first  uint64       // the epoch of the first stamp; 0 if it has none
	stamp  triple.Stamp // the greatest stamp of this block and those before it
}

// New returns an empty log. If now is nil, it is time.Now.
func New(r changefeed.Retention, now func() time.Time) *Log {
	if now == nil {
		now = time.Now
	}
	r = r.WithDefaults()
	return &Log{retention: r, blockBytes: min(blockBytes, max(r.Bytes/blockParts, 1)), now: now, streams: map[Stream]*stream{}, late: newLateRows()}
}

// Now returns the time by the clock of the log.
func (l *Log) Now() time.Time { return l.now() }

// Add adds a batch whose row is in the same Pebble batch. A batch may be added again with more
// operations, and out of order.
func (l *Log) Add(to *pebble.Batch, b Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The row of an ended block changes if a batch comes late, and so may all behind it.
	ended, last, changed := l.append(b, l.now().UnixMilli())
	if l.unwritten || changed {
		if err := l.writeAll(to); err != nil {
			return err
		}
	} else if ended != nil {
		if err := to.Set(blockKey(b.Stream, last), ended, nil); err != nil {
			return err
		}
	}
	for _, epoch := range b.Old {
		row := late{epoch, b.Stream, b.Number}
		l.late.add(row)
		if err := to.Set(oldKey(row), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Failed must be called when a commit with Add, Trim or Drop has failed. The next Add then writes
// all rows of the index, because a block without a row would hide its stamps when the store opens.
func (l *Log) Failed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unwritten = true
}

// writeAll writes the rows of all ended blocks, late operations and marks.
func (l *Log) writeAll(to *pebble.Batch) error {
	l.unwritten = false
	for id, s := range l.streams {
		for i := range s.blocks {
			if i == len(s.blocks)-1 && s.open {
				continue
			}
			if err := to.Set(blockKey(id, s.blocks[i].last), s.blocks[i].append(nil), nil); err != nil {
				return err
			}
		}
		if s.trimmed > 0 {
			if err := to.Set(trimKey(id), appendTrim(nil, s.trimmed, s.stamp), nil); err != nil {
				return err
			}
		}
	}
	var err error
	l.late.byEpoch.Scan(func(row late) bool {
		err = to.Set(oldKey(row), nil, nil)
		return err == nil
	})
	if err != nil {
		return err
	}
	return l.writeTrimmed(to)
}

// append adds a batch to a block in memory. If this ends a block, it returns the block's value and
// its last batch. changed reports whether the batch belongs to a block that had ended before.
func (l *Log) append(b Batch, now int64) (ended []byte, last uint64, changed bool) {
	s := l.streams[b.Stream]
	if s == nil {
		s = &stream{}
		l.streams[b.Stream] = s
	}
	l.bytes += b.Bytes
	at := len(s.blocks) - 1
	switch {
	case at >= 0 && b.Number <= s.blocks[at].last:
		// 1. It comes late or again: it belongs to the block that covers its number.
		at, _ = slices.BinarySearchFunc(s.blocks, b.Number, func(b block, n uint64) int { return cmp.Compare(b.last, n) })
		changed = at < len(s.blocks)-1 || !s.open
	case at >= 0 && s.open && s.blocks[at].bytes < l.blockBytes && now-s.began < blockTime.Milliseconds():
		s.blocks[at].last, s.blocks[at].newest = b.Number, now
	default:
		// 2. End the open block, and begin another one.
		if at >= 0 && s.open {
			ended, last = s.blocks[at].append(nil), s.blocks[at].last
		}
		stamp := s.stamp
		if at >= 0 {
			stamp = s.blocks[at].stamp
		}
		s.blocks = append(s.blocks, block{last: b.Number, newest: now, stamp: stamp})
		s.open, s.began = true, now
		at++
	}
	// 3. Count it. The stamps of all blocks behind it must not be less.
	s.blocks[at].bytes += b.Bytes
	if b.Fresh {
		if of := &s.blocks[at]; of.first == 0 || b.Stamp.Epoch < of.first {
			of.first = b.Stamp.Epoch
		}
		for i := at; i < len(s.blocks) && s.blocks[i].stamp.Less(b.Stamp); i++ {
			s.blocks[i].stamp = b.Stamp
		}
	}
	return ended, last, changed
}

// Bytes returns about the bytes of all batches.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// Stats describes what is kept.
type Stats struct {
	Bytes  int64     // about
	Oldest time.Time // of the end of the oldest block; zero if nothing is kept
	Epochs uint64    // from the oldest kept stamp's to the newest one's, both included
}

// Stats returns what is kept.
func (l *Log) Stats() (s Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// 1. Blocks of a stream ascend, so its first ones are the oldest.
	s.Bytes = l.bytes
	first, last := uint64(NoEpoch), uint64(0)
	for _, of := range l.streams {
		if len(of.blocks) == 0 {
			continue
		}
		if at := time.UnixMilli(of.blocks[0].newest); s.Oldest.IsZero() || at.Before(s.Oldest) {
			s.Oldest = at
		}
		for i := range of.blocks {
			if b := &of.blocks[i]; b.first > 0 {
				first, last = min(first, b.first), max(last, of.blocks[len(of.blocks)-1].stamp.Epoch)
				break
			}
		}
	}
	// 2. Late operations may be of an earlier epoch.
	l.late.byEpoch.Scan(func(row late) bool {
		first = min(first, row.epoch)
		return false
	})
	if first <= last {
		s.Epochs = last - first + 1
	}
	return s
}

// Has reports whether batches of a stream are kept.
func (l *Log) Has(id Stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streams[id]
	return s != nil && len(s.blocks) > 0
}

// Trimming: the oldest blocks go when the log is too large or too old.

package batchlog

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// Trim removes blocks while the log exceeds its retention. inFlight returns the lowest batch in
// flight of a stream, or math.MaxUint64; a block with such a batch stays.
func (l *Log) Trim(to *pebble.Batch, inFlight func(Stream) uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().UnixMilli()
	if l.bytes <= l.retention.Bytes && now < l.check {
		return nil
	}
	l.check = now + min(blockTime, l.retention.Age/4+time.Millisecond).Milliseconds()
	for {
		// 1. Find the oldest block of all streams that may go.
		var oldest *stream
		var id Stream
		for of, s := range l.streams {
			if len(s.blocks) == 0 || oldest != nil && s.blocks[0].newest >= oldest.blocks[0].newest {
				continue
			}
			if inFlight(of) > s.blocks[0].last {
				oldest, id = s, of
			}
		}
		if oldest == nil || l.bytes <= l.retention.Bytes && now-oldest.blocks[0].newest < l.retention.Age.Milliseconds() {
			return nil
		}
		// 2. Remove it with its rows, and record what is lost.
		if err := l.trimFirst(to, id, oldest); err != nil {
			return err
		}
	}
}

// trimFirst removes the first block of a stream.
func (l *Log) trimFirst(to *pebble.Batch, id Stream, s *stream) error {
	b := s.blocks[0]
	s.blocks = s.blocks[1:]
	if len(s.blocks) == 0 {
		s.blocks, s.open = nil, false
	}
	l.bytes = max(l.bytes-b.bytes, 0)
	s.trimmed, s.stamp = b.last, b.stamp
	before := l.lateTrimmed
	for _, row := range l.late.rowsBetween(id, 0, b.last) {
		l.lateTrimmed = max(l.lateTrimmed, row.epoch)
		if err := l.late.remove(to, row); err != nil {
			return err
		}
	}
	if l.lateTrimmed != before {
		if err := l.writeTrimmed(to); err != nil {
			return err
		}
	}
	// The ranges begin at batch 0, because rows may lie before the blocks in memory.
	for _, key := range []func(Stream, uint64) []byte{Key, blockKey} {
		if err := to.DeleteRange(key(id, 0), key(id, b.last+1), nil); err != nil {
			return err
		}
	}
	return to.Set(trimKey(id), appendTrim(nil, s.trimmed, s.stamp), nil)
}

// writeTrimmed writes the marks that are of no stream.
func (l *Log) writeTrimmed(to *pebble.Batch) error {
	return to.Set(rowTrimmed, binary.AppendUvarint(binary.AppendUvarint(nil, l.lateTrimmed), l.dropped), nil)
}

// Drop forgets a stream without batches. From then on no position in an epoch of its trimmed
// batches can be continued.
func (l *Log) Drop(to *pebble.Batch, id Stream) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streams[id]
	if s == nil || len(s.blocks) > 0 {
		return nil
	}
	delete(l.streams, id)
	l.dropped = max(l.dropped, s.stamp.Epoch)
	if err := to.Delete(trimKey(id), nil); err != nil {
		return err
	}
	return l.writeTrimmed(to)
}

// NoneInFlight is what inFlight of [Log.Trim] returns for a stream without batches in flight.
const NoneInFlight = math.MaxUint64

// Trimmed is what a log has lost.
type Trimmed struct {
	// Epoch: changes of this epoch and of earlier ones may be missing; 0 if none are.
	Epoch uint64
	// Streams are the greatest trimmed stamps by stream.
	Streams map[Stream]triple.Stamp
}

// Trimmed returns what the log has lost.
func (l *Log) Trimmed() Trimmed {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Trimmed{Epoch: max(l.lateTrimmed, l.dropped), Streams: map[Stream]triple.Stamp{}}
	for id, s := range l.streams {
		if s.stamp != (triple.Stamp{}) {
			t.Streams[id] = s.stamp
		}
	}
	return t
}

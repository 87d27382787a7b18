// Opening a log: reading its index from the disk.

package batchlog

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
)

// Open reads the index of a log, and the rows of batches as far as they must be read: those behind
// the last block of each stream, and those above what committed returns for it. read returns what
// the log needs of a row, and keeps nothing of value.
func (l *Log) Open(db *database.Database, committed func(Stream) uint64, read func(id Stream, number uint64, value []byte) (Batch, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.readIndex(db); err != nil {
		return err
	}
	// Visit each stream, and skip its rows that need not be read.
	lower, upper := keyspace.LocalBounds(Prefix)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer it.Close()
	for valid := it.First(); valid; {
		id, _, err := ParseKey(it.Key())
		if err != nil {
			return err
		}
		indexed := uint64(0)
		if s := l.streams[id]; s != nil {
			indexed = s.trimmed
			if n := len(s.blocks); n > 0 {
				indexed = s.blocks[n-1].last
			}
		}
		from := min(indexed, committed(id)) + 1
		end := Stream{id.Machine, id.Incarnation + 1}
		for valid = it.SeekGE(Key(id, from)); valid && string(it.Key()) < string(Key(end, 0)); valid = it.Next() {
			if err := l.readRow(it, indexed, read); err != nil {
				return err
			}
		}
	}
	// Blocks that ended here have no row yet.
	l.unwritten = true
	return it.Error()
}

// readRow reads the row at an iterator. If it is behind the indexed batches, it enters a block.
func (l *Log) readRow(it *pebble.Iterator, indexed uint64, read func(Stream, uint64, []byte) (Batch, error)) error {
	id, number, err := ParseKey(it.Key())
	if err != nil {
		return err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	b, err := read(id, number, value)
	if err != nil {
		return err
	}
	if number > indexed {
		l.append(b, l.now().UnixMilli())
	}
	return nil
}

// readIndex reads all rows but those of batches.
func (l *Log) readIndex(db *database.Database) error {
	of := func(id Stream) *stream {
		if l.streams[id] == nil {
			l.streams[id] = &stream{}
		}
		return l.streams[id]
	}
	// 1. What is trimmed.
	value, err := db.Value(rowTrimmed)
	if err != nil {
		return err
	}
	if value != nil {
		if err := parseNumbers(value, &l.lateTrimmed, &l.dropped); err != nil {
			return err
		}
	}
	err = db.EachLocal(trimPrefix, func(key, value []byte) error {
		id, err := ParseStream(key[1+len(trimPrefix):])
		if err != nil {
			return err
		}
		s := of(id)
		return parseNumbers(value, &s.trimmed, &s.stamp.Epoch, &s.stamp.Sequence)
	})
	if err != nil {
		return err
	}
	// 2. The blocks; their rows ascend by stream and batch.
	err = db.EachLocal(blockPrefix, func(key, value []byte) error {
		id, last, err := parseBatch(key, len(blockPrefix))
		if err != nil {
			return err
		}
		b, err := parseBlock(last, value)
		if err != nil {
			return err
		}
		s := of(id)
		s.blocks = append(s.blocks, b)
		l.bytes += b.bytes
		return nil
	})
	if err != nil {
		return err
	}
	// 3. The batches with late operations.
	return db.EachLocal(oldPrefix, func(key, _ []byte) error {
		row, err := parseOldKey(key)
		l.late.add(row)
		return err
	})
}

// The log: Raft's entries in the database.

package agreement

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"
)

var (
	_ raft.LogStore          = (*store)(nil)
	_ raft.MonotonicLogStore = (*store)(nil)
	_ raft.StableStore       = (*store)(nil)
)

const entryFormat = 1

func logKey(index uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{tableLog}, index)
}

func logIndex(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

func stableKey(name []byte) []byte { return append([]byte{tableStable}, name...) }

// encodeEntry returns the value of an entry:
//
//	format 0x01 | type u8 | term uvarint | appended varint (ns since 1970, 0: none)
//	| length of extensions uvarint | extensions | data to the end
func encodeEntry(l *raft.Log) []byte {
	b := make([]byte, 0, 32+len(l.Extensions)+len(l.Data))
	b = append(b, entryFormat, byte(l.Type))
	b = binary.AppendUvarint(b, l.Term)
	var at int64
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	b = binary.AppendVarint(b, at)
	b = binary.AppendUvarint(b, uint64(len(l.Extensions)))
	b = append(b, l.Extensions...)
	return append(b, l.Data...)
}

// decodeEntry is the inverse of encodeEntry. It keeps nothing of b.
func decodeEntry(index uint64, b []byte, l *raft.Log) error {
	bad := fmt.Errorf("entry %d of the log cannot be read", index)
	if len(b) < 2 || b[0] != entryFormat {
		return bad
	}
	// 1. The header: each number must be complete, and the extensions must fit.
	e := raft.Log{Index: index, Type: raft.LogType(b[1])}
	b = b[2:]
	term, n := binary.Uvarint(b)
	if n <= 0 {
		return bad
	}
	b = b[n:]
	at, n := binary.Varint(b)
	if n <= 0 {
		return bad
	}
	b = b[n:]
	extensions, n := binary.Uvarint(b)
	if n <= 0 || extensions > uint64(len(b)-n) {
		return bad
	}
	b = b[n:]
	// 2. The contents are copied, because b belongs to the database. Empty ones stay nil, as
	// Raft made them.
	e.Term = term
	if at != 0 {
		e.AppendedAt = time.Unix(0, at)
	}
	if extensions > 0 {
		e.Extensions = append([]byte(nil), b[:extensions]...)
	}
	if data := b[extensions:]; len(data) > 0 {
		e.Data = append([]byte(nil), data...)
	}
	*l = e
	return nil
}

// IsMonotonic implements raft.MonotonicLogStore: the log has no gaps, so Raft
// clears it when it takes a snapshot from a leader. Entries from before such a
// snapshot may never have been agreed on, and must not be handed on.
func (s *store) IsMonotonic() bool { return true }

// FirstIndex implements raft.LogStore.
func (s *store) FirstIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.first, nil
}

// LastIndex implements raft.LogStore.
func (s *store) LastIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last, nil
}

// GetLog implements raft.LogStore. If an entry is missing, the error is raft.ErrLogNotFound; if
// it should be there, it is a failure.
func (s *store) GetLog(index uint64, l *raft.Log) error {
	if err := s.err(); err != nil {
		s.failHard(err)
	}
	err := s.entry(index, l)
	if err != nil && err != raft.ErrLogNotFound {
		s.failHard(err)
	}
	return err
}

// entry is GetLog for goroutines other than Raft's: it returns errors, and does not fail
// the store.
func (s *store) entry(index uint64, l *raft.Log) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if index == 0 || index < s.first || index > s.last {
		return raft.ErrLogNotFound
	}
	found, err := s.get(logKey(index), func(b []byte) error { return decodeEntry(index, b, l) })
	if err == nil && !found {
		err = fmt.Errorf("entry %d of the log is gone", index)
	}
	return err
}

// StoreLog implements raft.LogStore.
func (s *store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. Entries must follow on the last one, or replace some; a gap
// is an error.
func (s *store) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first, last := s.first, s.last
	b := s.db.NewBatch()
	for _, l := range logs {
		if l.Index == 0 || last != 0 && (l.Index > last+1 || l.Index < first) {
			return errors.Join(fmt.Errorf("agreement: entry %d does not follow on %d to %d", l.Index, first, last), b.Close())
		}
		if err := b.Set(logKey(l.Index), encodeEntry(l), nil); err != nil {
			return errors.Join(err, b.Close())
		}
		if first == 0 {
			first = l.Index
		}
		last = max(last, l.Index)
	}
	if err := s.commit(b); err != nil {
		return err
	}
	s.first, s.last = first, last
	return nil
}

// DeleteRange implements raft.LogStore: from min to max, both inclusive, at
// either end of the log.
func (s *store) DeleteRange(min, max uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == 0 || max < min || max < s.first || min > s.last {
		return nil
	}
	if min > s.first && max < s.last {
		return fmt.Errorf("agreement: entries %d to %d are in the midst of %d to %d", min, max, s.first, s.last)
	}
	// 1. Delete durably.
	b := s.db.NewBatch()
	end := []byte{tableLog + 1}
	if max < s.last {
		end = logKey(max + 1)
	}
	if err := b.DeleteRange(logKey(min), end, nil); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := s.commit(b); err != nil {
		return err
	}
	// 2. Only then move the bounds: if the commit failed, the entries may still be there.
	switch {
	case min <= s.first && max >= s.last:
		s.first, s.last = 0, 0
	case min <= s.first:
		s.first = max + 1
	default:
		s.last = min - 1
	}
	return nil
}

// Set implements raft.StableStore.
func (s *store) Set(name, value []byte) error {
	b := s.db.NewBatch()
	if err := b.Set(stableKey(name), value, nil); err != nil {
		return errors.Join(err, b.Close())
	}
	return s.commit(b)
}

// Get implements raft.StableStore.
func (s *store) Get(name []byte) (value []byte, err error) {
	_, err = s.get(stableKey(name), func(v []byte) error {
		value = append([]byte(nil), v...)
		return nil
	})
	return value, err
}

// SetUint64 implements raft.StableStore. If it fails, it ends the goroutine, because Raft would
// panic without its term.
func (s *store) SetUint64(name []byte, n uint64) error {
	if err := s.Set(name, binary.BigEndian.AppendUint64(nil, n)); err != nil {
		s.failHard(err)
	}
	return nil
}

// GetUint64 implements raft.StableStore.
func (s *store) GetUint64(name []byte) (uint64, error) {
	v, err := s.Get(name)
	if err != nil || v == nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, fmt.Errorf("agreement: %q has %d bytes, not 8", name, len(v))
	}
	return binary.BigEndian.Uint64(v), nil
}

func deleteTable(b *pebble.Batch, prefix []byte) error {
	return b.DeleteRange(prefix, successor(prefix), nil)
}

// successor returns the least key greater than all with this prefix. Its first byte is a table's
// and so never 0xff.
func successor(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; ; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
}

// The keys of tombstones, for the next purge.

package replica

import (
	"bytes"
	"sync"
)

// tombstones has the keys of all tombstones while they are few. Then a purge need not search for
// them.
type tombstones struct {
	mu    sync.Mutex
	count int64    // written since the last purge that read everything
	keys  [][]byte // of Pebble; a row may have been replaced since
	size  int
	// whole is set if keys has all tombstones. After opening it is not set, because a purge must
	// search first.
	whole bool
}

// Limits of the kept keys.
const (
	maxTombstones     = 1 << 16
	maxTombstoneBytes = 8 << 20
)

// add records written tombstones. It keeps the slices.
func (t *tombstones) add(keys [][]byte) {
	if len(keys) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count += int64(len(keys))
	if !t.whole {
		return
	}
	for _, key := range keys {
		t.size += len(key)
	}
	t.keys = append(t.keys, keys...)
	if len(t.keys) > maxTombstones || t.size > maxTombstoneBytes {
		t.keys, t.size, t.whole = nil, 0, false
	}
}

// take returns the known keys and removes them. If whole is false, there may be others. Later
// tombstones are recorded from now on.
func (t *tombstones) take() (keys [][]byte, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys, whole = t.keys, t.whole
	t.keys, t.size, t.count, t.whole = nil, 0, 0, true
	return keys, whole
}

// lose makes the next purge read all rows.
func (t *tombstones) lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keys, t.size, t.whole = nil, 0, false
}

// Tombstones returns about how many tombstones are new or were left by the last purge. all is
// false if there may be more, because an opened store counts none before its first purge.
func (s *Store) Tombstones() (n int64, all bool) {
	t := &s.tombstones
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count, t.whole
}

// recordTombstone records the key of a tombstone of the commit.
func (c *stampedCommit) recordTombstone(key []byte) { c.dead = append(c.dead, bytes.Clone(key)) }

package node

import (
	"bytes"
	"sync"
)

// tombstones is what a store knows of the tombstones in it: while they are few, all
// of their keys, so that a purge need not look for them.
type tombstones struct {
	mu    sync.Mutex
	count int64    // written since a purge last looked at all
	keys  [][]byte // of Pebble; some may have been replaced since
	size  int
	// whole: keys are all. A store that was just opened has to look for them.
	whole bool
}

// Bounds of the keys that are kept.
const (
	maxTombstones     = 1 << 16
	maxTombstoneBytes = 8 << 20
)

// add notes tombstones that were written. It keeps the slices.
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

// take returns the keys that are known and forgets them; where whole is false there
// may be any others. What is written from now on is noted.
func (t *tombstones) take() (keys [][]byte, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys, whole = t.keys, t.whole
	t.keys, t.size, t.count, t.whole = nil, 0, 0, true
	return keys, whole
}

// lose makes the next purge look at all rows.
func (t *tombstones) lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keys, t.size, t.whole = nil, 0, false
}

// Tombstones returns about how many tombstones there are that no purge has looked
// at or that the last one had to leave. All is false where there may be more: a store
// that was just opened knows of none before a purge has looked.
func (s *Store) Tombstones() (n int64, all bool) {
	t := &s.tombstones
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count, t.whole
}

// noteTombstone takes the key of a tombstone that the commit writes.
func (c *stampedCommit) noteTombstone(key []byte) { c.dead = append(c.dead, bytes.Clone(key)) }

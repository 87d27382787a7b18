// Prepared queries of recent texts.

package engine

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/sparql"
)

const (
	// cachedPart is the part of the memory of all queries for prepared ones.
	cachedPart = 32
	// cachedByte is about the most memory of a prepared query for a byte of its text: a number in a
	// list has two bytes.
	cachedByte = nodeBytes / 2
	// cachedEntry is about the memory of a prepared query beside its text.
	cachedEntry = 4 << 10
)

// preparedKey is all that a prepared query depends on.
type preparedKey struct{ text, base string }

func (k preparedKey) bytes() int64 { return cachedEntry + cachedByte*int64(len(k.text)+len(k.base)) }

// shared is a prepared query that several requests run.
type shared struct {
	*sparql.Prepared
	orders atomic.Pointer[sparql.Orders]
}

type preparedEntry struct {
	preparedKey
	query *shared
}

// preparedCache keeps the prepared queries of the texts used last. It is safe for concurrent use.
type preparedCache struct {
	maxBytes int64

	mu    sync.Mutex
	bytes int64
	of    map[preparedKey]*list.Element
	order list.List // of preparedEntry, the last used first
}

func newPreparedCache(maxBytes int64) *preparedCache {
	return &preparedCache{maxBytes: maxBytes, of: map[preparedKey]*list.Element{}}
}

// get returns the prepared query of a text; nil if there is none.
func (c *preparedCache) get(k preparedKey) *shared {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.of[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(preparedEntry).query
}

// put keeps a prepared query, and drops those not used for longest if there is no room.
func (c *preparedCache) put(k preparedKey, query *shared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[k] != nil {
		return // another request was faster
	}
	c.of[k] = c.order.PushFront(preparedEntry{k, query})
	for c.bytes += k.bytes(); c.bytes > c.maxBytes; {
		oldest := c.order.Remove(c.order.Back()).(preparedEntry)
		delete(c.of, oldest.preparedKey)
		c.bytes -= oldest.bytes()
	}
}

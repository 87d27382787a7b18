// Rows by the bindings of some variables.

package solution

import (
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
)

// HashTable holds rows by the bindings of some slots. If a row leaves one of them unbound, it
// must stand apart, in loose, because it is compatible with many keys. Rows of one bucket are
// linked in order of arrival.
type HashTable struct {
	Table
	Keys    []int
	buckets map[string]int32
	bucket  []chain
	link    []int32 // of a row: the next of its chain, or -1
	loose   chain
	Key     []byte
}

// chain is the first and the last of linked rows, -1 if there are none.
type chain struct{ first, last int32 }

// Bytes counted for the links of a row, and for a bucket.
const (
	linkBytes   = 8
	bucketBytes = 80
)

// NewHashTable returns an empty table by the bindings of keys.
func NewHashTable(held memory.Holder, width int, keys []int) *HashTable {
	h := &HashTable{Keys: keys, loose: chain{-1, -1}}
	h.Table = NewTable(held, width)
	return h
}

// Put adds a row. An error wraps [memory.ErrMemory]; the table is then as before.
func (h *HashTable) Put(row []string) error {
	// 1. Count the row, and its bucket if it is new. Nothing may change before this succeeds.
	bytes := linkBytes
	bound := h.KeyOf(row)
	at, known := int32(0), true
	if bound {
		if at, known = h.buckets[string(h.Key)]; !known {
			bytes += len(h.Key) + bucketBytes
		}
	}
	if h.Len == math.MaxInt32 {
		return fmt.Errorf("%w: %s has more than %d rows", memory.ErrMemory, h.Name, h.Len)
	}
	if err := h.Grow(bytes + h.RowBytes(row)); err != nil {
		return err
	}
	// 2. Copy the row.
	h.Table.put(row)
	n := int32(h.Len - 1)
	h.link = append(h.link, -1)
	// 3. Link it behind the rows with the same key. If a row leaves a key unbound, it may match
	// any.
	switch {
	case len(h.Keys) == 0:
	case !bound:
		h.append(&h.loose, n)
	case known:
		h.append(&h.bucket[at], n)
	default:
		if h.buckets == nil {
			h.buckets = make(map[string]int32)
		}
		key := h.Row(int(n))[h.Keys[0]]
		if len(h.Keys) > 1 {
			key = h.arena.Copy(h.Key)
		}
		h.buckets[key] = int32(len(h.bucket))
		h.bucket = append(h.bucket, chain{n, n})
	}
	return nil
}

func (h *HashTable) append(c *chain, row int32) {
	if c.last < 0 {
		c.first = row
	} else {
		h.link[c.last] = row
	}
	c.last = row
}

// KeyOf makes the key of a row; false if a part is unbound, or there are none.
func (h *HashTable) KeyOf(row []string) bool {
	h.Key = h.Key[:0]
	for i, slot := range h.Keys {
		if row[slot] == "" {
			return false
		}
		if i > 0 {
			h.Key = append(h.Key, 0, 1)
		}
		h.Key = append(h.Key, row[slot]...)
	}
	return len(h.Keys) > 0
}

// Candidates are the rows of a table possibly compatible with a row.
type Candidates struct {
	table *HashTable
	all   bool
	at    int32 // the next one
	then  int32 // the loose rows after those of the bucket
}

// Candidates returns the rows possibly compatible with a row. If it leaves a key unbound, these
// are all rows.
func (h *HashTable) Candidates(row []string) Candidates {
	if !h.KeyOf(row) {
		return Candidates{table: h, all: true}
	}
	c := Candidates{table: h, at: -1, then: h.loose.first}
	if at, ok := h.buckets[string(h.Key)]; ok {
		c.at = h.bucket[at].first
	}
	return c
}

func (c *Candidates) Next() ([]string, bool) {
	if c.all {
		if int(c.at) >= c.table.Len {
			return nil, false
		}
		c.at++
		return c.table.Row(int(c.at - 1)), true
	}
	if c.at < 0 {
		if c.at, c.then = c.then, -1; c.at < 0 {
			return nil, false
		}
	}
	row := c.table.Row(int(c.at))
	c.at = c.table.link[c.at]
	return row, true
}

// End drops the remaining candidates. Call it if no more are needed.
func (c *Candidates) End() { *c = Candidates{table: c.table, at: -1, then: -1} }

// Free removes all rows and gives their bytes back.
func (h *HashTable) Free() {
	h.Drop()
	h.buckets, h.bucket, h.link, h.loose = nil, nil, nil, chain{-1, -1}
}

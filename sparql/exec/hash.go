package exec

import (
	"fmt"
	"math"
)

// hashTable holds rows by the bindings of some slots. Rows that leave one of
// them unbound are compatible with many keys, and stand apart, in loose. Rows of
// one bucket are linked in the order in which they came.
type hashTable struct {
	table
	keys    []int
	buckets map[string]int32
	bucket  []chain
	link    []int32 // of a row: the next of its chain, or -1
	loose   chain
	key     []byte
}

// chain is the first and the last of linked rows, -1 where there are none.
type chain struct{ first, last int32 }

// Bytes that are counted for what stands beside a row, and for a bucket.
const (
	linkBytes   = 8
	bucketBytes = 80
)

func newHashTable(q *query, name string, keys []int) *hashTable {
	h := &hashTable{keys: keys, loose: chain{-1, -1}}
	h.table = table{holder: holder{account: &q.account, name: name}, width: q.width}
	return h
}

// put adds a row. After an error, which wraps [ErrMemory], the table is as before.
func (h *hashTable) put(row []string) error {
	bytes := linkBytes
	bound := h.keyOf(row)
	at, known := int32(0), true
	if bound {
		if at, known = h.buckets[string(h.key)]; !known {
			bytes += len(h.key) + bucketBytes
		}
	}
	if h.n == math.MaxInt32 {
		return fmt.Errorf("%w: %s has more than %d rows", ErrMemory, h.name, h.n)
	}
	if err := h.grow(bytes + h.sizeOf(row)); err != nil {
		return err
	}
	h.table.put(row)
	n := int32(h.n - 1)
	h.link = append(h.link, -1)
	switch {
	case len(h.keys) == 0:
	case !bound:
		h.append(&h.loose, n)
	case known:
		h.append(&h.bucket[at], n)
	default:
		if h.buckets == nil {
			h.buckets = make(map[string]int32)
		}
		key := h.row(int(n))[h.keys[0]]
		if len(h.keys) > 1 {
			key = h.arena.keep(h.key)
		}
		h.buckets[key] = int32(len(h.bucket))
		h.bucket = append(h.bucket, chain{n, n})
	}
	return nil
}

func (h *hashTable) append(c *chain, row int32) {
	if c.last < 0 {
		c.first = row
	} else {
		h.link[c.last] = row
	}
	c.last = row
}

// keyOf makes the key of a row; false where a part is unbound, or there are none.
func (h *hashTable) keyOf(row []string) bool {
	h.key = h.key[:0]
	for i, slot := range h.keys {
		if row[slot] == "" {
			return false
		}
		if i > 0 {
			h.key = append(h.key, 0, 1)
		}
		h.key = append(h.key, row[slot]...)
	}
	return len(h.keys) > 0
}

// candidates are the rows of a table that may be compatible with a row.
type candidates struct {
	table *hashTable
	all   bool
	at    int32 // the next one
	then  int32 // the loose rows after those of the bucket
}

func (h *hashTable) candidates(row []string) candidates {
	if !h.keyOf(row) {
		return candidates{table: h, all: true}
	}
	c := candidates{table: h, at: -1, then: h.loose.first}
	if at, ok := h.buckets[string(h.key)]; ok {
		c.at = h.bucket[at].first
	}
	return c
}

func (c *candidates) next() ([]string, bool) {
	if c.all {
		if int(c.at) >= c.table.n {
			return nil, false
		}
		c.at++
		return c.table.row(int(c.at - 1)), true
	}
	if c.at < 0 {
		if c.at, c.then = c.then, -1; c.at < 0 {
			return nil, false
		}
	}
	row := c.table.row(int(c.at))
	c.at = c.table.link[c.at]
	return row, true
}

// end says that no more candidates are wanted.
func (c *candidates) end() { *c = candidates{table: c.table, at: -1, then: -1} }

func (h *hashTable) free() {
	h.drop()
	h.buckets, h.bucket, h.link, h.loose = nil, nil, nil, chain{-1, -1}
}

// The shares of a server's consumers of memory.

package memory

import (
	"math"
	"os"
	"runtime/debug"
)

// Shares are the parts of a server's memory, in bytes.
type Shares struct {
	// Total is the divided memory.
	Total int64
	// Cache is for blocks of tables: an eighth.
	Cache int64
	// MemTable is for one of up to four tables of rows in memory.
	MemTable int64
	// Queue is for waiting writes.
	Queue int64
	// Queries is for all queries and updates together: a quarter.
	Queries int64
	// Query is the most of that for one query.
	Query int64
	// Update bounds the changes of one update.
	Update int64
	// Documents is for documents and pages of requests: a sixteenth.
	Documents int64
	// Load is for one bulk load: an eighth.
	Load int64
	// Columns is for the columns of a lone store, or of a whole cluster: a 32nd, a 16th from 16 GiB
	// on, and none below a gigabyte. A build takes up to three times as much more.
	Columns int64
}

// memTables is the number of memtables of a store at a time.
const memTables = 4

// Divide returns the shares of total bytes. If total is 512 MiB or more, their sum is at most three
// quarters of it.
func Divide(total int64) Shares {
	within := func(share, least, most int64) int64 { return min(max(share, least), most) }
	s := Shares{
		Total:     total,
		Cache:     within(total/8, 16<<20, 4<<30),
		MemTable:  within(total/32, 4<<20, 64<<20),
		Queue:     within(total/32, 8<<20, 64<<20),
		Queries:   within(total/4, 32<<20, 64<<30),
		Documents: within(total/16, 16<<20, 512<<20),
		Load:      within(total/8, 64<<20, 16<<30),
	}
	switch {
	case total >= 16<<30: // other shares have their most, so there is more room
		s.Columns = total / 16
	case total >= 1<<30:
		s.Columns = total / 32
	}
	s.Query = min(s.Queries/4, 256<<20)
	s.Update = min(s.Queries/4, 256<<20)
	return s
}

// HeapLimit returns the limit of Go's heap: nine tenths of the total, without the memory outside
// the heap. The collector's overhead must fit beside the shares. The last tenth is for stacks of
// threads, buffers of the system and mapped tables.
func (s Shares) HeapLimit() int64 {
	limit := s.Total / 10 * 9
	if cacheOutsideHeap {
		limit -= s.Cache + memTables*s.MemTable
	}
	return max(limit-s.Load, s.Total/4)
}

// SetHeapLimit sets the limit of Go's heap (see [debug.SetMemoryLimit]), unless the environment
// variable GOMEMLIMIT is set.
func (s Shares) SetHeapLimit() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(min(s.HeapLimit(), math.MaxInt64))
	}
}

// Decoded copies of partitions.

package rank

import "sync/atomic"

const (
	chunkWords  = 1 << 16
	recordWords = 3 // of a record's head
	wordBytes   = 4
)

// A linkCopy is the links of a partition as plain numbers. A job reads it some fifty times. It
// consists of chunks of records, one for each piece of a list:
//
//	page | number of locals | number of ghosts | locals | ghosts
//
// No record spans two chunks. add cuts a piece if the chunk is too small for it.
type linkCopy struct {
	chunks [][]uint32
	budget *atomic.Int64 // bytes left for the copies of the job
	failed bool
}

// add adds a piece of a list. If the budget is used up, it drops the copy and all of its chunks.
func (c *linkCopy) add(page uint32, locals, ghosts []uint32) {
	for !c.failed && len(locals)+len(ghosts) > 0 {
		const least = 16 // minimum number of links in a cut piece
		if n := len(c.chunks); n == 0 || cap(c.chunks[n-1])-len(c.chunks[n-1]) < recordWords+least {
			if c.budget.Add(-chunkWords*wordBytes) < 0 {
				c.release()
				return
			}
			c.chunks = append(c.chunks, make([]uint32, 0, chunkWords))
		}
		last := &c.chunks[len(c.chunks)-1]
		room := cap(*last) - len(*last) - recordWords
		someLocals := locals[:min(len(locals), room)]
		someGhosts := ghosts[:min(len(ghosts), room-len(someLocals))]
		*last = append(*last, page, uint32(len(someLocals)), uint32(len(someGhosts)))
		*last = append(append(*last, someLocals...), someGhosts...)
		locals, ghosts = locals[len(someLocals):], ghosts[len(someGhosts):]
	}
}

// release returns the copy's memory to the budget. It counts one chunk more than the copy has,
// because add has already charged the chunk that failed.
func (c *linkCopy) release() {
	c.budget.Add(int64(len(c.chunks)+1) * chunkWords * wordBytes)
	c.chunks, c.failed = nil, true
}

// scan implements [Partition.Scan].
func (c *linkCopy) scan(yield func(page uint32, locals, ghosts []uint32) bool) error {
	for _, chunk := range c.chunks {
		for len(chunk) > 0 {
			page, locals, ghosts := chunk[0], int(chunk[1]), int(chunk[2])
			end := recordWords + locals + ghosts
			if !yield(page, chunk[recordWords:recordWords+locals], chunk[recordWords+locals:end]) {
				return nil
			}
			chunk = chunk[end:]
		}
	}
	return nil
}

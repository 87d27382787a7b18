// This file holds decoded copies of partitions.

package rank

import "sync/atomic"

const (
	chunkWords  = 1 << 16
	recordWords = 3 // of a record's head
	wordBytes   = 4
)

// A linkCopy is the links of a partition as plain numbers, for a job that goes
// through them some fifty times. It is made of chunks of records, one for each
// piece of a list:
//
//	page | number of locals | number of ghosts | locals | ghosts
//
// No record spans two chunks; longer pieces are cut.
type linkCopy struct {
	chunks [][]uint32
	budget *atomic.Int64 // bytes that the job's copies may still take
	failed bool
}

// add adds a piece of a list, unless the budget is used up: then the copy is
// given up, with what it has.
func (c *linkCopy) add(page uint32, locals, ghosts []uint32) {
	for !c.failed && len(locals)+len(ghosts) > 0 {
		const least = 16 // links of a piece that is cut
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

// release gives the copy's memory back, that of the chunk too that was one too
// many.
func (c *linkCopy) release() {
	c.budget.Add(int64(len(c.chunks)+1) * chunkWords * wordBytes)
	c.chunks, c.failed = nil, true
}

// scan is as [Partition.Scan].
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

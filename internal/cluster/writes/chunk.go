// Chunks: operations for one machine, in the size of a message.

package writes

import (
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
)

// chunk is operations for one machine, in one message.
type chunk struct {
	view       *view.View // the view in which machine is the sequencer
	machine    trie.MachineID
	operations []replica.Operation
	size       int64
}

// Limits of a chunk. A single operation may exceed them.
const (
	chunkBytes      = 1 << 20
	chunkOperations = 5_000
)

// chunks collects operations by machine.
type chunks struct {
	view *view.View
	open map[trie.MachineID]*chunk
}

// add adds an operation. It returns the chunk of the machine if it is full now, else nil.
func (c *chunks) add(m trie.MachineID, o replica.Operation) *chunk {
	if c.open == nil {
		c.open = map[trie.MachineID]*chunk{}
	}
	to := c.open[m]
	if to == nil {
		to = &chunk{view: c.view, machine: m}
		c.open[m] = to
	}
	to.operations = append(to.operations, o)
	to.size += int64(bytesOf(&o) + 32)
	if to.size < chunkBytes && len(to.operations) < chunkOperations {
		return nil
	}
	delete(c.open, m)
	return to
}

// rest returns the chunks not yet full.
func (c *chunks) rest() (rest []*chunk) {
	for _, m := range c.open {
		rest = append(rest, m)
	}
	c.open = nil
	return rest
}
